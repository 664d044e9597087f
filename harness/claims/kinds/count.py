"""Counts of the data and of the split are the printed ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from harness.claims.contrasts import Compared, Counts
from harness.claims.declared import NameScope, describe_unknown_name
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, MeasuredClaimKind
from harness.claims.expression import Expression, Name, Numeral, chain, listing


@CLAIM_KINDS.register
class Count(MeasuredClaimKind):
    """Counts of the data and of the split equal the printed ones in every repeat."""

    kind: Literal["count"] = "count"
    is_counted: ClassVar[bool] = True
    arm: str
    equals: dict[str, int] = Field(min_length=1)
    """Printed value of each count, such as `owner_set: 15784`."""

    def tree(self) -> Expression:
        of = (Name(name=self.arm),)
        return listing(chain("=", Name(name=n, of=of), Numeral(number=value)) for n, value in self.equals.items())

    def attacks(self) -> Mapping[str, tuple[str, ...]]:
        return {self.arm: ("",)}

    def check(self, declared: NameScope) -> None:
        if self.arm not in declared.arms:
            raise ValueError(describe_unknown_name("arm", self.arm, declared.arms))
        if declared.of_models is not None:
            raise ValueError("count is of records that were drawn here; results from elsewhere count none")

    def contrasts(self, table: Measurements) -> Compared:
        return Counts(self.arm, self.equals)
