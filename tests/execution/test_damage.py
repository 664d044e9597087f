"""A store whose files are damaged at random: every run ends with the numbers and the verdicts of a whole store."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from harness import tracking
from harness.errors import HarnessError
from harness.execution.executor import OutOfTime, WorkerPool, read_with_repair
from harness.execution.housekeeping import verify_results
from harness.execution.planner import make_plan
from harness.execution.store import Result, Store
from harness.execution.table import read_table
from harness.identity import KINDS, Kind
from harness.paths import Project
from harness.pipeline.compute import attack, train, worker_pool_of
from harness.pipeline.context import Context, Options
from harness.pipeline.judging import write_verdicts
from harness.progress import Progress
from harness.spec.load import load_specs
from harness.spec.profile import choose, load_params
from tests.conftest import PARAMS, REPO, SMALL_SPEC, run_cli, write_cancer

START, END = SMALL_SPEC.index("    size: {split"), SMALL_SPEC.index("    iid: {split")
SPEC = (SMALL_SPEC[:START] + SMALL_SPEC[END:]).replace(
    SMALL_SPEC[SMALL_SPEC.index("  - id: biased") : SMALL_SPEC.index("  - id: iid-held")], ""
).replace("epsilons: [1, 10, .inf]", "epsilons: [10, .inf]").replace(
    "  repeats: 2\n", "  repeats: 2\n  resample: training\n  pools: {shadows: {count: 1}}\n"
).replace(
    "  logloss: {kind: logloss}\n",
    "  logloss: {kind: logloss}\n  shokri: {kind: shokri, epochs: 1}\n"
    "  rehearsed: {kind: logloss, threshold_from: rehearsal}\n",
) + "figure:\n  - {title: ROC, curve: roc, attacks: [logloss, shokri], arms: [iid], at: {epsilon: .inf}}\n"
PROFILES = (
    f"flagship: kept\n{PARAMS}  until: {{design: sequential}}\n  kept: {{design: sequential, from_tables: true}}\n"
)
LINE = (
    r"(split|train|fit|evaluate|noise)/[0-9a-f]{64} is damaged "
    r"\((cannot be read whole|its description belongs to another name)\); it is computed anew where it is needed"
)
UNTRACKED = {"MLFLOW_TRACKING_URI": "sqlite:///unused.db"}
RESULTS = ("measurements.parquet", "verdicts.json")
Finished = tuple[Project, dict[str, dict[str, bytes]]]
Damage = Callable[[np.random.Generator, Path, Path], None]


def run(
    project: Project, profile: str, partial: bool = False, workers: int = 1, deadline: float | None = None
) -> dict[str, bytes]:
    """What `harness run` does before it writes a report. Returns the files that come of it."""
    name, chosen = choose(load_params(project), profile)
    context = Context(project, name, chosen, workers, Progress(quiet=True), options=Options(deadline=deadline))
    specs = [context.resolve(one) for one in load_specs(project, [])]
    with worker_pool_of(context) as worker_pool:
        if not (partial or context.is_sequential):
            train(context, specs, worker_pool)
        attack(context, specs, worker_pool, partial)
    for one in specs:
        write_verdicts(one)
    return {name: (specs[0].folder / name).read_bytes() for name in RESULTS}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """A project whose small spec was run in both designs, and what came of it by profile."""
    root = tmp_path_factory.mktemp("damage")
    (root / "specs" / "own").mkdir(parents=True)
    (root / "specs" / "own" / "cancer.yaml").write_text(SPEC)
    (root / "params.yaml").write_text(PROFILES)
    shutil.copy(REPO / "specs" / "papers.yaml", root / "specs")
    write_cancer(root / "cancer.csv")
    project = Project(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracking, "log_run", lambda *_: None)  # MLflow reads no store of results, and takes seconds
        yield project, {profile: run(project, profile) for profile in ("full", "until")}


def change_byte(rng: np.random.Generator, path: Path, other: Path) -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[rng.integers(len(data))] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(data))


def cut(rng: np.random.Generator, path: Path, other: Path) -> None:
    path.write_bytes(path.read_bytes()[: rng.integers(path.stat().st_size + 1)])


def swap(rng: np.random.Generator, path: Path, other: Path) -> None:
    """As a program that mixes up names does: the files keep their times."""
    between = path.with_suffix(".between")
    path.rename(between)
    other.rename(path)
    between.rename(other)


def overwrite(rng: np.random.Generator, path: Path, other: Path) -> None:
    shutil.copy2(other, path)


def remove(rng: np.random.Generator, path: Path, other: Path) -> None:
    path.unlink()


DAMAGES: tuple[tuple[Damage, float], ...] = (
    (change_byte, 0.5),
    (cut, 0.1),
    (swap, 0.15),
    (overwrite, 0.1),
    (remove, 0.15),
)


def damage(store: Path, rng: np.random.Generator, count: int, kinds: str = "*") -> None:
    """Damage files of a store, the index included, each at most once but where two are swapped."""
    files = sorted(p for p in store.rglob("*") if p.suffix in (".npz", ".index") and p.relative_to(store).match(kinds))
    for number in rng.choice(len(files), count, replace=False).tolist():
        others = [p for p in files if p.is_file() and p != files[number]]
        if files[number].is_file():
            kind = int(rng.choice(len(DAMAGES), p=[share for _, share in DAMAGES]))
            DAMAGES[kind][0](rng, files[number], others[rng.integers(len(others))])


def test_whatever_is_damaged_a_run_ends_with_the_right_numbers(
    finished: Finished, capfd: pytest.CaptureFixture[str]
) -> None:
    """300 damages, 25 a run: files change by a byte, are cut, swapped, overwritten by others or removed."""
    project, right = finished
    rng, lines = np.random.default_rng(20261129), []
    for number in range(12):
        damage(project.store, rng, 25)
        profile = ("full", "until")[number % 2]
        assert run(project, profile) == right[profile], number
        lines += capfd.readouterr().err.splitlines()
    assert len(lines) > 100
    assert all(re.fullmatch(rf"harness: warning: {LINE}", line) for line in lines), lines


def test_part_of_a_run_is_measured_again_from_its_models(finished: Finished) -> None:
    """`--partial`, which trains nothing."""
    project, right = finished
    store = Store(project.store)
    for kind, key, _ in verify_results(store, Progress(quiet=True)).faults:  # left by other tests, and needed by no run
        store.remove(kind, key)
    run(project, "full")
    models = {path: path.stat().st_mtime_ns for path in (project.store / "train").rglob("*.npz")}
    rng = np.random.default_rng(1)
    for kinds in ("evaluate/*/*", "[fn]*/*/*", "split/*/*"):
        damage(project.store, rng, 2, kinds)
        assert run(project, "full", partial=True) == right["full"]
    assert {path: path.stat().st_mtime_ns for path in (project.store / "train").rglob("*.npz")} == models


@pytest.mark.parametrize("profile", ["full", "until"])
def test_part_of_a_run_says_what_it_leaves_out_as_a_model_cannot_be_read(finished: Finished, profile: str) -> None:
    """In one line, also where nothing is left; a model that is not trained yet is no news, and none is touched."""
    project, right = finished
    run(project, profile)
    (loaded,) = load_specs(project, [])
    plan, store = make_plan(project, loaded.spec), Store(project.store)
    first, other = plan.cells[0], plan.cells[-1]
    assert (first.repeat, other.repeat, first.group == other.group) == (0, 1, False)
    says = (
        r"a model is damaged: train/\w{64}, its description belongs to another name; "
        r"[12] of 4 targets and [36] of 12 attacks are left out; `harness run .*own/cancer` trains them anew"
    )
    overwrite(np.random.default_rng(0), store.path("train", other.target.key), store.path("train", first.target.key))
    before = {path: path.stat().st_mtime_ns for path in (project.store / "train").rglob("*.npz")}
    ran = run_cli(project.root, "run", "--partial", "-q", "-p", profile, **UNTRACKED)
    assert ran.returncode == 0, ran.stderr
    said = [line for line in ran.stderr.splitlines() if "damaged" in line]
    assert len(said) == 1, ran.stderr
    assert re.fullmatch(rf"harness: warning: own/cancer: {says}", said[0])
    assert {path: path.stat().st_mtime_ns for path in (project.store / "train").rglob("*.npz")} == before
    cut(np.random.default_rng(0), store.path("train", first.target.key), first.target.key)
    none = run_cli(project.root, "run", "--partial", "-q", "-p", profile, **UNTRACKED)
    assert none.returncode == 2
    why = r"no repeat is trained completely yet \(2 models are damaged, first train/\w{64}, .*\); `harness run"
    assert re.fullmatch(rf"harness: own/cancer: {why} .*` goes on with it\n", none.stderr)
    assert run(project, profile) == right[profile]


def test_one_line_says_that_a_result_is_of_another_name_and_verdicts_stay(finished: Finished) -> None:
    project, right = finished
    run(project, "full")
    cells = read_table(project.reports / "full/own/cancer" / RESULTS[0]).query("attack == 'logloss'")["cell"]
    first, second = (Store(project.store).path("evaluate", key) for key in cells.unique()[:2])
    shutil.copy(second, first)
    ran = run_cli(project.root, "run", "-q", "-p", "full", **UNTRACKED)
    assert ran.returncode == 0, ran.stderr
    (line,) = [line for line in ran.stderr.splitlines() if "damaged" in line]
    assert re.fullmatch(rf"harness: warning: evaluate/{first.stem} {LINE.split(' ', 1)[1]}", line)
    assert (project.reports / "full/own/cancer/measurements.parquet").read_bytes() == right["full"][RESULTS[0]]
    assert (project.reports / "full/own/cancer/verdicts.json").read_bytes() == right["full"][RESULTS[1]]


@pytest.mark.parametrize("command", ["plan", "report", "explain own/cancer#counts", "status", "judge", "store gc"])
def test_what_only_reads_changes_nothing_in_a_damaged_store(finished: Finished, command: str) -> None:
    project, _ = finished
    run(project, "full")
    damage(project.store, np.random.default_rng(2), 25)
    before = {path: path.read_bytes() for path in project.store.rglob("*.npz") if path.parts[-3] != "noise"}
    ran = run_cli(project.root, *command.split(), **UNTRACKED)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    assert {path: path.read_bytes() for path in project.store.rglob("*.npz") if path.parts[-3] != "noise"} == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_counts_what_a_run_computes(finished: Finished, kind: Kind) -> None:
    """Also of results that nothing reads: the shadow models and fits of attacks that are there."""
    project, right = finished
    run(project, "full")
    pieces = make_plan(project, load_specs(project, [])[0].spec).pieces()
    *several, last = (Store(project.store).path(kind, piece.key) for piece in pieces if piece.kind == kind)
    damaged = list(zip((overwrite, cut, remove), several, strict=False))
    for apply, path in damaged:
        apply(np.random.default_rng(0), path, last)
    foreign = next(piece for piece in pieces if piece.kind != kind)
    shutil.copy2(Store(project.store).path(foreign.kind, foreign.key), last)
    before = {path: path.stat().st_mtime_ns for path in project.store.rglob("*.npz")}
    planned = run_cli(project.root, "plan", "--json", "-p", "full")
    (row,) = json.loads(planned.stdout)["specs"]
    assert run(project, "full") == right["full"]
    computed = [path for path in project.store.rglob("*.npz") if before.get(path) != path.stat().st_mtime_ns]
    assert row["missing"] == len(computed) == 1 + len(damaged)
    assert json.loads(run_cli(project.root, "plan", "--json", "-p", "full").stdout)["specs"][0]["missing"] == 0


@pytest.mark.parametrize("kind", ["split", "train", "evaluate"])
def test_a_disk_that_damages_what_is_written_is_one_line(
    finished: Finished, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, right = finished
    run(project, "full")
    put = Store.put

    def put_cut(store: Store, of: str, key: str, result: Result) -> None:
        put(store, of, key, result)
        if of == kind:
            path = store.path(of, key)
            data = bytearray(path.read_bytes())
            data[100] ^= 1
            path.write_bytes(bytes(data))

    for one in {kind, "evaluate"}:
        shutil.rmtree(project.store / one)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "put", put_cut)
        with pytest.raises(HarnessError, match=rf"{kind}/\w+: it was computed anew and cannot be read whole again"):
            run(project, "full")
    assert run(project, "full") == right["full"]


@pytest.mark.parametrize("missing", [1, 2], ids=["in the round that ends", "in the next one"])
def test_a_round_that_is_out_of_time_is_written_without_what_is_damaged(
    finished: Finished, missing: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where a run goes on from its table, the repeats of each cell up to the first that lacks a result."""
    project, _ = finished
    run(project, "until")
    table = read_table(project.reports / "until/own/cancer" / RESULTS[0]).query("attack == 'logloss'")
    shutil.rmtree(project.reports)  # no table has what the store lacks
    cells = table.drop_duplicates("cell").set_index(["epsilon", "repeat"])["cell"]
    lacking, foreign, other = (
        Store(project.store).path("evaluate", cells[at]) for at in ((10.0, missing), (math.inf, 1), (10.0, 0))
    )
    capfd.readouterr()
    lacking.unlink()
    shutil.copy(other, foreign)
    with pytest.raises(OutOfTime):
        run(project, "kept", deadline=0.0)
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"harness: warning: evaluate/{foreign.stem} is damaged")
    written = read_table(project.reports / "kept/own/cancer" / RESULTS[0]).query("attack == 'logloss'")
    repeats = written.groupby("epsilon")["repeat"].max()
    assert (repeats[10.0], repeats[math.inf]) == (missing - 1, 0)
    assert set(written["cell"]) <= set(table["cell"])


def test_after_ctrl_c_nothing_is_computed_anew(finished: Finished) -> None:
    project, _ = finished
    run(project, "full")
    path = next((project.store / "split").rglob("*.npz"))
    path.write_bytes(b"")
    with WorkerPool(project, 1, Progress(quiet=True)) as worker_pool:
        worker_pool.is_interrupted = True
        with pytest.raises(KeyboardInterrupt):
            read_with_repair(
                worker_pool,
                lambda: pytest.fail("asked for what to compute"),
                "test",
                lambda: Store(project.store).get("split", path.stem),
            )
    assert not path.exists()


@pytest.mark.integration
def test_workers_find_a_damaged_model_and_another_one_is_trained(finished: Finished) -> None:
    """By processes of their own, which are sent on with what they found."""
    project, right = finished
    run(project, "full")
    shutil.rmtree(project.store / "evaluate")
    rng = np.random.default_rng(3)
    for path in sorted((project.store / "train").rglob("*.npz"))[::2]:
        change_byte(rng, path, path)
    assert run(project, "full", workers=2) == right["full"]
