"""`harness store verify` and `gc` on a real store, with real damage and real leftovers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

import numpy as np

from harness.execution.planner import make_plan
from harness.execution.store import Result, Store
from harness.paths import Project
from harness.progress import Progress
from harness.spec.load import load_specs
from tests.conftest import run_cli, run_pieces

Make = Callable[..., Project]


def finished(make_project: Make) -> tuple[Project, Store, list[str]]:
    project = make_project()
    plan = make_plan(project, load_specs(project, [])[0].spec)
    run_pieces(project, plan.pieces(), 1, Progress(quiet=True), "test")
    return project, Store(project.store), sorted(p.key for p in plan.pieces())


def keys_of(store: Store) -> list[str]:
    return sorted(key for kind in store.kinds() if kind != "noise" for key, _ in store.files(kind))


def test_verify_finds_each_sort_of_damage_and_a_run_repairs_it(make_project: Make) -> None:
    project, store, keys = finished(make_project)
    whole = json.loads(run_cli(project.root, "store", "verify", "--json").stdout)
    assert whole["checked"] == len(keys) + 3  # and the calibration of each epsilon
    assert whole["faults"] == []
    cut, changed, moved = [key for key, _ in store.files("train")][:3]
    path = store.path("train", cut)
    path.write_bytes(path.read_bytes()[:-100])
    result = store.get("train", changed)
    store.put("train", changed, Result({**result.arrays, "w0": result.arrays["w0"] + np.float32(1e-3)}, result.meta))
    other = store.path("train", "ab" + moved[2:])
    other.parent.mkdir(exist_ok=True)
    other.write_bytes(store.path("train", moved).read_bytes())
    ran = run_cli(project.root, "store", "verify", "--quiet")
    assert ran.returncode == 1
    assert f"train/{cut}: cannot be read whole" in ran.stdout
    assert f"train/{changed}: its arrays are not those that were written" in ran.stdout
    assert f"train/ab{moved[2:]}: its description belongs to another name" in ran.stdout
    assert "3 damaged" in ran.stdout
    assert run_cli(project.root, "store", "verify", "--repair").returncode == 0
    assert run_cli(project.root, "store", "verify").returncode == 0
    assert len(keys_of(store)) == len(keys) - 2
    assert run_cli(project.root, "run", "-q").returncode == 0
    assert keys_of(store) == keys


def test_gc_removes_what_no_spec_names_and_nothing_else(make_project: Make) -> None:
    project, store, keys = finished(make_project)
    temporary = store.root / "train" / "ab" / ".abcd.npz.x.tmp"
    fresh = store.root / "train" / "ab" / ".efgh.npz.y.tmp"
    temporary.parent.mkdir(exist_ok=True)
    for path in (temporary, fresh):
        path.write_bytes(b"half")
    os.utime(temporary, (time.time() - 7200,) * 2)
    former = store.root / "index" / "train.parquet"  # which no version of today reads
    former.parent.mkdir(exist_ok=True)
    former.write_bytes(b"of an earlier version")
    spec = project.specs / "own" / "cancer.yaml"
    spec.write_text(spec.read_text().replace("epsilons: [1, 10, .inf]", "epsilons: [1, .inf]"))
    before = keys_of(store)
    dry = json.loads(run_cli(project.root, "store", "gc", "--json").stdout)
    assert (dry["unnamed"], dry["abandoned"], dry["deleted"]) == ({"train": 4, "evaluate": 8}, 2, False)
    assert keys_of(store) == before
    assert temporary.exists()
    ran = run_cli(project.root, "store", "gc", "--delete")
    assert ran.returncode == 0, ran.stderr
    assert "removed" in ran.stdout
    plan = make_plan(project, load_specs(project, [])[0].spec)
    assert keys_of(store) == sorted(p.key for p in plan.pieces())
    assert (temporary.exists(), fresh.exists(), former.exists()) == (False, True, False)
    assert len(keys) - len(keys_of(store)) == 12


def test_gc_keeps_cells_of_a_spec_named_on_the_command_line(make_project: Make) -> None:
    project, _, keys = finished(make_project)
    elsewhere = project.root / "mine.yaml"
    (project.specs / "own" / "cancer.yaml").rename(elsewhere)
    kept = json.loads(run_cli(project.root, "store", "gc", "--json", str(elsewhere)).stdout)
    assert (kept["unnamed"], kept["kept"]) == ({}, len(keys) + 3)


def test_gc_refuses_where_a_plan_cannot_be_made(make_project: Make) -> None:
    """Without the table nothing tells a spec's cells from waste, so nothing may go."""
    project, store, _ = finished(make_project)
    before = keys_of(store)
    (project.root / "cancer.csv").unlink()
    ran = run_cli(project.root, "store", "gc", "--delete")
    assert ran.returncode == 2
    assert "cannot be told from waste" in ran.stderr
    assert keys_of(store) == before
