"""What a spec may say of one claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

import harness.claims.kinds
import harness.theory.kinds  # noqa: F401  (these imports register the built-in kinds of claims)
from harness.claims.expectation import CLAIM_KINDS, ClaimKind, MeasuredClaimKind, TheoryClaimKind
from harness.claims.operands import Several
from harness.claims.origin import Origin, Quote, ToleranceSource
from harness.config import Config, one_or_many
from harness.experiment.setup import Name

if TYPE_CHECKING:
    AnyExpectation = ClaimKind
else:
    for _, kind in CLAIM_KINDS:  # those that are made of others, of whatever kind
        kind.model_rebuild(_types_namespace={"AnyMeasuredClaim": CLAIM_KINDS.union(MeasuredClaimKind)})
    AnyExpectation = CLAIM_KINDS.union()


Expectations = Annotated[
    tuple[AnyExpectation, ...],
    BeforeValidator(one_or_many(dict), json_schema_input_type=AnyExpectation | tuple[AnyExpectation, ...]),
]


ROUNDING = 1e-9
"""The largest tolerance of a claim on theory that stands for rounding, and for nothing that a paper leaves open."""


class Claim(Config):
    """One checkable statement of a paper."""

    id: Name
    """Unique in its spec."""
    catalogue: Several = ()
    """Id or ids of the claim in the catalogue of claims."""
    where: str
    """Place in the paper."""
    kind: Literal["theory", "simulation", "training"] = "training"
    statement: str
    """The claim in words."""
    origin: Origin = "ours"
    """Who makes it: the `paper`; `corrected`, in the place of a paper's claim; `ours`; or a `check` of the software."""
    corrects: str | None = None
    """Of a corrected claim: the one that it corrects, such as `thm1` or `paper/spec#claim`."""
    quotes: tuple[Quote, ...] = Field(default=(), max_length=3)
    """The sentences of the paper that it renders, or corrects."""
    hedge: str = ""
    """How the inequality renders what the sentence hedges (can, often, almost, up to)."""
    tolerance_from: ToleranceSource | None = Field(default=None, exclude_if=lambda source: source is None)
    """Of a claim with a tolerance: where that comes from. `harness validate` asks for it where a claim is a paper's."""
    against_printed: str = Field(default="", exclude_if=lambda against: not against)
    """Of a paper's claim that numbers which the same paper prints contradict: which ones do. `harness validate` tries
    each claim on them."""
    expect: Expectations
    """The inequality; several must all hold."""
    also_read_as: dict[str, Expectations] = Field(default={}, exclude_if=lambda readings: not readings)
    """Other readings of the sentence, on the same measurements, by what they read otherwise: `a meaningful epsilon is
    at most 0.1`. A claim that is violated as it stands is only called so if it is in each of these, too."""
    example: dict[str, float] = Field(default={}, exclude_if=lambda example: not example)
    """Of a claim on theory: the point that the paper speaks of, such as `{components: 20}`. Where the claim fails
    there, this is the counter-example that is shown; else it is where it fails by most."""
    note: str = ""
    """What a reader of the verdict should know."""

    @model_validator(mode="after")
    def _one_sort(self) -> Claim:
        if not self.expect:
            raise ValueError("expect: names no inequality; a claim needs at least one")
        sorts = {isinstance(e, TheoryClaimKind) for e in self.expect}
        if len(sorts) > 1:
            raise ValueError(f"claim {self.id!r} mixes theory and measurements; make two claims of it")
        others = (e for expect in self.also_read_as.values() for e in expect)
        if self.also_read_as and (sorts == {True} or any(isinstance(e, TheoryClaimKind) for e in others)):
            raise ValueError(f"claim {self.id!r}: also_read_as is for claims about measurements")
        if self.origin in ("paper", "corrected") and not self.quotes:
            raise ValueError(
                f"claim {self.id!r} is of origin {self.origin!r}; quote the sentence of the paper (quotes)"
            )
        if self.example and not any(part.has_point(self.example) for part in self.theory):
            names = ", ".join(self.example)
            raise ValueError(f"claim {self.id!r}: example: no inequality of it has this point of {names}")
        if self.against_printed and self.origin != "paper":
            raise ValueError(f"claim {self.id!r}: against_printed is for claims of origin `paper`")
        on_theory = any(getattr(one, "tolerance", 0.0) > ROUNDING for one in self.theory)
        if self.tolerance_from is not None and not (self.has_tolerance or on_theory):
            raise ValueError(f"claim {self.id!r}: tolerance_from: no inequality of it has a tolerance")
        if (self.origin == "corrected") != (self.corrects is not None):
            raise ValueError(f"claim {self.id!r}: `corrects` goes with origin `corrected`, and names a claim")
        return self

    def other_readings(self) -> list[tuple[str, Claim]]:
        """The claim in each other reading of its sentence, by what that reads otherwise."""
        return [
            (name, self.model_copy(update={"also_read_as": {}, "expect": expect}))
            for name, expect in self.also_read_as.items()
        ]

    @property
    def has_tolerance(self) -> bool:
        """Whether some inequality of it, on measurements, is met within a tolerance."""
        return any(one.doubled_tolerance() is not None for one in self.expect)

    @property
    def theory(self) -> tuple[TheoryClaimKind, ...]:
        """What it says of theory; empty for a claim about measurements."""
        return tuple(e for e in self.expect if isinstance(e, TheoryClaimKind))

    @property
    def measured(self) -> tuple[MeasuredClaimKind, ...]:
        """What it says of measurements; empty for a claim about theory."""
        return tuple(e for e in self.expect if isinstance(e, MeasuredClaimKind))
