"""The surveys of Adult and COMPAS that the docs tell of follow from their committed measurements."""

from __future__ import annotations

import csv
import io
from functools import cache

import pytest

from harness.execution.table import read_measurements, read_table
from harness.extensions.survey.member_sets import MemberSet
from harness.extensions.survey.page import survey_csv
from harness.extensions.survey.ranking import ABOVE, BELOW, TURNED, WITHOUT, SetResult, rank
from harness.paths import Project
from harness.spec.load import load_spec
from harness.spec.profile import Profile, scale
from harness.verdicts.check import judge_spec
from tests.conftest import REPO

FOLDER = REPO / "docs" / "surveys"


@cache
def results_of(name: str) -> tuple[SetResult, ...]:
    """The ranking, judged again."""
    path = FOLDER / f"{name}-survey.parquet"
    spec = load_spec(Project(REPO), FOLDER / f"{name}-survey.yaml").spec
    table = read_measurements(path, read_table(path))
    assert spec.experiment is not None
    rows = {row["member_set"]: row["rows"] for row in committed(name)}
    arms = {key: arm.label or key for key, arm in spec.experiment.arms.items() if key != "random"}
    sets = [MemberSet(key, label, int(rows[label] or 0), {}) for key, label in arms.items()]
    return tuple(rank(sets, judge_spec(scale(spec, "own", Profile()), "", table)))


def committed(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((FOLDER / f"{name}-survey.csv").read_text())))


@pytest.mark.parametrize("name", ["adult", "compas"])
def test_the_ranking_follows_from_the_measurements(name: str) -> None:
    again = list(csv.DictReader(io.StringIO(survey_csv(results_of(name)))))
    was = committed(name)
    assert [(r["rank"], r["member_set"], r["epsilon"], r["discoveries"]) for r in again] == [
        (r["rank"], r["member_set"], r["epsilon"], r["discoveries"]) for r in was
    ]
    for new, old in zip(again, was, strict=True):
        for field in ("advantage", "low", "high", "blind"):
            assert float(new[field] or "nan") == pytest.approx(float(old[field] or "nan"), abs=1e-9, nan_ok=True)


def test_on_adult_the_loss_attack_is_turned_round_where_members_are_harder_to_predict() -> None:
    """Men earn more than 50K more often than women, which is harder to predict than that they do not."""
    by_set = {one.member_set.label: one for one in results_of("adult")}
    assert {BELOW, TURNED} <= {d.what for d in by_set["sex = Male"].discoveries}
    assert all(one.high < 0 for one in by_set["sex = Male"].advantages if one.repeats > 2)
    assert ABOVE in {d.what for d in by_set["sex = Female"].discoveries}
    married = by_set["marital-status = Married-civ-spouse"]
    assert married.advantages[0].high < 0, "without a discovery: its claim is open"
    assert married.discoveries[0].what == WITHOUT


def test_discoveries_are_of_splits_and_none_of_the_random_one() -> None:
    for name in ("adult", "compas"):
        by_set = {one.member_set.label: {d.what for d in one.discoveries} for one in results_of(name)}
        assert by_set["random split"] == set()
        assert any(what & {ABOVE, BELOW} for what in by_set.values())
