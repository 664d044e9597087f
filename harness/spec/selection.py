"""What a profile decides: the claims that it names, from which follows what is trained.

A profile's `decide` lists papers (`humphries2020`), specs (`humphries2020/fig6`), claims
(`humphries2020/fig6#logloss-cap`) and `theory`, which stands for every claim that needs no training. A spec is run for
the claims that are named and for nothing else: the arms, points and attacks that these need. A profile without the list
decides every claim of every spec.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from harness.errors import HarnessError
from harness.paths import Project
from harness.spec.document import load_document, locate
from harness.spec.load import Loaded
from harness.spec.model import Spec
from harness.spec.profile import Profile, load_params

THEORY = "theory"
"""Stands in `decide` for every claim that needs no training."""


def claims_to_decide(profile: Profile, spec: Spec) -> frozenset[str]:
    """The names of those claims of a spec that a profile decides."""
    if profile.decide is None:
        return frozenset(claim.id for claim in spec.claims)
    named = set(profile.decide)
    if named & {spec.id, spec.paper}:
        return frozenset(claim.id for claim in spec.claims)
    theory = THEORY in named and not {spec.id, spec.paper} & {*profile.leave_out}
    return frozenset(claim.id for claim in spec.claims if f"{spec.id}#{claim.id}" in named or (claim.theory and theory))


def specs_to_decide(profile: Profile, specs: Iterable[Loaded]) -> list[Loaded]:
    """The specs of which a profile decides a claim, each restricted to those claims."""
    chosen = []
    for loaded in specs:
        claims = claims_to_decide(profile, loaded.spec)
        if len(claims) == len(loaded.spec.claims):
            chosen.append(loaded)
        elif claims:
            chosen.append(loaded.for_claims(claims))
    return chosen


def is_of_theory(loaded: Loaded) -> bool:
    """Whether nothing is measured for a spec: it has no experiment, or is run for claims of theory alone."""
    of_theory = loaded.claims is not None and all(claim.theory for claim in loaded.spec.claims)
    return loaded.spec.experiment is None or of_theory


def check_decided_names(project: Project, specs: Sequence[Spec]) -> None:
    """Raises HarnessError, with file, line and field, for an entry of `decide` that names nothing in the project.

    `specs` are all of the project's.
    """
    if not project.params.exists():
        return
    document, params = load_document(project.params), load_params(project)
    known = [THEORY, *dict.fromkeys(spec.paper for spec in specs), *(spec.id for spec in specs)]
    claims = [f"{spec.id}#{claim.id}" for spec in specs for claim in spec.claims]
    for name, profile in params.profiles.items():
        entries = [("decide", index, entry) for index, entry in enumerate(profile.decide or ())]
        entries += [("leave_out", index, entry) for index, entry in enumerate(profile.leave_out)]
        for field, index, entry in entries:
            if entry in known or (entry in claims and field == "decide"):
                continue
            near = difflib.get_close_matches(entry, claims if "#" in entry else known, 1)
            hint = f"did you mean {near[0]}?" if near else "`harness list` prints what there is"
            where = locate(document, ("profiles", name, field, index))
            sorts = "paper, spec or claim" if field == "decide" else "paper or spec"
            raise HarnessError(f"{where}: profiles.{name}.{field}: {entry!r} names no {sorts}; {hint}")
