"""The spec of a survey: it loads, means what the member sets say, and holds a level for all claims together."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.claims.kinds.compare import Compare
from harness.data.split import Sizes
from harness.data.splits.attribute import Attribute
from harness.extensions.survey.declaration import SurveyPlan, chance_margin, write_declaration
from harness.extensions.survey.member_sets import MemberSet
from harness.paths import Project
from harness.spec.load import load_spec
from harness.spec.model import Spec

PLAN = SurveyPlan(
    "a table", {"kind": "csv", "path": "t.csv", "label": "y"}, Sizes(members=20, test=5, nonmembers=20), 1000
)
ONE = MemberSet("site-a", "site = A", 300, {"kind": "attribute", "attribute": "site", "values": ["A"]})


def declared(folder: Path, sets: list[MemberSet], plan: SurveyPlan = PLAN) -> Spec:
    path = folder / "survey.yaml"
    path.write_text(write_declaration(plan, sets))
    return load_spec(Project(folder), path).spec


def test_its_level_divides_the_rate_over_all_claims(tmp_path: Path) -> None:
    spec = declared(tmp_path, [ONE])
    assert [claim.id for claim in spec.claims] == [
        *("random-bound", "random-direction", "random-blind"),
        *("site-a-bound", "site-a-direction", "site-a-split", "site-a-blind"),
    ]
    assert spec.level == pytest.approx(0.05 / (2 * 7), rel=0.01)


def test_twice_a_claims_margin_is_what_chance_may_explain(tmp_path: Path) -> None:
    spec = declared(tmp_path, [ONE])
    bound, direction, split, blind = spec.claims[3:]
    chance = chance_margin(300, 700, 0.05 / 14)
    for claim, sign in ((bound, 1), (split, 1), (blind, 1), (direction, -1)):
        part = claim.expect[0]
        assert isinstance(part, Compare)
        assert 2 * sign * part.margin == pytest.approx(chance, rel=0.01)
        assert part.doubled_tolerance() is not None, (
            "a margin that makes a claim easier is doubled before it is violated"
        )


def test_a_table_of_nothing_but_chance_stays_within_the_margin() -> None:
    """Rows drawn for shares of one half, the widest case: beyond the margin in `level` of all tables, to one side."""
    rng = np.random.default_rng(0)
    gap = rng.binomial(300, 0.5, 40_000) / 300 - rng.binomial(700, 0.5, 40_000) / 700
    for level in (0.01, 0.05):
        assert np.mean(gap > chance_margin(300, 700, level)) == pytest.approx(level, rel=0.15)


@settings(max_examples=100, deadline=None)
@given(value=st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Cn")), min_size=1, max_size=12))
def test_any_value_of_a_column_survives_yaml(value: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("declared")
    split = {"kind": "attribute", "attribute": value, "values": [value], "proxy_columns": [value + "x"]}
    spec = declared(folder, [MemberSet("one", f"{value} = {value}", 300, split)])
    assert spec.experiment is not None
    arm = spec.experiment.arms["one"]
    assert isinstance(arm.split, Attribute)
    assert (arm.split.attribute, arm.split.values, arm.split.proxy_columns) == (value, (value,), (value + "x",))
    assert arm.label == f"{value} = {value}"


@pytest.mark.parametrize("value", ["yes", "no", "null", "1e5", "0x1f", "1_000", ".inf", "~", "- a", "a: b", "#x", "'"])
def test_text_that_yaml_would_take_for_something_else_is_quoted(tmp_path: Path, value: str) -> None:
    spec = declared(
        tmp_path, [MemberSet("one", "one", 300, {"kind": "attribute", "attribute": value, "values": [value]})]
    )
    assert spec.experiment is not None
    split = spec.experiment.arms["one"].split
    assert isinstance(split, Attribute)
    assert split.values == (value,)


def test_without_noise_there_is_no_bound_to_claim(tmp_path: Path) -> None:
    plan = SurveyPlan(PLAN.title, PLAN.dataset, PLAN.sizes, PLAN.rows, (math.inf,))
    assert not [claim.id for claim in declared(tmp_path, [ONE], plan).claims if claim.id.endswith("-bound")]
