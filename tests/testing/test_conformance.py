"""The conformance kit on every plug-in that it can check, and on plug-ins that break a contract."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from harness.attacks.attack import ATTACKS, Fitted, MembershipAttack
from harness.attacks.pool import Pool
from harness.attacks.target import AttackResult, Target
from harness.claims.contrasts import Compared, Comparisons
from harness.claims.evidence import Measurements
from harness.claims.kinds.compare import Compare
from harness.claims.operands import MetricOperand, MetricSeries, Number
from harness.data.datasets.mixture import Mixture
from harness.defences import Oracle
from harness.defences.argmax import Argmax
from harness.defences.defence import DEFENCES
from harness.errors import HarnessError
from harness.formulas import FORMULAS
from harness.formulas.formula import Formula
from harness.metrics import METRICS, Answers, Outputs, Value
from harness.metrics.metric import Metric
from harness.testing import (
    NonConformance,
    check_attack,
    check_claim_kind,
    check_defence,
    check_formula,
    check_generator,
    check_metric,
    results,
)
from tests.claims.judged import PARSE

# --- metrics


@pytest.mark.parametrize("name", [m.name for m in METRICS.values() if m.scope in ("attack", "model")])
def test_metrics(name: str) -> None:
    check_metric(name)


def broken(name: str, function: Any, scope: Any = "attack") -> Metric:
    return Metric(name, function, "what it is", scope, 0.0, 1.0)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda a: Value(2 * float(a.member_decisions.mean()), 0.0, 1), r"outside its range \[0, 1\]"),
        (lambda a: Value(0.5, -1.0, 1), "its standard error is -1; it is at least 0"),
        (lambda a: 0.5, "gives float, and should give a Value"),
        (
            lambda a: Value(float(np.random.default_rng().random()), 0.0, 1),
            "measured twice of an attack that says nothing",
        ),
    ],
)
def test_a_broken_metric_is_told(function: Any, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "broken", broken("broken", function))
    with pytest.raises(NonConformance, match=says):
        check_metric("broken")


def test_a_metric_of_another_scope_or_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NonConformance, match="no metric is called 'nowhere'"):
        check_metric("nowhere")
    monkeypatch.setitem(METRICS, "far", broken("far", None, "runs"))
    with pytest.raises(NonConformance, match="far: its scope is runs"):
        check_metric("far")


# --- formulas

RANGES: Mapping[str, tuple[float, float]] = {
    "epsilon": (0.01, 6.0), "delta": (1e-6, 0.05), "prior": (0.05, 0.95), "fpr": (0.001, 0.5), "alpha": (1.5, 30.0),
    "sigma": (0.5, 5.0), "mu": (0.05, 3.0), "t": (0.05, 1.0),
}  # fmt: skip
BOUNDS = [f.name for f in FORMULAS.values() if f.bounds is not None and set(f.parameters) <= set(RANGES) and f.exact]


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(name: str) -> None:
    formula = FORMULAS[name]
    check_formula(name, **{p: RANGES[p] for p in formula.parameters if p not in formula.defaults})


# --- attacks

NEEDS: dict[str, dict[str, Any]] = {
    "attribute-inference": {"attributes": 3},
    "vulnerability": {"fpr": 0.05, "top": 0.05},
    "lira-queries": {"scale": 0.1, "by": "flip"},
    "sampling": {"by": "flip", "scale": [0.05, 0.1], "queries": 20, "fitting_queries": 10},
}
ANY_ATTACK: TypeAdapter[Any] = TypeAdapter(ATTACKS.union())


@pytest.mark.parametrize("name", ATTACKS.names())
def test_attacks(name: str) -> None:
    check_attack(ANY_ATTACK.validate_python({"kind": name, **NEEDS.get(name, {})}))


class Leaky(MembershipAttack):
    """Made-up attacks, each with a fault."""

    kind: Literal["leaky"] = "leaky"
    fault: str = ""
    summary: ClassVar[str] = "made up"

    def answer(self, members: Outputs, nonmembers: Outputs, fitted: Fitted) -> Answers:
        inside, outside = members.losses(), nonmembers.losses()
        if self.fault == "draws":
            inside = np.random.default_rng().normal(size=len(inside))
        return Answers(-inside, -outside, inside < 1, outside < 1)

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        kept = super().measure(target, fitted)
        if self.fault == "invents":
            return AttackResult(kept.arrays, {**kept.metrics, "invented": Value(0.0, 0.0, 1)})
        if self.fault == "forgets":
            return AttackResult(kept.arrays, {"advantage": kept.metrics["advantage"]})
        return kept

    def fit(self, pool: Pool, seed: int) -> Fitted:
        return {"learnt": ["a list"]} if self.fault == "keeps a list" else {}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("draws", "measured twice, "),
        ("invents", "gives 'invented', which neither its `measures` nor a @metric declares"),
        ("forgets", "`measures` names .*, which measure\\(\\) does not give"),
        ("keeps a list", "learns 'learnt', which is no array and cannot be stored"),
    ],
)
def test_a_broken_attack_is_told(fault: str, says: str) -> None:
    with pytest.raises(NonConformance, match=says):
        check_attack(Leaky(fault=fault))


class Learning(MembershipAttack):
    """Made-up attacks that learn from more than they say that they need."""

    kind: Literal["learning"] = "learning"
    asks: str
    pool: str | None = "shadows"
    summary: ClassVar[str] = "made up"

    @property
    def shadow_pool(self) -> str | None:
        return self.pool

    def fit(self, pool: Pool, seed: int) -> Fitted:
        if self.asks == "masks":
            return {"masks": pool.masks}
        return {"features": np.concatenate([side for model in pool for side in model.features()])}

    def answer(self, members: Outputs, nonmembers: Outputs, fitted: Fitted) -> Answers:
        inside, outside = members.losses(), nonmembers.losses()
        return Answers(-inside, -outside, inside < 1, outside < 1)


class LearningOfHalves(Learning):
    kind: Literal["learning-of-halves"] = "learning-of-halves"  # type: ignore[assignment]
    needs_halves: ClassVar[bool] = True


@pytest.mark.parametrize(
    ("attack", "says"),
    [
        (Learning(asks="masks"), "its pool 'shadows' has models on .* set needs_halves = True"),
        (Learning(asks="features"), "it asks for features; set reads_features = True"),
        (Learning(asks="features", pool=None), "its pool None has no shadow models; name a pool in the .* shadow_pool"),
        (LearningOfHalves(asks="features"), "the candidate records are not known"),
    ],
)
def test_an_attack_that_learns_from_what_it_does_not_declare_is_told(attack: Learning, says: str) -> None:
    with pytest.raises(NonConformance, match=f"learning.*: fit is refused what it asks for: .*{says}"):
        check_attack(attack)


def test_an_attack_that_declares_what_it_learns_from_keeps_the_contract() -> None:
    class Declares(LearningOfHalves):
        kind: Literal["declares"] = "declares"  # type: ignore[assignment]
        reads_features: ClassVar[bool] = True

    check_attack(LearningOfHalves(asks="masks"))
    check_attack(Declares(asks="features"))


def test_an_attack_of_a_former_form_is_told() -> None:
    class Former(Leaky):
        kind: Literal["former"] = "former"  # type: ignore[assignment]

        def fit(self, shadows: Any, n_classes: int, seed: int) -> Fitted:  # type: ignore[override]
            return {}

    with pytest.raises(NonConformance, match=r"former: what an attack learns is fit\(pool, seed\)"):
        check_attack(Former())


def test_an_attack_on_labels_that_asks_for_posteriors_is_told() -> None:
    class Asks(Leaky):
        kind: Literal["asks"] = "asks"  # type: ignore[assignment]
        access: ClassVar[Literal["posteriors", "labels"]] = "labels"

    with pytest.raises(HarnessError, match="answers labels alone"):
        check_attack(Asks())


# --- defences and data sets


@pytest.mark.parametrize("name", DEFENCES.names())
def test_defences(name: str) -> None:
    check_defence(TypeAdapter(DEFENCES.union()).validate_python({"kind": name}))


def test_generators() -> None:
    check_generator(Mixture())


def test_a_generator_that_draws_past_its_seed_is_told() -> None:
    class Loose(Mixture):
        def sample(self, component: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
            return super().sample(component, np.random.default_rng())

    with pytest.raises(NonConformance, match="the same seed draws other records; draw from `rng` alone"):
        check_generator(Loose())


def test_a_defence_that_lets_posteriors_through_is_told() -> None:
    class Open(Argmax):
        def wrap(self, oracle: Oracle, seed: int) -> Oracle:
            return oracle

    with pytest.raises(NonConformance, match="says that it answers labels, and its oracle answers posteriors"):
        check_defence(Open())


# --- formulas that break the contract


@pytest.mark.parametrize(
    ("function", "bounds", "says"),
    [
        (lambda epsilon: 1 / (1 + epsilon), "advantage", "a bound does not fall as epsilon grows"),
        (lambda epsilon: math.sqrt(epsilon), None, "cannot be computed in ball arithmetic"),
        (lambda epsilon: epsilon / (epsilon - epsilon), None, "cannot be computed at"),
    ],
)
def test_a_broken_formula_is_told(function: Any, bounds: Any, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up = Formula("made-up", function, ("epsilon",), {}, "a formula", "nowhere", exact=True, bounds=bounds)
    monkeypatch.setitem(FORMULAS, "made-up", made_up)
    with pytest.raises(NonConformance, match=says):
        check_formula("made-up", epsilon=(0.1, 5.0))
    with pytest.raises(NonConformance, match="made-up: give a range of epsilon"):
        check_formula("made-up")


# --- kinds of claims

ONE, TWO = ("iid", "t", "advantage"), ("cluster", "t", "advantage")


def flat(one: float, two: float = 0.0) -> pd.DataFrame:
    """Two arms, each with one value at every epsilon."""
    return results({ONE: dict.fromkeys((1.0, 10.0, 100.0), one), TWO: dict.fromkeys((1.0, 10.0, 100.0), two)})


def curve(*values: float) -> pd.DataFrame:
    """An arm's values at epsilon 1, 10, 100, ..."""
    return results({ONE: {10.0**i: value for i, value in enumerate(values)}})


OF = {"metric": "advantage", "arm": "iid", "attack": "t"}
KINDS: dict[str, tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]] = {
    "compare": (
        {"left": OF, "relation": "<", "right": {"arm": "cluster"}, "margin": -0.01},
        flat(0.1, 0.3),
        flat(0.3, 0.1),
    ),
    "close": ({"left": OF, "right": {"value": 0.2}, "tolerance": 0.05}, flat(0.21), flat(0.5)),
    "monotone": ({"of": OF, "along": "epsilon", "direction": "rising"}, curve(0.1, 0.2, 0.4), curve(0.4, 0.2, 0.1)),
    "concave": ({"of": OF, "along": "epsilon", "scale": "log"}, curve(0.1, 0.4, 0.5), curve(0.1, 0.2, 0.6)),
    "interior-peak": ({"of": OF, "along": "epsilon"}, curve(0.1, 0.5, 0.2), curve(0.5, 0.1, 0.4)),
    "order": ({"of": [OF, {**OF, "arm": "cluster"}], "direction": "rising"}, flat(0.1, 0.3), flat(0.3, 0.1)),
    "arg-max": ({"of": OF, "along": "epsilon", "is": 10.0}, curve(0.1, 0.5, 0.2), curve(0.5, 0.1, 0.4)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_claims(kind: str) -> None:
    expect, holds, fails = KINDS[kind]
    check_claim_kind(PARSE({"kind": kind, **expect}), holds=holds, fails=fails)


class Faulty(Compare):
    """Comparisons, each with a fault."""

    fault: str = ""

    def operands(self) -> Sequence[MetricOperand]:
        return [] if self.fault == "names nothing" else super().operands()

    def contrasts(self, table: Measurements) -> Compared:
        compared = super().contrasts(table)
        assert isinstance(compared, Comparisons)
        if self.fault == "always holds":
            return replace(compared, of=tuple(replace(one, right=Number(value=-9.0)) for one in compared.of))
        if self.fault == "other arms":
            stranger = MetricSeries("advantage", "cluster", "t")
            return replace(compared, of=tuple(replace(one, right=stranger, line=0.2) for one in compared.of))
        if self.fault == "narrows":
            return replace(compared, of=tuple(replace(one, doubled=1.0) for one in compared.of))
        return compared

    def doubled_tolerance(self) -> str | None:
        return "a margin of 1" if self.fault in ("narrows", "says so") else None


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("names nothing", r"operands\(\) gives nothing"),
        ("always holds", "judged on the table `fails` it is reproduced, and should be violated"),
        ("other arms", r"measured on arms that operands\(\) does not give: cluster"),
        ("narrows", "with a margin of 1 it is violated where it was reproduced before"),
        ("says so", r"doubled_tolerance\(\) gives words, and its contrasts no line with a doubled tolerance"),
    ],
)
def test_a_broken_kind_of_claim_is_told(fault: str, says: str) -> None:
    claim = Faulty.model_validate({"left": OF, "relation": ">", "right": {"value": 0.2}, "fault": fault})
    with pytest.raises(NonConformance, match=says):
        check_claim_kind(claim, holds=flat(0.5), fails=flat(0.1))
