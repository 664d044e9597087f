"""Settings in which attacks depart from what their authors published (docs/attacks.md has all, with their sources).

A paper's claim on an attack that runs as a variant says nothing for or against the paper: it agrees or differs. A
departure does not count that a spec lists among its `ambiguities`, since the paper leaves it open and readings are run;
nor one that was measured to change nothing, which is not listed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.attacks.attack import Attack
from harness.claims.expectation import MeasuredClaimKind
from harness.spec.model import Spec


@dataclass(frozen=True)
class Published:
    """What an attack's authors set a field to."""

    value: Any
    text: str
    """The departure in words, with `{value}` for what is set here."""
    or_more: bool = False
    """Whether more than the authors' is no departure."""

    def departs(self, value: Any) -> bool:
        """Whether a value is another than the authors'."""
        return bool(value < self.value) if self.or_more else value != self.value


PUBLISHED: dict[str, Mapping[str, Published]] = {
    "boundary": {
        "steps": Published(64, "{value} steps along the boundary of the authors' 64", or_more=True),
        "directions": Published(100, "{value} directions in the first step of the authors' 100", or_more=True),
    },
    "rmia": {
        "signal": Published("soft-margin-taylor", "RMIA's likelihood is the {value} in place of soft-margin-taylor"),
        "temperature": Published(2.0, "a temperature of {value} in place of the authors' 2"),
        "gamma": Published(2.0, "γ is {value} in place of the authors' 2"),
    },
}
"""By kind of attack and field, what the authors' code or text has."""
ALWAYS: dict[str, str] = {
    "gradient-norm": "a threshold on the gradient's norm in place of the authors' network",
    "quantile-regression": "boosted trees of fixed settings in place of the authors' search",
    "lira-queries": "copies that training has not seen in place of the authors' augmentations",
}
"""By kind of attack, a departure that no field undoes."""


def departures_of(attack: Attack) -> dict[str, str]:
    """In words, what an attack as it is set departs in from its authors', by field; `kind` stands for the whole."""
    kind = attack.plugin_name()
    found = {
        field: published.text.format(value=value)
        for field, published in PUBLISHED.get(kind, {}).items()
        if published.departs(value := getattr(attack, field))
    }
    return found | ({"kind": ALWAYS[kind]} if kind in ALWAYS else {})


def variants_used(spec: Spec, parts: Sequence[MeasuredClaimKind]) -> tuple[str, ...]:
    """The departures of the attacks that the parts of a claim name, but those that the spec lists as ambiguities."""
    open_fields = {ambiguity.field for ambiguity in spec.ambiguities}
    names = dict.fromkeys(a for part in parts for attacks in part.attacks().values() for a in attacks)
    return tuple(
        text
        for name in names
        if name in spec.attacks
        for field, text in departures_of(spec.attacks[name]).items()
        if f"attacks.{name}.{field}" not in open_fields
    )
