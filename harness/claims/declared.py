"""What a spec declares, as far as claims may name it; an unknown name is an error with the nearest known one."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.claims.operands import NAMED, OWNER_SET, Chosen, FormulaValue, MetricOperand
from harness.coordinates import Level
from harness.formulas import FORMULAS
from harness.formulas.formula import describe_unknown_formula
from harness.metrics import METRICS, metrics_of
from harness.metrics.metric import MODEL_SCOPES, depends_on_decisions

COORDINATES = ("epsilon", "delta", "prior")
"""Of every cell, besides its axes."""


@dataclass(frozen=True)
class NameScope:
    """Arms with the values of their axes, attacks with what they measure."""

    arms: Mapping[str, Mapping[str, tuple[Level, ...]]]
    """Values of the axes of each arm's experiment, epsilon among them."""
    attacks: Mapping[str, tuple[str, ...]]
    """Metrics of each attack on one model."""
    scored: frozenset[str] = frozenset()
    """Attacks that score records, so that runs can be compared record by record."""
    attack_axes: Mapping[str, Mapping[str, tuple[Level, ...]]] | None = None
    """Values of the axes of each attack."""
    courses: frozenset[str] = frozenset()
    """Arms whose models are measured after each epoch."""
    same_records: bool = False
    """All repeats share the first one's records."""
    of_models: tuple[str, ...] | None = None
    """Of results from elsewhere: metrics of the models themselves; None: those of every model that is trained."""
    coordinates: tuple[str, ...] = COORDINATES
    """Of every cell, besides its axes."""
    summary: bool = False
    """Repeats are known by their mean and its standard error alone."""
    without_threshold: frozenset[str] = frozenset()
    """Attacks that make no decisions."""

    def refuse_single_repeats(self, kind: str) -> None:
        """Raises ValueError where what is asked needs every repeat by itself, and means are all that there is."""
        if self.summary:
            raise ValueError(
                f"{kind} needs the result of every repeat, and a summary has their mean alone; give the results "
                "themselves (format: tidy or wide)"
            )

    def axes(self, arm: str, attack: str = "") -> dict[str, tuple[Level, ...]]:
        """Axes along which a metric of this arm and attack varies, with their values."""
        return {**self.arms[arm], **(self.attack_axes or {}).get(attack, {})}

    def complete(self, operand: MetricOperand) -> MetricOperand:
        """The operand with the only arm filled in, where it names none. Raises ValueError where there are several
        arms."""
        if operand.arm:
            return operand
        if len(self.arms) > 1:
            raise ValueError(f"names no arm; known: {list_names(self.arms)}")
        return operand.model_copy(update={"arm": tuple(self.arms)})

    def check(self, operand: MetricOperand) -> None:
        """Raises ValueError for a name that is not declared, or a metric that cannot be had."""
        if not operand.metric:
            raise ValueError("names no metric")
        for arm in operand.arm:
            if arm not in self.arms:
                raise ValueError(describe_unknown_name("arm", arm, self.arms))
        for attack in operand.attack:
            if attack not in self.attacks:
                raise ValueError(describe_unknown_name("attack", attack, self.attacks))
        if operand.chosen is not None:
            self.refuse_single_repeats("chosen")
        metrics = (*operand.metric, *([operand.minus] if operand.minus is not None else []))
        for metric in metrics:
            for attack in operand.attack or ("",):
                self._check_metric(metric, attack, operand.arm)
        for arm in operand.arm:
            for attack in operand.attack or ("",):
                axes = self.axes(arm, attack)
                for name, value in operand.fixed_axes.items():
                    self._check_level(name, value, axes)
                for name in operand.mean_over:
                    if name not in axes:
                        raise ValueError(describe_unknown_name("axis", name, axes))
                if operand.chosen is not None:
                    self._check_chosen(operand.chosen, operand, arm)

    def _check_chosen(self, chosen: Chosen, operand: MetricOperand, arm: str) -> None:
        axes = self.axes(arm)
        if chosen.axis not in axes:
            raise ValueError(f"chosen: {describe_unknown_name('axis', chosen.axis, axes)}")
        if any(isinstance(value, bool | str) for value in axes[chosen.axis]):
            raise ValueError(
                f"chosen: the axis {chosen.axis!r} has values that are no numbers; none of them is the least"
            )
        if chosen.axis in operand.fixed_axes or chosen.axis in operand.mean_over:
            raise ValueError(f"chosen: the axis {chosen.axis!r} is fixed, or averaged over, already")
        by = arm if chosen.arm is None else chosen.arm
        if by not in self.arms:
            raise ValueError(f"chosen: {describe_unknown_name('arm', by, self.arms)}")
        if set(self.arms[by].get(chosen.axis, ())) != set(axes[chosen.axis]):
            raise ValueError(f"chosen: the arms {arm!r} and {by!r} differ in {chosen.axis}; give both the same values")
        self._check_metric(chosen.metric, "", (by,))

    def _check_metric(self, metric: str, attack: str, arms: Iterable[str]) -> None:
        if attack:
            known = (*self.attacks[attack], *(metrics_of("runs") if attack in self.scored else ()))
            of = f"of the attack {attack!r}"
        elif self.of_models is not None:
            known, of = self.of_models, "of the model (no attack named)"
        else:
            known, of = tuple(m for what in MODEL_SCOPES for m in metrics_of(what)), "of the model (no attack named)"
        if metric not in known and attack in self.without_threshold and depends_on_decisions(metric):
            raise ValueError(
                f"{metric} depends on decisions, and the attack {attack!r} makes no decisions (threshold_from: none); "
                "give it threshold_from: rule or rehearsal, or ask for what its scores tell, such as auc"
            )
        if metric not in known:
            raise ValueError(describe_unknown_name("metric", metric, known, of))
        if self.of_models is not None:
            return
        scope = METRICS[metric].scope if metric in METRICS else "attack"
        if scope == "epochs" and (without := sorted(set(arms) - self.courses)):
            raise ValueError(f"{metric} is of every epoch; set training.epochs_measured to each (arm {without[0]!r})")
        if scope == "baseline" and any(math.inf not in self.arms[arm].get("epsilon", ()) for arm in arms):
            raise ValueError(f"{metric} is relative to the model without noise; add .inf to the epsilons")
        if scope == "runs" and not self.same_records:
            raise ValueError(f"{metric} counts the same members over several runs; set experiment.resample to training")

    @staticmethod
    def _check_level(name: str, value: Level, axes: Mapping[str, tuple[object, ...]]) -> None:
        if name not in axes:
            raise ValueError(describe_unknown_name("axis", name, axes))
        if value not in axes[name]:
            grid = ", ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in axes[name])
            shown = f"{value:g}" if isinstance(value, float) else repr(value)
            raise ValueError(f"{name} {shown} is not on the grid ({grid})")

    def check_at(self, at: Mapping[str, tuple[Level, ...]], operands: Iterable[MetricOperand]) -> None:
        """Raises ValueError for a grid point that no arm has."""
        for name, values in at.items():
            sides = [self.axes(arm, attack) for o in operands for arm in o.arm for attack in o.attack or ("",)]
            known = {axis: tuple(dict.fromkeys(v for s in sides for v in s.get(axis, ()))) for s in sides for axis in s}
            for value in values:
                self._check_level(name, value, known)

    def check_finite(self, operands: Iterable[MetricOperand]) -> None:
        """Raises ValueError where a claim that leaves epsilon to its finite values has none."""
        for operand in operands:
            if "epsilon" in operand.fixed_axes or "epsilon" in operand.mean_over or operand.chosen is not None:
                continue
            for arm in operand.arm:
                epsilons = self.arms[arm].get("epsilon", ())
                if epsilons and math.inf in epsilons and len(epsilons) == 1:
                    raise ValueError(
                        f"says nothing of epsilon, which then takes its finite values, and arm {arm!r} has none; "
                        "add at: [.inf]"
                    )

    def check_quantified(self, names: Iterable[str], operand: MetricOperand) -> None:
        """Raises ValueError for something to quantify over that is no axis, nor `arm`, `attack`, `metric` or
        `owner_set`."""
        axes = [self.axes(arm, attack) for arm in operand.arm for attack in operand.attack or ("",)]
        known = [*dict.fromkeys(name for own in axes for name in own), *NAMED, OWNER_SET]
        for name in names:
            if name not in known:
                raise ValueError(f"for: {describe_unknown_name('axis', name, known)}")

    def check_varies(self, axis: str, operand: MetricOperand, arm: str, attack: str) -> None:
        """Raises ValueError where what is measured does not vary along an axis."""
        axes = self.axes(arm, attack)
        if axis not in axes:
            raise ValueError(describe_unknown_name("axis", axis, axes))
        if axis in operand.fixed_axes or axis in operand.mean_over:
            raise ValueError(f"the axis {axis!r} is fixed, or averaged over, in what is to vary along it")

    def check_numeric(self, axis: str, arm: str, attack: str) -> None:
        """Raises ValueError for an axis that there is not, or whose values are no numbers."""
        axes = self.axes(arm, attack)
        if axis not in axes:
            raise ValueError(describe_unknown_name("axis", axis, axes))
        if any(isinstance(v, bool | str) for v in axes[axis]):
            raise ValueError(f"the axis {axis!r} has values that are no numbers; it cannot be a side of a comparison")

    def check_formula(self, right: FormulaValue, left: MetricOperand) -> None:
        """Raises ValueError for an unknown formula, or a parameter that is no coordinate of what is measured."""
        if right.formula not in FORMULAS:
            raise ValueError(describe_unknown_formula(right.formula))
        formula = FORMULAS[right.formula]
        for name in right.given:
            if name not in formula.parameters:
                raise ValueError(f"{right.formula} has no parameter {name!r}; it has: {', '.join(formula.parameters)}")
        for metric in left.metric:
            fixed = METRICS[metric].coordinates if metric in METRICS else {}
            for arm in left.arm:
                for attack in left.attack or ("",):
                    known = {*self.coordinates, *fixed, *self.axes(arm, attack), *right.given, *formula.defaults}
                    missing = [p for p in formula.parameters if p not in known]
                    if missing:
                        raise ValueError(
                            f"formula {right.formula} needs {', '.join(missing)}, which is no coordinate of "
                            f"{metric} ({', '.join(sorted(known - {*right.given, *formula.defaults}))}); give it under "
                            "`given`"
                        )


def describe_unknown_name(noun: str, name: str, known: Iterable[str], of: str = "") -> str:
    """A message on a name that is not known, with the nearest known one."""
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]!r}?" if close and close[0] != name else f"known: {list_names(known)}"
    return f"unknown {noun} {name!r}{' ' + of if of else ''}; {hint}"


def list_names(names: Iterable[str]) -> str:
    """Names as a list in a message."""
    return ", ".join(sorted(names)) or "none"
