"""What surrounds training: workers, the cluster, the store, MLflow, memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from rich.console import Console

from harness import tracking
from harness.execution.executor import WorkerPool, run_pieces
from harness.execution.planner import make_plan
from harness.execution.store import Result, Store
from harness.execution.table import measurement_table, write_parquet
from harness.hashing import fingerprint
from harness.paths import Project
from harness.progress import Progress
from harness.spec.load import load_specs
from harness.spec.profile import Profile, scale

SPEC = """\
paper: own
title: Twelve models of a mixture
where: benchmark
experiment:
  seed: 1
  dataset: {kind: mixture, m: 20, sigma: 0.01}
  sizes: {members: 10000, test: 2500, nonmembers: 10000}
  arms: {iid: {split: {kind: random}}}
  model: {kind: mlp}
  training: {engine: fast, epochs: 20}
  privacy: {epsilons: [1, 10, .inf], delta: 1.0e-5}
  repeats: 4
attacks: {logloss: {kind: logloss}}
claims:
  - {id: any, where: here, statement: Any., expect: {kind: compare, left: {metric: advantage, arm: iid, attack: logloss}, relation: ">", right: {value: -1}}}
"""  # noqa: E501


class Grid:
    """A project of its own with twelve models to train, twenty epochs each."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="benchmark-"))
        (self.root / "specs" / "own").mkdir(parents=True)
        (self.root / "specs" / "own" / "grid.yaml").write_text(SPEC)
        (self.root / "specs" / "papers.yaml").write_text((Path("specs") / "papers.yaml").read_text())
        (self.root / "params.yaml").write_text("profile: full\nprofiles:\n  full: {}\n")
        self.project = Project(self.root)
        self.spec = load_specs(self.project, [])[0].spec
        self.plan = make_plan(self.project, self.spec)

    def run(self, workers: int, scheduler: str | None = None) -> tuple[float, float]:
        """Wall seconds of all pieces, and of core time within them."""
        started = time.perf_counter()
        with WorkerPool(self.project, workers, Progress(quiet=True), scheduler) as worker_pool:
            report = run_pieces(worker_pool, self.plan.pieces(), "benchmark")
        return time.perf_counter() - started, report.core_seconds

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.root, ignore_errors=True)


class Cluster:
    """A Dask scheduler and its workers as processes on this machine."""

    def __init__(self, workers: int) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="benchmark-dask-"))
        file = self.directory / "scheduler.json"
        self.processes = [
            self._start(
                "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)
            )
        ]
        while not file.is_file() or "tcp://" not in file.read_text():
            time.sleep(0.1)
        self.address = file.read_text().split('"address": "')[1].split('"')[0]
        for _ in range(workers):
            self.processes.append(
                self._start("worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
            )

    def _start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments],
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        )

    def close(self) -> None:
        """Stop all processes."""
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def grid_times(console: Console) -> dict[str, Any]:
    """Twelve models on one and two local workers and on one and two Dask workers, start of processes included."""
    found: dict[str, Any] = {}
    for kind, count in (("process", 1), ("process", 2), ("dask", 1), ("dask", 2)):
        grid, cluster = Grid(), Cluster(count) if kind == "dask" else None
        try:
            wall, cores = grid.run(count, cluster.address if cluster else None)
        finally:
            grid.close()
            if cluster:
                cluster.close()
        label = f"{count} {'Dask' if cluster else 'local'} worker{'s' if count > 1 else ''}"
        found[label] = {"wall_s": wall, "core_s": cores, "models": 12}
        console.print(f"12 models on {label}: {wall:.1f} s wall, {cores:.1f} core-seconds of work")
    return found


def overheads(console: Console) -> dict[str, Any]:
    """What the store and MLflow cost a cell, next to the cell's training at the papers' scale."""
    grid = Grid()
    try:
        grid.run(1)
        store = Store(grid.project.store)
        key = grid.plan.cells[0].target.key
        result = store.get("train", key)
        times = {"write": [], "read": []}
        for _ in range(20):
            started = time.perf_counter()
            store.put("train", key, result)
            middle = time.perf_counter()
            store.get("train", key)
            times["write"].append(middle - started)
            times["read"].append(time.perf_counter() - middle)
        table = measurement_table(grid.plan, grid.spec, store)
        scaled = scale(grid.spec, "full", Profile())
        started = time.perf_counter()
        tracking.log_run(grid.project, scaled, "0" * 64, grid.plan, table, Progress())
        mlflow = (time.perf_counter() - started) / len(grid.plan.cells)
        held = psutil.Process().memory_info().rss / 1e6
    finally:
        grid.close()
    found = {
        "store_write_ms": 1e3 * float(np.median(times["write"])),
        "store_read_ms": 1e3 * float(np.median(times["read"])),
        "mlflow_ms_a_cell_with_start": 1e3 * mlflow,
        "process_rss_mb": held,
    }
    console.print(
        f"a cell: store {found['store_write_ms']:.1f} ms to write, {found['store_read_ms']:.1f} ms to read; MLflow "
        f"{found['mlflow_ms_a_cell_with_start']:.1f} ms (12 cells, its start-up included); this process holds "
        f"{found['process_rss_mb']:.0f} MB"
    )
    return found


def store_reads(console: Console) -> dict[str, Any]:
    """100,000 measurements: gathered from 5,000 cells of a store, written as one table, read and queried."""
    root = Path(tempfile.mkdtemp(prefix="benchmark-store-"))
    try:
        store = Store(root)
        metrics = {f"metric{i}": [0.1 * i, 0.01, 20000] for i in range(20)}
        descriptions = [{"x": "y" * 500, "i": i} for i in range(5000)]
        keys = [fingerprint(["evaluate", description, []]) for description in descriptions]
        for key, description in zip(keys, descriptions, strict=True):
            store.put("evaluate", key, Result({}, {"metrics": metrics, "description": description, "needs": []}))
        times = []
        for _ in range(2):
            started = time.perf_counter()
            records = store.records("evaluate", keys)
            times.append(time.perf_counter() - started)
        rows = [
            (f"arm{i % 3}", i % 12, i % 40, name, value[0])
            for i, key in enumerate(keys)
            for name, value in records[key]["metrics"].items()
        ]
        frame = pd.DataFrame(rows, columns=["arm", "epsilon", "repeat", "metric", "value"])
        write_parquet(frame, root / "table.parquet")
        started = time.perf_counter()
        read = pd.read_parquet(root / "table.parquet")
        means = read[read["metric"] == "metric3"].groupby(["arm", "epsilon"])["value"].mean()
        query = time.perf_counter() - started
        assert len(read) == 100_000
        assert len(means) == 12
        size = (root / "table.parquet").stat().st_size
    finally:
        shutil.rmtree(root, ignore_errors=True)
    found = {"first_s": times[0], "indexed_s": times[1], "table_s": query, "table_mb": size / 1e6}
    console.print(
        f"100,000 measurements: from 5,000 cells {times[0]:.2f} s the first time and {times[1]:.2f} s from the index; "
        f"from their table {query:.3f} s ({size / 1e6:.1f} MB)"
    )
    return found
