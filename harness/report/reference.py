"""Everything that a spec may name, by its sort, from what is registered: plug-ins of other packages are in it too.

The site's reference and `harness list` show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.attacks import ATTACKS
from harness.auditing.auditor import AUDITORS
from harness.claims.expectation import CLAIM_KINDS
from harness.config import Plugin
from harness.data.dataset import DATASETS
from harness.data.split import SPLITS
from harness.defences import DEFENCES
from harness.formulas import FORMULAS
from harness.formulas.formula import Formula
from harness.metrics import METRICS
from harness.privacy.accountants import ACCOUNTANTS
from harness.spec import model  # noqa: F401  (registers all that there are)
from harness.theory.simulations import SIMULATIONS
from harness.training.engine import ENGINES
from harness.training.layer import LAYERS
from harness.training.model import MODELS

HEADINGS: Mapping[str, str] = {
    "attacks": "Attacks",
    "kinds": "Kinds of claims",
    "defences": "Defences",
    "datasets": "Data sets",
    "splits": "Splits",
    "models": "Models",
    "layers": "Layers",
    "engines": "Engines",
    "auditors": "Auditors",
    "formulas": "Bounds and formulas",
    "games": "Games",
    "accountants": "Accountants",
    "metrics": "Metrics",
}
"""The sorts of things by one word, and as a heading."""
PLUGINS: Mapping[str, Iterable[tuple[str, type[Plugin]]]] = {
    "attacks": ATTACKS,
    "kinds": CLAIM_KINDS,
    "defences": DEFENCES,
    "datasets": DATASETS,
    "splits": SPLITS,
    "models": MODELS,
    "layers": LAYERS,
    "engines": ENGINES,
    "auditors": AUDITORS,
}
"""The sorts whose things are classes with fields."""


@dataclass(frozen=True)
class ReferenceEntry:
    """One thing that a spec may name."""

    name: str
    text: str
    source: str
    fields: tuple[tuple[str, str], ...]


def reference() -> dict[str, list[ReferenceEntry]]:
    """Everything that a spec may name, by the words of `HEADINGS`: name, what it is, where it stands, its fields."""
    entries = {sort: [_entry(name, cls) for name, cls in registry] for sort, registry in PLUGINS.items()}
    entries["formulas"] = [
        ReferenceEntry(name, f"{f.text}; takes {_parameters_of(f)}", "; ".join([f.source, *f.assumptions]), ())
        for name, f in sorted(FORMULAS.items())
    ]
    entries["games"] = [
        ReferenceEntry(name, f"{game.summary}; takes {', '.join(game.parameters)}", "", ())
        for name, game in sorted(SIMULATIONS.items())
    ]
    entries["accountants"] = [ReferenceEntry(name, a.title, a.source, ()) for name, a in ACCOUNTANTS.items()]
    entries["metrics"] = [ReferenceEntry(name, m.text, f"scope: {m.scope}", ()) for name, m in METRICS.items()]
    return {sort: entries[sort] for sort in HEADINGS}


def _parameters_of(formula: Formula) -> str:
    """The parameters of a formula in their order, each that may be left out with what it is then."""
    defaults = formula.defaults
    return ", ".join(f"{p} = {defaults[p]:g}" if p in defaults else p for p in formula.parameters) or "nothing"


def _entry(name: str, cls: type[Plugin]) -> ReferenceEntry:
    text = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    rest = " ".join(" ".join((cls.__doc__ or "").split("\n\n")[1:]).split())
    described = cls.describe_fields()
    fields = tuple((f, " ".join(described.get(f, "").split())) for f in cls.model_fields if f != "kind")
    return ReferenceEntry(name, text or cls.summary, rest, fields)
