"""What tables hold is not done again, unless a claim is about a metric that they lack."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.execution.planner import make_plan
from harness.execution.reuse import MeasurementCache, groups_of_runs, pieces_to_run, work_of_runs
from harness.execution.store import MissingResults, Store
from harness.execution.table import measurement_table
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


def test_a_stopped_round_leaves_out_what_runs_say_together_whose_answers_a_table_does_not_have(
    make_project: Callable[..., Project],
) -> None:
    """Their numbers are known of a table, what both expose together of neither: it is computed once both were run again."""
    text = SMALL_SPEC.replace("  repeats: 2", "  repeats: 2\n  resample: training")
    project = make_project(text)
    spec = load_specs(project, [])[0].spec
    plan, store, known = make_plan(project, spec), Store(project.store), MeasurementCache()
    measures_of_model = ("accuracy_train", "accuracy_test", "accuracy_nonmembers")
    for cell in plan.cells:
        for piece in (cell.split, cell.model, *cell.evaluations.values()):
            known.metrics[piece.work] = {name: Value(0.5, 0.0, 1) for name in ("advantage", *measures_of_model)}
            known.code[piece.work], known.cell[piece.work] = "code", "cell"
    groups = list(groups_of_runs(plan, spec))
    assert groups
    with pytest.raises(MissingResults, match="evaluate/"):
        measurement_table(plan, spec, store, known)
    table = measurement_table(plan, spec, store, known, unfinished=True)
    measured = table[(table["attack"] == "logloss") & (table["metric"] == "advantage")]
    assert len(measured) == len(plan.cells)
    cells, attack, where = groups[0]
    together = work_of_runs([cell.evaluations[attack, where] for cell in cells])
    known.metrics[together] = {"exposed_members": Value(3.0, 0.0, 2)}
    known.code[together], known.cell[together] = "code", "cell"
    again = measurement_table(plan, spec, store, known, unfinished=True)
    assert (again["metric"] == "exposed_members").sum() == 1
