"""A real Dask cluster of worker processes: same measurements as in one process, whatever happens to a worker."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.execution.planner import make_plan
from harness.execution.store import MissingResults, Result, Store, parse_result
from harness.execution.table import measurement_table
from harness.extensions.cluster import dask_cluster as cluster
from harness.extensions.cluster.dask_cluster import check_scheduler
from harness.paths import Project
from harness.progress import Progress
from harness.spec.load import load_specs
from tests.conftest import SMALL_SPEC, run_cli, run_pieces

Make = Callable[..., Project]
TEXT = (
    SMALL_SPEC.replace("engine: tf-privacy", "engine: fast")
    .replace("  repeats: 2", "  pools: {shadows: {count: 2}}\n  repeats: 3")
    .replace("  logloss: {kind: logloss}", "  logloss: {kind: logloss}\n  shokri: {kind: shokri, epochs: 2}")
)


class Cluster:
    """A scheduler and workers, each a process of its own as `dask scheduler` and `dask worker` start them."""

    def __init__(self, directory: Path, workers: int = 2) -> None:
        self.directory = directory
        file = directory / "scheduler.json"
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        deadline = time.monotonic() + 60
        while not file.is_file() or "tcp://" not in file.read_text():
            assert time.monotonic() < deadline, (directory / "scheduler.log").read_text()
            time.sleep(0.1)
        self.address = file.read_text().split('"address": "')[1].split('"')[0]
        self.workers = [self.worker() for _ in range(workers)]

    def _start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("HARNESS_")}
        command = [sys.executable, "-m", "distributed.cli.dask_" + kind, *arguments]
        with (self.directory / f"{kind}.log").open("ab") as log:
            process = subprocess.Popen(command, cwd=self.directory, stdout=log, stderr=log, env=environment)
        self.processes = [*getattr(self, "processes", []), process]
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        """One worker process of one thread, which is not started again when it dies."""
        return self._start("worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard")

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait(timeout=20)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("dask"))
    yield made
    made.stop()


def compute(project: Project, scheduler: str | None) -> tuple[str, int]:
    """All pieces of the small spec; its measurements as text, and how many pieces were computed."""
    spec = load_specs(project, [])[0].spec
    plan = make_plan(project, spec)
    report = run_pieces(project, plan.pieces(), 1, Progress(quiet=True), "test", scheduler)
    return measurement_table(plan, spec, Store(project.store)).to_csv(), report.computed


def test_a_worker_that_is_killed_costs_nothing(make_project: Make, running: Cluster) -> None:
    """Two workers, one killed when some models are trained: the serial run's numbers, each piece once."""
    expected, pieces = compute(make_project(TEXT, where="serial"), None)
    project = make_project(TEXT, where="cluster")
    killed: list[int] = []

    def kill_one() -> None:
        deadline = time.monotonic() + 120
        while not killed and time.monotonic() < deadline:
            time.sleep(0.01)
            if list((project.store / "train").rglob("*.npz")):
                killed.append(running.workers[0].pid)
                running.workers[0].send_signal(signal.SIGKILL)

    thread = threading.Thread(target=kill_one)
    thread.start()
    result, computed = compute(project, running.address)
    thread.join()
    assert killed
    assert running.workers[0].wait(timeout=20) == -signal.SIGKILL
    assert result == expected
    assert computed == pieces
    spec = load_specs(project, [])[0].spec
    kept = {p.name.removesuffix(".npz") for p in project.store.rglob("*.npz") if p.parent.parent.name != "noise"}
    assert kept == {p.key for p in make_plan(project, spec).pieces()}
    running.workers[0] = running.worker()


def test_the_command_line_computes_on_a_cluster(make_project: Make, running: Cluster) -> None:
    """`harness run --scheduler`, and the same through the environment; nothing is computed twice."""
    project = make_project(TEXT)
    ran = run_cli(project.root, "run", "-q", "--scheduler", running.address)
    assert ran.returncode == 0, ran.stderr
    assert (project.reports / "full" / "own/cancer" / "verdicts.json").is_file()
    again = run_cli(project.root, "run", DASK_SCHEDULER_ADDRESS="tcp://127.0.0.1:1")
    assert again.returncode == 0, again.stderr  # all is there, so nobody has to answer


def test_a_table_travels_once_and_only_as_itself(make_project: Make, running: Cluster) -> None:
    """A worker that lacks the table asks for it; one whose copy differs asks too; code must be the same."""
    project = make_project(TEXT)
    piece = make_plan(project, load_specs(project, [])[0].spec).pieces()[0]
    digest = cluster.sha256_file(project.root / "cancer.csv")
    parcel = cluster.Payload((piece,), {}, {}, {"cancer.csv": digest}, cluster.package_digest())
    scratch = cluster._scratch_project().root
    shutil.rmtree(scratch, ignore_errors=True)
    assert cluster.compute(parcel).missing_tables == ("cancer.csv",)
    (scratch / "cancer.csv").parent.mkdir(parents=True, exist_ok=True)
    (scratch / "cancer.csv").write_text("not,this\n1,2\n")
    assert cluster.compute(parcel).missing_tables == ("cancer.csv",)
    table = {"cancer.csv": (project.root / "cancer.csv").read_bytes()}
    answer = cluster.compute(cluster.Payload((piece,), {}, table, parcel.table_digests, parcel.code))
    assert list(answer.files) == [(piece.kind, piece.key)]
    assert cluster.compute(parcel).missing_tables == ()
    with pytest.raises(HarnessError, match="another version"):
        cluster.compute(cluster.Payload((piece,), {}, {}, parcel.table_digests, "other"))


def test_an_absolute_path_is_refused_for_a_cluster(make_project: Make, running: Cluster) -> None:
    project = make_project()
    text = TEXT.replace("path: cancer.csv", f"path: {project.root / 'cancer.csv'}")
    with pytest.raises(HarnessError, match="relative to the project"):
        compute(make_project(text, where="absolute"), running.address)


def test_no_scheduler_and_no_workers_end_in_one_line(
    make_project: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_TIMEOUT_S", 1)
    with pytest.raises(HarnessError, match="no Dask scheduler answers"):
        compute(make_project(TEXT), "tcp://127.0.0.1:1")
    with pytest.raises(HarnessError, match="no Dask scheduler answers"):
        compute(make_project(TEXT), "nonsense://")
    monkeypatch.setattr(cluster, "WAIT_FOR_WORKERS_S", 0.5)
    (tmp_path / "alone").mkdir()
    alone = Cluster(tmp_path / "alone", workers=0)
    try:
        with pytest.raises(HarnessError, match="no worker"):
            compute(make_project(TEXT), alone.address)
    finally:
        alone.stop()


def test_what_a_cell_needs_comes_along_and_damage_does_not_go_in(make_project: Make, tmp_path: Path) -> None:
    project = make_project(TEXT)
    pieces = make_plan(project, load_specs(project, [])[0].spec).pieces()
    model = next(p for p in pieces if p.kind == "train")
    run_pieces(project, [*model.needs, model], 1, Progress(quiet=True), "test")
    store, other = Store(project.store), Store(tmp_path / "other")
    key = next(store.files("train"))[0]
    data = store.bytes("train", key)
    other.put_bytes("train", key, data)
    assert other.get("train", key).digest == store.get("train", key).digest
    middle = data.index(store.get("train", key).arrays["w0"].tobytes()) + 2
    flipped = data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]
    for damaged in (data[:-30], b"", flipped):
        with pytest.raises(ValueError, match=key[2:]):
            other.put_bytes("train", "ab" + key[2:], damaged)
    assert not other.has("train", "ab" + key[2:])
    with pytest.raises(MissingResults, match="is not in the store"):
        store.bytes("train", "ab" + key[2:])
    assert cluster._whole_bytes(store, "train", key) == data
    store.path("train", key).write_bytes(flipped)
    with pytest.raises(MissingResults, match=f"train/{key}: cannot be read whole"):
        cluster._whole_bytes(store, "train", key)


FORGED = ("arrays", "name", "more", "less", "damaged", "elsewhere", "none")


def forge(sort: str) -> Callable[[cluster.Payload], object]:
    """What a worker runs that answers with what it likes; Dask sends it as it is."""

    def answer_wrongly(payload: cluster.Payload) -> object:
        from harness.extensions.cluster.dask_cluster import compute  # the worker's own

        answer = compute(payload)
        if answer.missing_tables:
            return answer
        (name, data), *others = answer.files.items()
        result = parse_result(data)
        assert result is not None
        store = Store(Path(tempfile.mkdtemp()))
        meta = {k: v for k, v in result.meta.items() if sort != "arrays" or k != "arrays_sha256"}
        store.put(*name, Result({one: array + 1 for one, array in result.arrays.items()}, meta))
        forged = store.bytes(*name)
        files = {
            "arrays": {name: forged},
            "name": {("train", "ab" * 32): data},
            "more": {name: data, ("noise", "ab" * 32): data},
            "less": {},
            "damaged": {name: data[:-50]},
            "elsewhere": {("..", "x" * 64): data},
        }
        return cluster.Answer(answer.done, files[sort] | dict(others)) if sort in files else None

    return answer_wrongly


def test_an_answer_that_was_not_asked_for_or_is_not_whole_is_not_stored(
    make_project: Make, running: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker of a real cluster that answers with what it likes. By what it was asked for a run would go on."""
    project = make_project(TEXT)
    first = make_plan(project, load_specs(project, [])[0].spec).pieces()[:1]
    told = []
    for sort in FORGED:
        monkeypatch.setattr(cluster, "compute", forge(sort))
        with pytest.raises(HarnessError, match="a worker of the cluster answers wrongly: ") as caught:
            run_pieces(project, first, 1, Progress(quiet=True), "test", running.address)
        told.append(str(caught.value).removeprefix("a worker of the cluster answers wrongly: "))
        assert not list(Store(project.store).files(first[0].kind)), sort
    assert all(line.endswith("; nothing of its answer was stored") for line in told), told
    assert ["has no hash of its arrays" in line for line in told] == [sort == "arrays" for sort in FORGED]
    assert ["cannot be read whole" in line for line in told] == [sort == "damaged" for sort in FORGED]


def test_a_worker_gets_no_file_that_its_task_does_not_read(
    make_project: Make, running: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "compute", lambda payload: cluster.Answer([], {}, ("params.yaml",)))
    with pytest.raises(HarnessError, match="asks for files that its task does not read"):
        compute(make_project(TEXT), running.address)


def test_an_address_that_others_can_reach_is_refused_unless_it_is_encrypted_or_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever reaches the port could run code here: Dask unpickles what it gets."""
    for address in (
        "tcp://node1:8786",
        "10.0.0.1:8786",
        "tcp://[2001:db8::1]:8786",
        "ws://node1:80",
        "tcp://0.0.0.0:1",
    ):
        with pytest.raises(HarnessError, match="can run code here and on each worker; right is tls://"):
            check_scheduler(address)
    for address in (
        "tls://node1:8786",
        "wss://node1",
        "tcp://127.0.0.1:1",
        "localhost:8786",
        "[::1]:8786",
        "127.3.2.1:9",
    ):
        check_scheduler(address)
    monkeypatch.setenv("HARNESS_OPEN_SCHEDULER", "1")
    check_scheduler("tcp://node1:8786")


def test_a_real_cluster_that_listens_on_all_addresses_is_not_joined_unless_one_says_so(
    make_project: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import LocalCluster

    project = make_project(TEXT)
    first = make_plan(project, load_specs(project, [])[0].spec).pieces()[:1]
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, host="0.0.0.0", dashboard_address=":0", protocol="tcp"
    ) as there:
        port = there.scheduler_address.rpartition(":")[2]
        address = f"tcp://0.0.0.0:{port}"  # which Linux takes for this machine, whatever its addresses are
        with pytest.raises(HarnessError, match=rf"--scheduler {address}: whoever reaches this port can run code"):
            run_pieces(project, first, 1, Progress(quiet=True), "test", address)
        assert not [one for one in there.scheduler.clients if one.startswith("Client")]
        monkeypatch.setenv("HARNESS_OPEN_SCHEDULER", "1")
        report = run_pieces(project, first, 1, Progress(quiet=True), "test", address)
        assert report.computed == 1


def test_a_table_outside_of_the_project_is_sent_nowhere(make_project: Make, running: Cluster) -> None:
    """A worker would write it beside its own folder."""
    outside = make_project(where="outside")
    text = TEXT.replace("path: cancer.csv", "path: ../outside/cancer.csv")
    with pytest.raises(HarnessError, match=r"outside/cancer\.csv: a cluster needs a table below the project"):
        compute(make_project(text, where="inside"), running.address)
    assert (outside.root / "cancer.csv").is_file()
