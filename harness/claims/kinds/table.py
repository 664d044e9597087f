"""Enough of the entries of a printed table are met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field

from harness.claims.contrasts import Compared, Comparisons, Contrast, NotRun, PrintedEntry, needed_points
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expectation import CLAIM_KINDS, MeasuredClaimKind
from harness.claims.expression import Expression, Numeral, aside, chain, listing, numeral, phrase, width
from harness.claims.operands import MetricOperand, MetricSeries, Number, Real, Width
from harness.config import Config
from harness.coordinates import Where


class TableRow(Config):
    """A row of a printed table: one metric at several values of an axis."""

    of: MetricOperand
    values: dict[Annotated[float, Field(gt=0)], Real] = Field(min_length=1)
    """Printed value at each epsilon (or other axis, see `along`), such as `{0.1: 0.02, 1: 0.05}`."""
    tolerance: Width | None = None
    """Of this row's entries; default: the table's."""


@CLAIM_KINDS.register
class PrintedTable(MeasuredClaimKind):
    """At least a share of the entries of a printed table are met within a tolerance, each tested as equivalence."""

    kind: Literal["table"] = "table"
    rows: tuple[TableRow, ...] = Field(min_length=1)
    along: str = "epsilon"
    """The axis whose values the rows' entries stand at."""
    tolerance: Width
    share: float = Field(default=0.9, gt=0, le=1)
    """Of the entries that are to agree, rounded up: of fewer than ten all of them, unless it is smaller."""

    def tree(self) -> Expression:
        rows = []
        for row in self.rows:
            entries = listing(phrase(numeral(value), "at", numeral(level)) for level, value in row.values.items())
            tolerance = aside(width(row.tolerance or self.tolerance))
            rows.append(phrase(chain("=", row.of.curve.tree(), entries), tolerance))
        share = phrase("at least", Numeral(number=self.share, percent=True), "of")
        return listing([share, listing(rows, ";")], ":")

    def parts(self, declared: NameScope) -> Sequence[Self]:
        rows = tuple(
            row.model_copy(update={"of": one}) for row in self.rows for one in declared.complete(row.of).expand()
        )
        return [self.model_copy(update={"rows": rows})]

    def operands(self) -> Sequence[MetricOperand]:
        return [row.of for row in self.rows]

    def levels_asked(self) -> Mapping[str, Sequence[object]]:
        return {self.along: sorted({level for row in self.rows for level in row.values})}

    def check(self, declared: NameScope) -> None:
        super().check(declared)
        for row in self.rows:
            declared.check_at({self.along: tuple(row.values)}, [row.of])

    def printed_entries(self) -> Sequence[PrintedEntry]:
        return [
            PrintedEntry(i, row.of.curve, self.along, level, value, row.tolerance or self.tolerance)
            for i, row in enumerate(self.rows)
            for level, value in row.values.items()
        ]

    def contrasts(self, table: Measurements) -> Compared:
        run = [e for e in self.printed_entries() if e.level in table.levels(e.curve, self.along)]
        if not run:
            asked = ", ".join(f"{level:g}" for level in sorted({e.level for e in self.printed_entries()}))
            return NotRun(f"the profile runs none of the {self.along} {asked}")
        entries = tuple(
            Contrast(
                e.curve, Number(value=e.printed), {self.along: e.level}, "within", e.tolerance, doubled=2 * e.tolerance
            )
            for e in run
        )
        test = "each entry's equivalence by two one-sided tests: {test}"
        draws = table.draws_outcomes([e.curve for e in run])
        return Comparisons(entries, test, "share", needed_points(self.share, len(run)), draws=draws)

    def doubled_tolerance(self) -> str:
        return f"a tolerance of {2 * self.tolerance:g} in place of {self.tolerance:g}"

    def printed_numbers(self) -> Sequence[tuple[MetricSeries, Where, float]]:
        return [(e.curve, {self.along: e.level}, e.printed) for e in self.printed_entries()]
