"""A claim that nothing here can decide yet."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from harness.claims.contrasts import Compared, NotRun
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, MeasuredClaimKind
from harness.claims.expression import Expression, Words


@CLAIM_KINDS.register
class WaitsFor(MeasuredClaimKind):
    """The claim is not run: it waits for something that this package, or the machine at hand, does not have.

    It keeps a sentence of a paper in view, and in the counts, which nothing here settles.
    """

    kind: Literal["waits-for"] = "waits-for"
    what: Annotated[str, Field(min_length=10)]
    """What it waits for, as a noun: `an attack on gradients, which is not implemented`."""

    def tree(self) -> Expression:
        return Words(words=f"waits for {self.what}")

    def contrasts(self, table: Measurements) -> Compared:
        return NotRun(f"it waits for {self.what}")
