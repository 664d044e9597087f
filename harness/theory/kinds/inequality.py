"""Claims that an inequality holds over a domain: proved, refuted, or checked on a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from harness.claims.expectation import CLAIM_KINDS, TheoryClaimKind, TheoryResult
from harness.claims.expression import Expression, aside, chain, numeral, phrase
from harness.claims.reasons import Found, Reason, proof_in_words, reason_in_words
from harness.theory.domain import Domain, Interval, Values, check_names, compute_at, domain_part, number, point
from harness.theory.kinds.packages import PACKAGES
from harness.theory.term import Term, definitions

if TYPE_CHECKING:
    from harness.theory.program import Formula

Relation = Literal["<", "<=", "=", ">=", ">"]
"""The relations that a claim may state."""
TOLERANCE = 1e-9
"""The largest difference that counts as rounding where a side is a floating-point computation."""


@CLAIM_KINDS.register
class Inequality(TheoryClaimKind):
    """The inequality left RELATION right holds at every point of a domain.

    Where both sides are formulas it is proved or refuted over the whole domain, in ball arithmetic; where one is
    computed (a linear program, an enumeration), it is checked on a grid. Where several values are listed, and no
    interval is given, it is shown at these alone. A refutation is final in either case.
    """

    kind: Literal["inequality"] = "inequality"
    packages: ClassVar[tuple[str, ...]] = PACKAGES
    left: Term
    relation: Relation
    right: Term
    over: Domain = {}
    """The domain of each variable."""
    tolerance: float = Field(default=TOLERANCE, ge=0)
    """The slack: `<=` allows so much excess, `=` so much difference."""
    quantifier: Literal["all", "some"] = Field(default="all", alias="for", exclude_if=lambda one: one == "all")
    """Of the points of the domain: at `all` of them, or at `some`, of which one is shown."""

    @model_validator(mode="after")
    def _check_consistency(self) -> Inequality:
        check_names(self.left.variables() | self.right.variables(), self.over)
        if self.relation in ("<", ">") and self.tolerance != TOLERANCE:
            raise ValueError(f"a tolerance has no meaning with {self.relation!r}; use '<=', '>=' or '='")
        if self.quantifier == "some" and (self.relation == "=" or not self.over or self.tolerance != TOLERANCE):
            raise ValueError(
                "`for: some` is of an order, without a tolerance, over a domain: one of < <= >= >, and `over`"
            )
        return self

    def computed_points(self) -> int:
        if self.left.is_exact() and self.right.is_exact():
            return 1
        return math.prod(one.points if isinstance(one, Interval) else len(one.values) for one in self.over.values())

    def tree(self) -> Expression:
        right, slack = self.right.tree(), numeral(self.tolerance)
        if self.relation != "=" and self.tolerance > TOLERANCE:
            right = chain("-" if self.relation == ">=" else "+", right, slack)
        within = aside("within", slack) if self.relation == "=" else None
        some = self.quantifier == "some"
        return phrase(chain(self.relation, self.left.tree(), right), within, domain_part(self.over, some))

    def definitions(self) -> dict[str, str]:
        """The meaning of each name in the claim's text."""
        return {**definitions(self.left), **definitions(self.right)}

    def judge(self) -> TheoryResult:
        """The result of a proof, a refutation, or a search that was given up.

        Raises HarnessError where a computed side has no value at a grid point.
        """
        return self._judge_some() if self.quantifier == "some" else self._judge_all()

    def _judge_some(self) -> TheoryResult:
        """The result of looking for a point at which it holds: what refutes its opposite everywhere is one."""
        relation: Relation = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[self.relation]  # type: ignore[assignment]
        everywhere = {"quantifier": "all", "relation": relation, "tolerance": 0.0 if "=" in relation else TOLERANCE}
        opposite = self.model_copy(update=everywhere)
        found = opposite.judge()
        if found.outcome == "inconclusive":
            return found
        if found.outcome == "reproduced":
            why = found.why.model_copy(update={"found": "refuted", "share": None})
            worst = -abs(found.worst)
            return replace(found, outcome="violated", why=why, worst=worst, counterexample=_numbers_of(found.why))
        at = {name: value for name, value in (found.counterexample or {}).items() if name in self.over}
        apart = abs(number(self.left, at) - number(self.right, at))
        how = f"a point at which it holds; {found.test}"
        return TheoryResult("reproduced", self._reason("holds-at", at), apart, None, how, found.basis)

    def _judge_all(self) -> TheoryResult:
        parts = {
            "<": [(1, True)],
            "<=": [(1, False)],
            ">": [(-1, True)],
            ">=": [(-1, False)],
            "=": [(1, False), (-1, False)],
        }[self.relation]
        if self.relation == "=" and self._is_identity():
            how = "identity of rational functions in the variables and their exponentials"
            return TheoryResult("reproduced", proof_in_words("both sides are the same function"), 0.0, None, how)
        sides = self._prove_sides(parts) if self._is_exact() else self._scan_sides(parts)
        order = ("violated", "inconclusive", "reproduced")
        return min(sides, key=lambda f: (order.index(f.outcome), f.worst))

    def has_point(self, at: Mapping[str, float]) -> bool:
        """Whether a point gives every variable, and no other, a value in its domain."""
        return at.keys() == self.over.keys() and all(at[name] in domain for name, domain in self.over.items())

    def refute_at(self, at: Mapping[str, float], result: TheoryResult) -> TheoryResult:
        """The result with the declared point as its counterexample, if it refutes; else as it was.

        Sides that differ by no more than the tolerance there refute nothing.
        """
        if result.outcome != "violated" or not self.has_point(at):
            return result
        left, right = number(self.left, at), number(self.right, at)
        apart = {"<": left - right, "<=": left - right, ">": right - left, ">=": right - left, "=": abs(left - right)}
        worst = -apart[self.relation]
        if worst >= -self.tolerance:
            return result
        share = result.why.share if result.why.found == "refuted" else None
        why = self._reason("refuted", at, share=share)
        return replace(result, why=why, worst=worst, counterexample={**at, "left": left, "right": right})

    def _is_of_numbers_alone(self) -> bool:
        """Whether it compares printed numbers, with no formula and no variable: that is arithmetic, and no proof."""
        return not self.over and not self.definitions()

    def _is_identity(self) -> bool:
        """Whether both sides are the same rational function: no box ever shows that they are equal."""
        from harness.theory.identity import are_identical

        if not (self._is_exact() and self.over):
            return False
        return are_identical(self.left.evaluate, self.right.evaluate, list(self.over))

    def _is_exact(self) -> bool:
        return self.left.is_exact() and self.right.is_exact()

    def _slack(self, strict: bool) -> float:
        return 0.0 if strict else self.tolerance

    def _difference(self, at: Mapping[str, Any], sign: int = 1) -> Any:
        """The distance by which the right side is above the left one (`sign` 1), or below it (-1)."""
        left, right = self.left.evaluate(at), self.right.evaluate(at)
        return right - left if sign > 0 else left - right

    def _prove_sides(self, parts: Sequence[tuple[int, bool]]) -> list[TheoryResult]:
        return [
            self._prove(partial(self._difference, sign=sign), self._slack(strict), strict) for sign, strict in parts
        ]

    def _scan_sides(self, parts: Sequence[tuple[int, bool]]) -> list[TheoryResult]:
        """The results of both sides on a grid, each computed once at a point, also where either has to be at most the
        other."""
        names = list(self.over)
        points = [dict(zip(names, v, strict=True)) for v in product(*(d.grid() for d in self.over.values()))]
        above = [compute_at(self._difference, at) for at in points]
        below = [0.0 - difference for difference in above]  # not -difference, which of 0 is -0
        return [self._scan(points, above if sign > 0 else below, self._slack(strict), strict) for sign, strict in parts]

    def _reason(self, how: Found, at: Mapping[str, float], **more: object) -> Reason:
        """The reason with both sides at a point; without them where no point is known."""
        known = not set(self.over) - set(at)
        return Reason(
            found=how,
            at=dict(at),
            left_name=self.left.text(),
            right_name=self.right.text(),
            left=number(self.left, at) if known else None,
            right=number(self.right, at) if known else None,
            **more,
        )

    def _prove(self, margin: Formula, slack: float, strict: bool) -> TheoryResult:
        """The worst result of proofs over the intervals, one for each combination of the listed values."""
        from harness.theory.program import Encloser
        from harness.theory.prove import prove

        spans = {n: (d.low, d.high) for n, d in self.over.items() if isinstance(d, Interval)}
        listed = {n: d.values for n, d in self.over.items() if isinstance(d, Values)}
        boxes, worst, outcome, where = 0, math.inf, "proved", dict[str, float]()
        encloser = None
        for fixed in product(*listed.values()):
            given = dict(zip(listed, fixed, strict=True))
            box = {**spans, **{n: (v, v) for n, v in given.items()}}
            encloser = Encloser(margin, box, like=encloser)
            proof = prove(margin, box, slack, strict, encloser)
            boxes += proof.boxes
            rank = ("refuted", "undecided", "proved")
            if (rank.index(proof.outcome), proof.worst) < (rank.index(outcome), worst):
                worst, outcome, where = proof.worst, proof.outcome, proof.at
        how = f"ball arithmetic over the whole domain, {boxes} boxes" if spans else "ball arithmetic at each point"
        basis: Literal["proof", "computed"] = "proof"
        if self._is_of_numbers_alone():
            how, basis = "arithmetic on the numbers", "computed"
        if outcome == "proved":
            if not spans and len([*product(*listed.values())]) > 1:  # of points between these nothing is shown
                basis = "computed"
            how_shown: Found = "proved" if basis == "proof" else "computed"
            return TheoryResult("reproduced", self._reason(how_shown, where), worst, None, how, basis)
        if outcome == "refuted":
            at = {**where, "left": number(self.left, where), "right": number(self.right, where)}
            return TheoryResult("violated", self._reason("refuted", where), worst, at, how, basis)
        return TheoryResult("inconclusive", self._reason("unproved", where, boxes=boxes), worst, None, how)

    def _scan(
        self, points: Sequence[dict[str, float]], margins: Sequence[float], slack: float, strict: bool
    ) -> TheoryResult:
        """The result that the worst of the margins at grid points gives."""
        how = (
            f"computed at {len(points)} grid points (a grid refutes for good, supports only where it looked)"
            if any(isinstance(d, Interval) for d in self.over.values())
            else f"computed at all {len(points)} points"
        )
        if any(math.isnan(m) for m in margins):
            at = points[[math.isnan(m) for m in margins].index(True)]
            why = reason_in_words(f"not computable at {point(at)}")
            return TheoryResult("inconclusive", why, math.nan, None, how, "computed")
        worst = int(np.argmin(margins))
        at, value = points[worst], margins[worst]
        fails = value <= slack if strict else value < -slack
        if not fails:
            return TheoryResult("reproduced", self._reason("computed", at), value, None, how, "computed")
        share = sum(m <= slack if strict else m < -slack for m in margins) / len(margins)
        reason = self._reason("refuted", at, share=share if len(points) > 1 else None)
        shown = {**at, "left": number(self.left, at), "right": number(self.right, at)}
        return TheoryResult("violated", reason, value, shown, how, "computed")


def _numbers_of(why: Reason) -> dict[str, float] | None:
    """The place of a reason with both sides there; None where it has none."""
    if why.left is None or why.right is None:
        return None
    return {**{name: float(value) for name, value in why.at.items()}, "left": why.left, "right": why.right}
