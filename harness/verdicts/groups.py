"""Which claims of a spec can be judged apart, such as in other processes."""

from __future__ import annotations

from harness.formulas import FORMULAS
from harness.spec.model import Spec

REMEMBERED = ("harness.privacy.", "harness.formulas.optima")
"""How names of modules begin whose formulas cache their values."""


def independent_claims(spec: Spec) -> list[tuple[str, ...]]:
    """Groups of claims that can be judged apart.

    Claims on measurements share a table and are one group. Proofs that name the same formula of an accountant, or the
    same optimum, are one group, since its values take seconds and are cached.
    """
    if spec.experiment is not None:
        return [tuple(claim.id for claim in spec.claims)]
    groups: list[tuple[list[str], set[str]]] = []
    for claim in spec.claims:
        named = {name for part in claim.theory for name in part.definitions() if _is_remembered(name)}
        mine, names = [claim.id], named
        for group in [group for group in groups if group[1] & named]:
            groups.remove(group)
            mine, names = [*group[0], *mine], names | group[1]
        groups.append((mine, names))
    return [tuple(mine) for mine, _ in groups]


def _is_remembered(name: str) -> bool:
    return name in FORMULAS and FORMULAS[name].function.__module__.startswith(REMEMBERED)
