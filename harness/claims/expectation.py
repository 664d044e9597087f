"""What a kind of claim is: its fields, its words, its check against the spec, and how it is judged.

One file a kind: those about measurements are in `harness.claims.kinds`, those about theory in `harness.theory.kinds`;
other packages register theirs. No text of a claim is ever evaluated.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator

from harness.claims.contrasts import Compared, Contrast, PointInWords, PrintedEntry
from harness.claims.declared import NameScope
from harness.claims.evidence import Measurements
from harness.claims.expression import (
    Bracketed,
    DomainPart,
    Expression,
    HasTree,
    Name,
    Words,
    chain,
    level,
    listing,
    phrase,
)
from harness.claims.operands import (
    NAMED,
    OWNER_SET,
    FormulaValue,
    MetricOperand,
    MetricSeries,
    Operand,
    Quantifier,
)
from harness.claims.reasons import Reason
from harness.config import Plugin, Registry
from harness.coordinates import Level, Where
from harness.formulas import FORMULAS
from harness.metrics import METRICS


def _as_epsilons(value: object) -> object:
    return {"epsilon": value} if isinstance(value, list | tuple | int | float) else value


def _as_lists(value: object) -> object:
    listed = _as_epsilons(value)
    if isinstance(listed, dict):
        return {k: v if isinstance(v, list | tuple) else [v] for k, v in listed.items()}
    return listed


At = Annotated[
    dict[str, tuple[Level, ...]] | None,
    BeforeValidator(_as_lists, json_schema_input_type=tuple[float, ...] | dict[str, Level | tuple[Level, ...]] | None),
]
"""Grid points to look at: values by axis; a bare list is of epsilons. Default: all, of epsilon the finite ones."""
For = Quantifier | dict[str, Quantifier]
"""`all` or `some` grid points; or by axis, or by `arm`, `attack`, `metric` where several are named (default: all); of
`owner_set`, which a split may draw anew in each repeat: of the mean over all (default), or of `some` one by itself."""


class ClaimKind(Plugin, HasTree):
    """Base of all kinds of claims."""

    packages: ClassVar[tuple[str, ...]] = ()
    """Installed packages whose versions decide its verdicts."""
    effect_scale: ClassVar[str] = ""
    """On which scale its points' distances to the line are, in words, where it is not that of its sides."""

    @abstractmethod
    def tree(self) -> Expression:
        """The inequality, as readers of the verdict see it, each in a rendering of its own."""

    @abstractmethod
    def formula_names(self) -> Sequence[str]:
        """Names of the formulas that it rests on."""

    def operands(self) -> Sequence[MetricOperand]:
        """Every measured side; none of a claim about theory."""
        return ()

    def patterns(self) -> Sequence[Contrast]:
        """What each of its points compares, without the place: alternatives of which one is enough, mostly a single
        one. From these it has a sentence and a plot in the measure of its left side.

        Empty where its points are of comparisons that differ, or not measured; then they are told by their distance to
        the line.
        """
        return ()

    def doubled_tolerance(self) -> str | None:
        """The tolerance that measurements are allowed, doubled, in words; None where there is none."""
        return None


class TheoryClaimKind(ClaimKind):
    """A kind of claim that needs no measurements."""

    on_toy: ClassVar[bool] = False
    """It trains models of its own, on records that are made up for it: what a paper says of others is not shown."""

    @abstractmethod
    def judge(self) -> TheoryResult:
        """Prove, refute, compute or play."""

    @abstractmethod
    def definitions(self) -> dict[str, str]:
        """What the names in the text stand for."""

    def formula_names(self) -> Sequence[str]:
        return [name for name in self.definitions() if name in FORMULAS]

    def computed_points(self) -> int:
        """At how many points it is computed one by one; 1 where it is proved, or played out, as a whole."""
        return 1

    def has_point(self, at: Mapping[str, float]) -> bool:
        """Whether these are the variables of its domain, with values that lie in it."""
        return False

    def refute_at(self, at: Mapping[str, float], result: TheoryResult) -> TheoryResult:
        """The same result, shown at this point of the domain where it refutes the claim, too."""
        return result


@dataclass(frozen=True)
class TheoryResult:
    """Outcome, reason, the worst margin found (positive: as claimed), where, how it was found, and what it rests on."""

    outcome: Literal["reproduced", "violated", "inconclusive"]
    why: Reason
    worst: float
    counterexample: dict[str, float] | None
    test: str
    basis: Literal["proof", "computed", "simulated"] = "proof"

    @property
    def reason(self) -> str:
        """Why, in one sentence."""
        return self.why.text()


class MeasuredClaimKind(ClaimKind):
    """A kind of claim about measurements."""

    takes_ends: ClassVar[bool] = False
    """Whether it can be of a metric that is known between two ends, such as `max_advantage`."""
    measured_field: ClassVar[str | None] = None
    """The field that names what is measured, of a kind that has one: by it the kind is counted over names."""
    counts_absent_points: ClassVar[bool] = False
    """Whether it may be judged where the profile leaves out some epsilons: these count as points of which nothing is
    known. Other kinds, which are of all epsilons together, are not run there."""
    is_counted: ClassVar[bool] = False
    """Whether it is of numbers that are the same in every run."""
    needs_repeats: ClassVar[bool] = False
    """Whether it asks for something of each repeat by itself, which a mean does not tell."""

    def parts(self, declared: NameScope) -> Sequence[Self]:
        """The claims that it stands for, one for each of the names that it lists, all of which must hold."""
        return [self]

    def arms(self) -> Sequence[str]:
        """Every arm that it speaks of."""
        return tuple(self.attacks())

    def attacks(self) -> Mapping[str, tuple[str, ...]]:
        """By arm that it speaks of: the attacks on it; an empty one stands for the models themselves."""
        by_arm: dict[str, dict[str, None]] = {}
        for operand in self.operands():
            for arm in operand.arm:
                by_arm.setdefault(arm, {}).update(dict.fromkeys(operand.attack or ("",)))
            if operand.chosen is not None and operand.chosen.arm is not None:
                by_arm.setdefault(operand.chosen.arm, {})[""] = None
        return {arm: tuple(attacks) for arm, attacks in by_arm.items()}

    def levels_asked(self) -> Mapping[str, Sequence[object]]:
        """By axis: the values that it looks at; every value of an axis that is not named."""
        return getattr(self, "at", None) or {}

    def formulas(self) -> Sequence[FormulaValue]:
        """Every formula that it compares with."""
        return ()

    def formula_names(self) -> Sequence[str]:
        return [formula.formula for formula in self.formulas()]

    def check(self, declared: NameScope) -> None:
        """Raises ValueError for a name that the spec does not declare; of one of its `parts`."""
        if self.needs_repeats:
            declared.refuse_single_repeats(type(self).plugin_name())
        for operand in self.operands():
            declared.check(operand)
            if not self.takes_ends:
                refuse_ends(operand.metrics)
        at = getattr(self, "at", None)
        if at:
            declared.check_at(at, self.operands())
        if "at" in type(self).model_fields and "epsilon" not in (at or {}):
            declared.check_finite(self.operands())

    @abstractmethod
    def contrasts(self, table: Measurements) -> Compared:
        """What one of its `parts` compares, as data; nothing is tested here.

        Raises HarnessError for what was not measured.
        """

    @property
    def needs_one_attack(self) -> bool:
        """Whether one of the attacks that it lists is enough."""
        return False

    def has_measured_alternative(self, table: Measurements) -> bool:
        """Whether one of its alternatives has measurements of its attacks."""
        return True

    def made_of(self) -> Sequence[MeasuredClaimKind]:
        """The claims that it is made of; none: it is whole by itself."""
        return ()

    def at_values(self, names: Mapping[str, str], levels: Mapping[str, Level]) -> Self:
        """The same of these names of `metric`, `arm` or `attack`, at these values of axes, where it is counted at each.

        Raises ValueError for names, where it has no single field (`measured_field`) that lists them.
        """
        update: dict[str, object] = {}
        if levels:
            update["at"] = {**(getattr(self, "at", None) or {}), **{axis: (value,) for axis, value in levels.items()}}
        if names:
            if self.measured_field is None:
                raise ValueError(f"{type(self).plugin_name()} cannot be counted over names; list the claims in `of`")
            measured = getattr(self, self.measured_field)
            first = measured[0] if isinstance(measured, tuple) else measured
            named = first.model_copy(update={name: (value,) for name, value in names.items()})
            update[self.measured_field] = (named, *measured[1:]) if isinstance(measured, tuple) else named
        return self.model_copy(update=update)

    def point_in_words(self) -> PointInWords | None:
        """What both numbers of a point are, of a kind without `patterns`; None: they are told as what is measured."""
        return None

    def printed_entries(self) -> Sequence[PrintedEntry]:
        """The entries of the printed table that it is; none for other claims."""
        return ()

    @property
    def is_of_printed_numbers(self) -> bool:
        """Whether it is of numbers that a paper prints and of nothing else."""
        return self.is_counted or bool(self.printed_entries())

    def printed_numbers(self) -> Sequence[tuple[MetricSeries, Where, float]]:
        """Numbers that the paper prints, as the claim has them: of which curve, where, and the number."""
        return ()


def refuse_ends(metrics: Sequence[str]) -> None:
    """Raises ValueError for a metric that is known between two ends, where what is asked cannot be told of both."""
    for name in metrics:
        if name in METRICS and (below := METRICS[name].never_above):
            raise ValueError(
                f"{name} is on average not too low, and {below[0]} not too high; only the left side of a compare, with "
                f"nothing subtracted, takes both. Give {' or '.join(below)}"
            )


CLAIM_KINDS: Registry[ClaimKind] = Registry("kind of claim")


def sides(left: MetricOperand, right: Operand, declared: NameScope) -> tuple[MetricOperand, Operand]:
    """Both sides of a comparison, with what they leave out."""
    left = declared.complete(left)
    return left, right.inherit(left) if isinstance(right, MetricOperand) else right


def some_of(quantifier: For, axes: Sequence[str]) -> frozenset[str]:
    """The axes, and kinds of names, along which one is enough."""
    if isinstance(quantifier, str):
        return frozenset(axes) if quantifier == "some" else frozenset()
    return frozenset(name for name, word in quantifier.items() if word == "some")


def names_for_some(quantifier: For) -> frozenset[str]:
    """Kinds of names, of which one is enough."""
    return frozenset() if isinstance(quantifier, str) else some_of(quantifier, ()) & frozenset(NAMED)


def points_part(quantifier: For, at: Mapping[str, Sequence[object]] | None) -> DomainPart:
    """At which grid points."""
    if not isinstance(quantifier, str) and OWNER_SET in quantifier:
        others = points_part({n: q for n, q in quantifier.items() if n != OWNER_SET} or "all", at)
        one = phrase("some", Name(name=OWNER_SET))
        return DomainPart(domain="for", over=(one, others)) if quantifier[OWNER_SET] == "some" else others
    first: list[Expression] = []
    if isinstance(quantifier, str):
        word = "every" if quantifier == "all" else "some"
    else:
        first, word = [phrase(q, Name(name=name)) for name, q in quantifier.items()], "every other"
    if not at:
        point = Name(name="epsilon") if isinstance(quantifier, str) else Words(words="grid point")
        return DomainPart(domain="for", over=(*first, phrase(word, point)))
    conditions = []
    for axis, values in at.items():
        shown = listing(level(v) for v in values)
        several = len(values) > 1
        conditions.append(
            chain("in", Name(name=axis), Bracketed(brackets="{}", inside=shown))
            if several
            else chain("=", Name(name=axis), shown)
        )
    if all(len(values) == 1 for values in at.values()):
        return DomainPart(domain="at", over=tuple(conditions))
    return DomainPart(domain="for", over=(*first, phrase(word, conditions[0]), *conditions[1:]))
