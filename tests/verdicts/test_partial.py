"""What is said in numbers of a claim that is settled in part, and of one that is open."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.claims.allocation import repeats_of
from harness.claims.judgement import Judgement
from harness.claims.results import PartResult
from harness.claims.verdict import Verdict
from harness.claims.words import Word
from harness.coordinates import Cell, place
from harness.paths import Project
from harness.spec.load import Loaded, load_spec
from harness.spec.profile import Profile, scale
from harness.verdicts import partial
from harness.verdicts.check import judge_spec
from harness.verdicts.partial import parts_text, seconds_a_model, tally_points, would_decide
from tests.claims.judged import PARSE, point_result
from tests.conftest import SMALL_SPEC, run_cli

TWO = SMALL_SPEC.replace('attack: logloss}, relation: "<="', 'attack: [logloss, other]}, relation: "<="').replace(
    "  logloss: {kind: logloss}\n", "  logloss: {kind: logloss}\n  other: {kind: logloss}\n"
)
PRINTED = """\
  - id: printed
    where: here
    statement: The table.
    expect: {kind: table, tolerance: 0.05, rows: [{of: {metric: advantage, arm: iid, attack: logloss}, values: {1: 0.1, 10: 0.1}}]}
"""


@pytest.fixture
def loaded(make_project: Any) -> Loaded:
    project: Project = make_project(TWO + PRINTED)
    return load_spec(project, project.root / "specs" / "own" / "cancer.yaml")


def rows(values: dict[tuple[str, float, str], np.ndarray]) -> pd.DataFrame:
    found = [
        {"arm": arm, "attack": attack, "metric": "advantage", "epsilon": e, "repeat": i, "value": v, "stderr": 0.001}
        for (arm, e, attack), series in values.items()
        for i, v in enumerate(series)
    ]
    counts = [
        {"arm": "iid", "attack": "", "metric": f"count_{k}", "epsilon": 1.0, "repeat": 0, "value": v, "stderr": 0.0}
        for k, v in (("rows", 569), ("members", 120))
    ]
    return pd.DataFrame(found + counts).assign(noise_multiplier=1.0)


def judged(loaded: Loaded, table: pd.DataFrame, **profile: Any) -> dict[str, Verdict]:
    scaled = scale(loaded.spec, "full", Profile(**profile))
    return {v.id.split("#")[1]: v for v in judge_spec(scaled, "0" * 64, table)}


def around(mean: float, n: int = 12, spread: float = 0.01) -> np.ndarray:
    return mean + spread * (-1.0) ** np.arange(n)


def test_a_part_that_is_not_run_leaves_the_other_half(loaded: Loaded) -> None:
    values = {(arm, e, "logloss"): around(0.1) for arm in ("iid", "size") for e in (1.0, 10.0)}
    found = judged(loaded, rows(values), attacks=("logloss",))
    held = found["iid-held"]
    assert held.verdict == "not run"
    assert held.parts == ("reproduced", "not run")
    assert held.tally == "2 of 2 points hold"
    assert parts_text(held.parts) == "1 of 2 parts reproduced, 1 not run"
    assert found["printed"].tally == ""  # reproduced whole


def test_entries_of_a_table_are_counted(loaded: Loaded) -> None:
    every = {(arm, e, a): around(0.1, 20) for arm in ("iid", "size") for e in (1.0, 10.0) for a in ("logloss", "other")}
    outside = judged(loaded, rows({**every, ("iid", 10.0, "logloss"): around(0.3, 20)}))["printed"]
    assert outside.verdict == "violated"
    assert outside.tally == "1 of 2 entries within the tolerance, 1 outside"
    open_ = judged(loaded, rows({**every, ("iid", 10.0, "logloss"): around(0.14, 20, 0.05)}))["printed"]
    assert open_.verdict == "inconclusive"
    assert open_.tally == "1 of 2 entries within the tolerance, 1 open"
    # Fewer repeats than decide anything settle no entry, however clear they look.
    few = judged(loaded, rows({k: v[:5] for k, v in every.items()}))["printed"]
    assert few.tally == "0 of 2 entries within the tolerance, 2 open"


def test_an_open_claim_says_what_would_decide_it_and_at_what_cost(loaded: Loaded) -> None:
    near = {(arm, e, a): around(0.1) for arm in ("iid", "size") for e in (1.0, 10.0) for a in ("logloss", "other")}
    table = rows({**near, ("iid", 10.0, "logloss"): around(0.135, spread=0.03)})
    table.attrs = {"design": "sequential", "core_seconds": {"train": 90.0, "evaluate": 6.0}}
    found = judged(loaded, table, design="sequential")["printed"]
    assert found.verdict == "inconclusive"
    models, _, rest = found.would_decide.removeprefix("about ").partition(" more models, ")
    assert 5 < int(models) < 100
    seconds = int(models) * 96 / 48  # of 4 cells of 12 repeats
    past = "that is past the limit of repeats or of models"  # 12 of a spec that has two
    assert rest == f"{seconds:.0f} seconds on one core, if effects stay as they are; {past}"
    assert found.numbers.design == "sequential"
    assert judged(loaded, table, design="sequential")["counts"].would_decide == ""
    on_it = rows({**near, ("iid", 10.0, "logloss"): around(0.15)})
    on_it.attrs = dict(table.attrs)
    never = judged(loaded, on_it, design="sequential")["printed"]
    assert "too close to its margin" in never.would_decide


def test_measurements_name_the_code_that_made_them(loaded: Loaded) -> None:
    table = rows({(arm, e, "logloss"): around(0.1) for arm in ("iid", "size") for e in (1.0, 10.0)})
    table.attrs = {"commits": {"b" * 12: "1" * 40, "a" * 12: "2" * 40 + "-dirty"}}
    found = judged(loaded, table, attacks=("logloss",))["counts"]
    assert found.provenance.measured_by == (
        f"code {'a' * 12} (commit {'2' * 12})",
        f"code {'b' * 12} (commit {'1' * 12})",
    )


def test_parts_in_words() -> None:
    assert parts_text([Word.REPRODUCED]) == parts_text([Word.VIOLATED, Word.VIOLATED]) == ""
    assert parts_text([Word.NOT_RUN, Word.REPRODUCED]) == "1 of 2 parts reproduced, 1 not run"
    assert parts_text([Word.VIOLATED, Word.INCONCLUSIVE, Word.VIOLATED]) == "2 of 3 parts violated, 1 inconclusive"
    assert parts_text([Word.AGREES, Word.AGREES, Word.DIFFERS]) == "2 of 3 parts agree, 1 differs"


COMPARE = PARSE({"kind": "compare", "left": {"metric": "advantage"}, "relation": ">", "right": {"value": 0.0}})
TABLE = PARSE(
    {"kind": "table", "tolerance": 0.1, "rows": [{"of": {"metric": "advantage", "arm": "a"}, "values": {1: 0.5}}]}
)


def part_of(outcome: Any, points: list[tuple[float, float, int]], **more: Any) -> PartResult:
    """A part whose points have these p-values, for and against, and repeats."""
    looks = tuple(point_result(s, o, repeats=n) for s, o, n in points)
    return PartResult(outcome, looks, **more)


def text_of(parts: list[Any], by_t_test: list[PartResult], bounded: list[PartResult] | None = None) -> str:
    nothing = [replace(part, point_results=()) for part in by_t_test]
    return tally_points(
        Judgement(by_t_test, by_t_test, nothing if bounded is None else bounded, None, (0, 0), None), parts, 0.05
    )


HOLDS, OPEN, FAILS = (0.001, 0.9, 9), (0.5, 0.5, 9), (0.9, 0.001, 9)


def test_points_are_counted_by_what_is_known_of_them() -> None:
    assert text_of([COMPARE], [part_of("inconclusive", [HOLDS, OPEN])]) == "1 of 2 points hold, 1 open"
    assert text_of([COMPARE], [part_of("violated", [HOLDS, HOLDS, FAILS])]) == "2 of 3 points hold, 1 fail"
    assert text_of([COMPARE], [part_of("inconclusive", [FAILS, OPEN, OPEN])]) == "0 of 3 points hold, 1 fail, 2 open"
    assert text_of([COMPARE], [part_of("inconclusive", [OPEN])]) == ""
    assert text_of([COMPARE], [part_of("reproduced", [HOLDS, HOLDS])]) == ""
    two = [part_of("reproduced", [HOLDS]), part_of("inconclusive", [OPEN])]
    assert text_of([COMPARE, COMPARE], two) == "1 of 2 points hold, 1 open"


def test_a_point_is_settled_at_the_level_that_its_claim_asks_for() -> None:
    """Half of 5% to hold, and to fail that over the points; over the parts too, where there are several."""
    at = [(0.025, 0.9, 6), (0.9, 0.0125, 6)]
    past = [(0.0251, 0.9, 6), (0.9, 0.0126, 6)]
    assert text_of([COMPARE], [part_of("violated", at)]) == "1 of 2 points hold, 1 fail"
    assert text_of([COMPARE], [part_of("inconclusive", past)]) == "0 of 2 points hold, 2 open"
    assert text_of([COMPARE] * 2, [part_of("violated", at), part_of("not run", [])]) == "1 of 2 points hold, 1 open"


def test_a_point_with_too_few_repeats_is_settled_by_bets_alone() -> None:
    few = [(0.001, 0.9, 5), (0.001, 0.9, 1)]
    shape, free = part_of("inconclusive", few), part_of("inconclusive", [*few[1:], OPEN])
    assert text_of([COMPARE], [shape]) == "0 of 2 points hold, 2 open"
    assert text_of([COMPARE], [shape], [free]) == "1 of 2 points hold, 1 open"
    assert text_of([COMPARE], [part_of("violated", [FAILS, OPEN])], [part_of("violated", [HOLDS, OPEN])]) == (
        "1 of 2 points hold, 1 open"
    )


def test_a_table_that_is_reproduced_says_how_many_of_its_entries_are() -> None:
    def share(outcome: str, points: list[tuple[float, float, int]], needed: int) -> PartResult:
        return part_of(outcome, points, quantifier="share", needed=needed)

    clear = (1e-6, 0.9, 9)
    assert text_of([TABLE], [share("reproduced", [clear] * 9 + [FAILS], 9)]) == (
        "9 of 10 entries within the tolerance, 1 outside"
    )
    assert text_of([TABLE], [share("reproduced", [clear] * 10, 9)]) == ""
    both = [share("reproduced", [clear] * 9 + [OPEN], 9), part_of("reproduced", [HOLDS])]
    assert text_of([TABLE, COMPARE], both) == "10 of 11 points hold, 1 open"


NEAR, OTHER, NEW = (("iid", place({"epsilon": epsilon})) for epsilon in (1.0, 10.0, 100.0))


@pytest.mark.parametrize(
    ("needs", "seconds", "said"),
    [
        ({NEAR: 2}, None, "about 1 more model under attack, all of them trained already, if effects stay as they are"),
        (
            {NEAR: 5, OTHER: 2, NEW: 3},
            None,
            "about 7 more models under attack, 5 of them to train, if effects stay as they are",
        ),
        (
            {NEAR: 101},
            0.89,
            "about 100 more models under attack, 98 of them to train, at most 89 seconds on one core, if effects stay as they are",
        ),
        (
            {NEAR: 101},
            0.9,
            "about 100 more models under attack, 98 of them to train, at most 2 minutes on one core, if effects stay as they are",
        ),
        (
            {NEAR: 101},
            53.99,
            "about 100 more models under attack, 98 of them to train, at most 90 minutes on one core, if effects stay as they are",
        ),
        (
            {NEAR: 101},
            54.0,
            "about 100 more models under attack, 98 of them to train, at most 1.5 hours on one core, if effects stay as they are",
        ),
        (
            {NEAR: 1001},
            54000.0,
            "about 1,000 more models under attack, 998 of them to train, at most 15000.0 hours on one core, if effects stay as they are",
        ),
        (
            {NEAR: 9999},
            None,
            "about 9,998 more models under attack, 9,996 of them to train, if effects stay as they are",
        ),
        ({NEAR: 10000, NEW: 2}, None, "more than 10,000 repeats of a cell: what is left lies too close to its margin"),
        ({OTHER: 5, NEW: 1}, 30.0, "about 2 more models, 60 seconds on one core, if effects stay as they are"),
        ({NEAR: 1}, None, "no number of repeats is likely to decide it: what is left lies too close to its margin"),
    ],
)
def test_what_more_models_would_cost(
    needs: dict[Cell, int], seconds: float | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of cells with one repeat under attack and three trained, with four of each, and of one with none yet."""
    asked: list[Any] = []

    def allocated(*arguments: Any, **named: Any) -> dict[Any, int]:
        asked.append((arguments[1:], named))
        return {(cell, "logloss"): target for cell, target in needs.items()}

    monkeypatch.setattr(partial, "allocate_repeats", allocated)
    there = {(NEAR, "logloss"): 1, (OTHER, "logloss"): 4, (NEAR, ""): 3}
    assert would_decide([], there, seconds, 0.05, 3) == said
    assert would_decide([], there, seconds, 0.05, 9) == said
    past = "; that is past the limit of repeats or of models" if said.startswith("about") else ""
    assert would_decide([], there, seconds, 0.05, 3, allowed=False) == said + past
    assert asked == [((0.05, repeats, 10_000), {"until_decision": True}) for repeats in (4, 9, 4)]


def test_a_model_costs_what_its_table_took_over_its_models() -> None:
    table = rows({(arm, e, "logloss"): around(0.1) for arm in ("iid", "size") for e in (1.0, 10.0)})
    assert seconds_a_model(table, ["epsilon"]) is None
    table.attrs = {"core_seconds": {"train": 90.0, "evaluate": 6.0}}
    assert seconds_a_model(table, ["epsilon"]) == 2.0
    empty = table.iloc[:0]
    empty.attrs = table.attrs
    assert seconds_a_model(empty, ["epsilon"]) is None


def test_repeats_are_counted_of_each_attack_and_of_models() -> None:
    """An attack that fewer models were asked by needs the others' models anew, too."""
    table = rows({("iid", 1.0, "logloss"): around(0.1), ("iid", 10.0, "logloss"): around(0.1)[:3]})
    model = table[table["epsilon"] == 1.0].assign(attack="", metric="accuracy_test")
    more = pd.concat([model, model.assign(repeat=model["repeat"] + 1000)])
    counted = repeats_of(pd.concat([table, more]), ["epsilon"])
    runs = len(around(0.1))
    assert counted == {(NEAR, "logloss"): runs, (OTHER, "logloss"): 3, (NEAR, ""): 2 * runs}


def test_a_table_without_a_new_attack_settles_the_half_that_it_can(make_project: Any) -> None:
    """The spec gains an attack after it was run: what was measured still counts, until an attack that it has changes."""
    project: Project = make_project(SMALL_SPEC)
    assert run_cli(project.root, "run", "--quiet").returncode == 0
    spec = project.root / "specs" / "own" / "cancer.yaml"
    spec.write_text(TWO)

    def held() -> dict[str, Any]:
        ran = run_cli(project.root, "judge", "--json")
        assert ran.returncode == 0, ran.stderr
        return {v["id"]: v for v in json.loads(ran.stdout)}["own/cancer#iid-held"]  # type: ignore[no-any-return]

    assert held()["reason"] == "part 2 of 2: the attack other is not measured yet"
    assert held()["tally"].startswith("1 of 2 parts inconclusive, 1 not run")  # two repeats decide nothing
    spec.write_text(TWO.replace("logloss: {kind: logloss}", "logloss: {kind: logloss, loss_of: float32-probabilities}"))
    assert "another version of the experiment" in held()["reason"]
    spec.write_text(TWO.replace("seed: 7", "seed: 8"))
    assert "another version of the experiment" in held()["reason"]
