"""What tables hold is not done again, unless a claim is about a metric that they lack."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.execution.planner import make_plan
from harness.execution.reuse import MeasurementCache, pieces_to_run
from harness.metrics import Value
from harness.paths import Project
from harness.spec.load import load_specs
from tests.conftest import SMALL_SPEC

ATTRIBUTE = (
    "  attribute: {kind: attribute-inference, attributes: 2, seed: 1, rule: smallest-loss, candidates: quantiles}\n"
)


@pytest.mark.parametrize(("attack", "metric"), [("logloss", "auc"), ("attribute", "value_advantage")])
def test_an_attack_without_a_metric_that_is_asked_for_is_run_again(
    attack: str, metric: str, make_project: Callable[..., Project]
) -> None:
    project = make_project(SMALL_SPEC.replace("claims:\n", ATTRIBUTE + "claims:\n"))
    spec = load_specs(project, [])[0].spec
    plan = make_plan(project, spec)
    known = MeasurementCache()
    for cell in plan.cells:
        for piece in (cell.split, cell.model):
            known.metrics[piece.work] = {"accuracy_test": Value(0.5, 0.0, 1)}
        for (name, _), piece in cell.evaluations.items():
            known.metrics[piece.work] = {m: Value(0.5, 0.0, 1) for m in spec.attacks[name].measures}
    assert pieces_to_run(plan, spec, known, {metric}) == []
    lacking = {piece for cell in plan.cells for (name, _), piece in cell.evaluations.items() if name == attack}
    for piece in lacking:
        del known.metrics[piece.work][metric]
    assert pieces_to_run(plan, spec, known) == []
    assert {piece for piece in pieces_to_run(plan, spec, known, {metric}) if piece.kind == "evaluate"} == lacking
