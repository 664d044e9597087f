"""What is said in numbers of a claim that is settled in part, and of one that is open."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.claims.verdict import Verdict
from harness.paths import Project
from harness.spec.load import Loaded, load_spec
from harness.spec.profile import Profile, scale
from harness.verdicts.check import check_spec
from harness.verdicts.partial import parts_text
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
    return {v.id.split("#")[1]: v for v in check_spec(scaled, "0" * 64, table)}


def around(mean: float, n: int = 12, spread: float = 0.01) -> np.ndarray:
    return mean + spread * (-1.0) ** np.arange(n)


def test_a_part_that_is_not_run_leaves_the_other_half(loaded: Loaded) -> None:
    values = {(arm, e, "logloss"): around(0.1) for arm in ("iid", "size") for e in (1.0, 10.0)}
    found = judged(loaded, rows(values), attacks=("logloss",))
    held = found["iid-held"]
    assert held.verdict == "not run"
    assert held.parts == ("reproduced", "not run")
    assert held.halves == "2 of 2 points hold"
    assert parts_text(held.parts) == "1 of 2 parts reproduced, 1 not run"
    assert found["printed"].halves == ""  # reproduced whole


def test_entries_of_a_table_are_counted(loaded: Loaded) -> None:
    every = {(arm, e, a): around(0.1) for arm in ("iid", "size") for e in (1.0, 10.0) for a in ("logloss", "other")}
    outside = judged(loaded, rows({**every, ("iid", 10.0, "logloss"): around(0.3)}))["printed"]
    assert outside.verdict == "violated"
    assert outside.halves == "1 of 2 entries within the tolerance, 1 outside"
    open_ = judged(loaded, rows({**every, ("iid", 10.0, "logloss"): around(0.14, spread=0.05)}))["printed"]
    assert open_.verdict == "inconclusive"
    assert open_.halves == "1 of 2 entries within the tolerance, 1 open"
    # Fewer repeats than decide anything settle no entry, however clear they look.
    few = judged(loaded, rows({k: v[:5] for k, v in every.items()}))["printed"]
    assert few.halves == "0 of 2 entries within the tolerance, 2 open"


def test_an_open_claim_says_what_would_decide_it_and_at_what_cost(loaded: Loaded) -> None:
    near = {(arm, e, a): around(0.1) for arm in ("iid", "size") for e in (1.0, 10.0) for a in ("logloss", "other")}
    table = rows({**near, ("iid", 10.0, "logloss"): around(0.135, spread=0.03)})
    table.attrs = {"design": "sequential", "core_seconds": {"train": 90.0, "evaluate": 6.0}}
    found = judged(loaded, table, design="sequential")["printed"]
    assert found.verdict == "inconclusive"
    models, _, rest = found.would_decide.removeprefix("about ").partition(" more models, ")
    assert 5 < int(models) < 100
    seconds = int(models) * 96 / 48  # of 4 cells of 12 repeats
    assert rest == f"{seconds:.0f} seconds on one core, if effects stay as they are"
    assert found.design == "sequential"
    assert judged(loaded, table, design="sequential")["counts"].would_decide == ""
    on_it = rows({**near, ("iid", 10.0, "logloss"): around(0.15)})
    on_it.attrs = dict(table.attrs)
    never = judged(loaded, on_it, design="sequential")["printed"]
    assert "too close to its margin" in never.would_decide


def test_measurements_name_the_code_that_made_them(loaded: Loaded) -> None:
    table = rows({(arm, e, "logloss"): around(0.1) for arm in ("iid", "size") for e in (1.0, 10.0)})
    table.attrs = {"commits": {"b" * 12: "1" * 40, "a" * 12: "2" * 40 + "-dirty"}}
    found = judged(loaded, table, attacks=("logloss",))["counts"]
    assert found.measured_by == (f"code {'a' * 12} (commit {'2' * 12})", f"code {'b' * 12} (commit {'1' * 12})")


def test_parts_in_words() -> None:
    assert parts_text(["reproduced"]) == parts_text(["violated", "violated"]) == ""
    assert parts_text(["not run", "reproduced"]) == "1 of 2 parts reproduced, 1 not run"
    assert parts_text(["violated", "inconclusive", "violated"]) == "2 of 3 parts violated, 1 inconclusive"


def test_a_table_without_a_new_attack_settles_the_half_that_it_can(make_project: Any) -> None:
    """The spec gains an attack after it was run: what was measured still counts, until an attack that it has changes."""
    project: Project = make_project(SMALL_SPEC)
    assert run_cli(project.root, "run", "--quiet").returncode == 0
    spec = project.root / "specs" / "own" / "cancer.yaml"
    spec.write_text(TWO)

    def held() -> dict[str, Any]:
        ran = run_cli(project.root, "check", "--json")
        assert ran.returncode == 0, ran.stderr
        return {v["id"]: v for v in json.loads(ran.stdout)}["own/cancer#iid-held"]  # type: ignore[no-any-return]

    assert held()["reason"] == "part 2 of 2: the attack other is not measured yet"
    assert held()["halves"].startswith("1 of 2 parts inconclusive, 1 not run")  # two repeats decide nothing
    spec.write_text(TWO.replace("logloss: {kind: logloss}", "logloss: {kind: logloss, loss_of: float32-probabilities}"))
    assert "another version of the experiment" in held()["reason"]
    spec.write_text(TWO.replace("seed: 7", "seed: 8"))
    assert "another version of the experiment" in held()["reason"]
