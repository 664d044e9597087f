"""Printed tables beside measured ones, and the members exposed in one run and in several."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.claims.verdict import Verdict
from harness.coordinates import place
from harness.errors import HarnessError
from harness.execution.table import read_table
from harness.metrics.exposure import EXPOSURE_LEVELS
from harness.paths import Project
from harness.report.lines import printed_values
from harness.report.noise_table import compare_noises
from harness.report.tables import exposed_rows, formula_tables, printed_tables
from harness.spec.load import load_spec, load_specs
from harness.spec.profile import Profile, scale
from harness.verdicts.check import judge_spec
from tests.conftest import REPO
from tests.spec.test_soup import TABLE

SPEC = load_spec(Project(REPO), REPO / "tests" / "spec" / "soup.yaml")


def test_a_printed_table_stands_beside_what_was_measured() -> None:
    scaled = scale(SPEC.spec, "full", Profile())
    result = printed_tables(scaled.spec, judge_spec(scaled, SPEC.sha256, TABLE))
    assert [(t["title"], t["groups"], t["columns"]) for t in result] == [
        ("here", [{"arm": "iid", "span": 1}], ["advantage"])
    ]
    rows = result[0]["rows"]
    assert [row["epsilon"] for row in rows] == [1, 10, float("inf")]
    assert [row["cells"][0]["printed"] for row in rows] == ["0.10", "0.20", "0.30"]
    chosen = TABLE[(TABLE.arm == "iid") & (TABLE.attack == "logloss") & (TABLE.metric == "advantage")]
    mean = chosen[chosen.epsilon == 10.0]["value"].mean()
    assert rows[1]["cells"][0]["measured"] == f"{mean:.2f}"
    assert rows[1]["cells"][0]["difference"] == f"{mean - 0.2:+.2f}"
    assert result[0]["within"] == sum(row["cells"][0]["within"] for row in rows) == 3


def test_a_printed_table_of_which_a_profile_leaves_epsilons_out_is_not_judged() -> None:
    """Nothing is known of the entries that are left out, and the claim is of all of them together."""
    scaled = scale(SPEC.spec, "few", Profile(epsilons=(10.0, 100.0)))
    table = TABLE[TABLE["epsilon"].isin((10.0, 100.0))].copy()
    verdicts = judge_spec(scaled, SPEC.sha256, table)
    assert {v.verdict for v in verdicts if "the profile leaves out epsilon" in v.reason} == {"not run"}
    assert printed_tables(scaled.spec, verdicts) == []


def test_a_table_of_formulas_shows_the_verdict_on_each_entry() -> None:
    loaded = load_spec(Project(REPO), REPO / "specs/jayaraman2019/theory.yaml")
    judged = json.loads((REPO / "reports/paper/jayaraman2019/theory/verdicts.json").read_text())
    verdicts = [Verdict.model_validate(v) for v in judged["verdicts"]]
    result = formula_tables(loaded.spec, verdicts)
    assert [t["title"] for t in result] == ["Table 1"]
    cells = {row["name"]: [cell["verdict"] for cell in row["cells"]] for row in result[0]["rows"]}
    assert cells["Composition of k ε-DP mechanisms"] == ["reproduced"] * 4
    assert cells["Grows sublinearly in k (text)"] == ["reproduced"] * 4
    mixed = [v.model_copy(update={"parts": ("violated", *v.parts[1:])}) for v in verdicts]
    cells = {row["name"]: [c["verdict"] for c in row["cells"]] for row in formula_tables(loaded.spec, mixed)[0]["rows"]}
    # The first part of the conversions is about zCDP alone, the first of the compositions about the first column.
    assert cells["Convert from ε-DP"] == [None, "reproduced", "violated", "reproduced"]
    assert cells["Composition of k ε-DP mechanisms"][:2] == ["violated", "reproduced"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("[{text: a}]", "row 'x' has 1 entries, there are 2 columns"),
        ("[{text: a, claim: nope}, {text: b}]", "layout row 'x': unknown claim 'nope'"),
        ("[{text: a, claim: h, parts: [2]}, {text: b}]", "the claim 'h' has 1 parts"),
    ],
)
def test_a_layout_that_names_what_is_not_there_is_one_line(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "soup.yaml"
    text = (REPO / "tests" / "spec" / "soup.yaml").read_text()
    path.write_text(text + f"layout:\n  - {{title: t, columns: [one, two], rows: {{x: {row}}}}}\n")
    with pytest.raises(HarnessError, match=message):
        load_spec(Project(REPO), path)


def test_numbers_of_the_paper_are_drawn_where_a_claim_of_the_catalogue_declares_them() -> None:
    spec = load_spec(Project(REPO), REPO / "specs/jayaraman2019/lr-purchase100.yaml").spec
    result = printed_values(spec)
    loss, at = ("naive", "", "accuracy_loss_nonmembers"), lambda epsilon: place({"epsilon": epsilon})
    assert result[loss, at(500.0)] == 0.32  # Table 6
    assert result[loss, at(1000.0)] == 0.12
    assert result[("rdp", "logloss", "exposed_in_every_run_at_5pct_fpr"), at(1000.0)] == 566
    assert not any(metric.startswith("tpr_at") for (_, _, metric), _ in result)  # counts of 10,000, not rates


def test_members_exposed_in_one_run_in_some_and_in_every_one() -> None:
    rows = [("a", "x", f"tpr_at_{level}_fpr", 1.0, r, 0.1) for level in EXPOSURE_LEVELS for r in range(3)]
    rows += [
        ("a", "x", f"exposed_in_{how}_run_at_{level}_fpr", 1.0, 0, value)
        for level in EXPOSURE_LEVELS
        for how, value in (("every", 4.0), ("some", 30.0))
    ]
    rows += [("a", "", "count_members", 1.0, r, 100.0) for r in range(3)]
    table = pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value"])
    table["n"] = np.where(table["metric"].str.startswith("exposed"), 3 * 100, 100)  # of three runs of 100 members
    result = exposed_rows(table)
    assert [row["rate"] for row in result] == ["1%", "2%", "5%"]
    assert (result[0]["one"], result[0]["some"], result[0]["every"], result[0]["runs"]) == (10.0, 30, 4, 3)
    assert abs(result[0]["guess"] - 0.1) < 1e-9  # 100 members, each exposed with chance 0.1 in each of three runs
    assert exposed_rows(table[table["metric"] == "count_members"]) == []


def test_released_noise_stands_beside_calibrated_noise_with_what_either_is_worth() -> None:
    """Of jayaraman2019's softmax regression on CIFAR-100: noises, epsilons by both accountants, advantages."""
    folder = REPO / "reports/sequential/jayaraman2019/lr-cifar100"
    own, other = (
        read_table(folder / name / "measurements.parquet") for name in (".", "readings/noise-multipliers-null")
    )
    (loaded,) = load_specs(Project(REPO), ["jayaraman2019/lr-cifar100"])
    experiment = loaded.spec.own_experiment
    assert experiment is not None
    noises = compare_noises(experiment, own, other)
    assert noises is not None
    assert (noises.name, noises.maker, noises.accountant) == ("released-2019", "rdp-2019, for 10,000 records", "rdp")
    at_one = next(row for row in noises.rows if row.epsilon == 1)
    assert (at_one.declared, at_one.by_maker, at_one.here) == ("7", "1", "0.811")
    assert float(at_one.calibrated) == pytest.approx(5.79, abs=0.01)
    column = noises.columns.index("RDP, attribute-inference attack")
    declared, calibrated = at_one.cells[column]
    chosen = own[(own.arm == "rdp") & (own.attack == "attribute") & (own.metric == "advantage")]
    assert float(declared.split(" ±")[0]) == pytest.approx(chosen[chosen.epsilon == 1]["value"].mean(), abs=0.02)
    assert calibrated == ""  # the attributes of the released code were not attacked with that noise
    assert noises.judged_by == "declared"
    without = experiment.model_copy(update={"arms": {"naive": experiment.arms["naive"]}})
    assert compare_noises(without, own, other) is None
