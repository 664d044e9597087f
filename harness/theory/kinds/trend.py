"""Claims that a formula rises, or falls, with a variable."""

from __future__ import annotations

from itertools import product
from typing import ClassVar, Literal

from pydantic import model_validator

from harness.claims.expectation import CLAIM_KINDS, TheoryClaimKind, TheoryResult
from harness.claims.expression import Expression, Name, phrase
from harness.claims.reasons import proof_in_words, reason_in_words
from harness.theory.domain import Domain, Interval, Values, check_names, domain_part, point
from harness.theory.kinds.packages import PACKAGES
from harness.theory.term import Term, definitions


@CLAIM_KINDS.register
class Trend(TheoryClaimKind):
    """A formula rises, or falls, with a variable on the whole domain (its derivative's sign, in ball arithmetic)."""

    kind: Literal["trend"] = "trend"
    packages: ClassVar[tuple[str, ...]] = PACKAGES
    of: Term
    along: str
    direction: Literal["rises", "falls"]
    over: Domain

    @model_validator(mode="after")
    def _check_consistency(self) -> Trend:
        check_names(self.of.variables(), self.over)
        if not isinstance(self.over.get(self.along), Interval):
            raise ValueError(f"`along` ({self.along}) must be a variable of `over` with an interval")
        if not self.of.is_exact():
            raise ValueError(
                f"{self.of.text()} is computed point by point and has no derivative; compare points instead"
            )
        return self

    def tree(self) -> Expression:
        return phrase(self.of.tree(), f"{self.direction} with", Name(name=self.along), domain_part(self.over))

    def definitions(self) -> dict[str, str]:
        """The meaning of each name in the claim's text."""
        return definitions(self.of)

    def judge(self) -> TheoryResult:
        """The result that the sign of the derivative on the whole domain gives."""
        from harness.theory.program import Encloser
        from harness.theory.prove import prove_sign

        spans = {n: (d.low, d.high) for n, d in self.over.items() if isinstance(d, Interval)}
        listed = {n: d.values for n, d in self.over.items() if isinstance(d, Values)}
        sign = 1 if self.direction == "rises" else -1
        boxes, encloser = 0, None
        for fixed in product(*listed.values()):
            box = {**spans, **{n: (v, v) for n, v in zip(listed, fixed, strict=True)}}
            encloser = Encloser(self.of.evaluate, box, like=encloser)
            proof = prove_sign(self.of.evaluate, box, self.along, sign, encloser)
            boxes += proof.boxes
            how = f"sign of the derivative in ball arithmetic over the whole domain, {boxes} boxes"
            if proof.outcome != "proved":
                outcome: Literal["violated", "inconclusive"] = (
                    "violated" if proof.outcome == "refuted" else "inconclusive"
                )
                word = (
                    "the derivative has the other sign" if outcome == "violated" else "sign of the derivative unknown"
                )
                at = proof.at if outcome == "violated" else None
                return TheoryResult(outcome, reason_in_words(f"{word} at {point(proof.at)}"), proof.worst, at, how)
        return TheoryResult("reproduced", proof_in_words(f"it {self.direction} everywhere"), 0.0, None, how)
