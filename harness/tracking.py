"""MLflow: one experiment a paper, one parent run a spec and profile, one child run a cell.

The store is SQLite (`mlflow.db`). Each cell is written with one batched call; cells that are logged
already are left alone. A store that cannot be written costs a warning, never a result.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
import subprocess
import time
from typing import Any

import pandas as pd

from harness.execution.plan import Plan
from harness.paths import Project
from harness.progress import Progress
from harness.spec.profile import Scaled, shown

MAX_RESULTS = 50_000


def commit(project: Project) -> str:
    """The checkout's commit, marked where files differ from it; `unknown` outside git."""
    try:
        git = ["git", "-C", str(project.root)]
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        dirty = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("-dirty" if dirty.strip() else "")


def log_run(
    project: Project, scaled: Scaled, sha256: str, plan: Plan, table: pd.DataFrame, progress: Progress
) -> str | None:
    """Log a finished spec. Returns the parent run's id, or None where the store could not be used."""
    try:
        _try_writing(project.mlflow_uri)
        return _log(project, scaled, sha256, plan, table)
    except Exception as error:
        # Tracking is a record beside the results; whatever fails in it must not cost them.
        reason = str(error).splitlines()[0][:160] if str(error) else ""
        progress.say(f"MLflow: not logged ({type(error).__name__}: {reason}); the results are complete without it")
        return None


def _try_writing(uri: str) -> None:
    """Fail at once where an SQLite store cannot be written; MLflow itself retries for minutes first."""
    if uri.startswith("sqlite:///"):
        with contextlib.closing(sqlite3.connect(uri.removeprefix("sqlite:///"), timeout=10)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()


def _log(project: Project, scaled: Scaled, sha256: str, plan: Plan, table: pd.DataFrame) -> str:
    import logging

    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    from mlflow.entities import Metric, Param, RunTag
    from mlflow.tracking import MlflowClient

    spec = scaled.spec
    assert spec.experiment is not None
    client = MlflowClient(tracking_uri=project.mlflow_uri)
    experiment = client.get_experiment_by_name(spec.paper)
    experiment_id = experiment.experiment_id if experiment else client.create_experiment(spec.paper)
    tags = {
        "spec": spec.id, "profile": scaled.profile, "spec_sha256": sha256, "data_sha256": plan.data_sha256,
        "commit": commit(project), "source": "harness",
    }  # fmt: skip
    identity = f"tags.role = 'spec' and tags.spec_sha256 = '{sha256}' and tags.profile = '{scaled.profile}'"
    found = client.search_runs([experiment_id], identity, max_results=1)
    if found:
        parent = found[0].info.run_id
    else:
        name = f"{spec.id.rsplit('/', 1)[-1]} ({scaled.profile})"
        parent = client.create_run(experiment_id, run_name=name, tags={**tags, "role": "spec"}).info.run_id
        client.log_batch(parent, params=[Param(k, str(v)[:500]) for k, v in _parameters(scaled).items()])
    children = client.search_runs([experiment_id], f"tags.mlflow.parentRunId = '{parent}'", max_results=MAX_RESULTS)
    logged = {(run.data.tags.get("cell"), run.data.tags.get("evaluations")) for run in children}
    groups = dict(iter(table.groupby(["arm", "epsilon", "repeat"])))
    now = int(time.time() * 1000)
    for cell in plan.cells:
        evaluations = ",".join(p.key[:12] for _, p in sorted(cell.evaluations.items()))
        if (cell.target.key, evaluations) in logged:
            continue
        rows = groups[(cell.arm, cell.epsilon, cell.repeat)]
        name = f"{cell.arm} eps={shown(cell.epsilon)} repeat={cell.repeat}"
        own = {"cell": cell.target.key, "evaluations": evaluations, "role": "cell", "mlflow.parentRunId": parent}
        run = client.create_run(experiment_id, run_name=name).info.run_id
        parameters = {
            "arm": cell.arm, "epsilon": cell.epsilon, "repeat": cell.repeat,
            "noise_multiplier": cell.noise_multiplier, "delta": spec.experiment.privacy.delta,
        }  # fmt: skip
        labels = zip(rows["attack"].astype(str), rows["metric"].astype(str), strict=True)
        names = [f"{attack}.{metric}" if attack else metric for attack, metric in labels]
        metrics = [
            Metric(str(n), float(v), now, 0) for n, v in zip(names, rows["value"], strict=True) if math.isfinite(v)
        ]
        client.log_batch(
            run, metrics, [Param(k, str(v)) for k, v in parameters.items()],
            [RunTag(k, v) for k, v in {**tags, **own}.items()],
        )  # fmt: skip
        client.set_terminated(run)
    client.set_terminated(parent)
    return str(parent)


def _parameters(scaled: Scaled) -> dict[str, Any]:
    e = scaled.spec.experiment
    assert e is not None
    return {
        "dataset": e.dataset.plugin_name(), "model": e.model.plugin_name(), "engine": e.training.engine,
        "epochs": e.training.epochs, "batch_size": e.training.batch_size, "learning_rate": e.training.learning_rate,
        "l2_norm_clip": e.training.l2_norm_clip, "epsilons": ", ".join(map(shown, e.privacy.epsilons)),
        "delta": e.privacy.delta, "adjacency": e.privacy.adjacency,
        "accountant": ", ".join(dict.fromkeys(e.accounting_of(arm)[0] for arm in e.arms)),
        "repeats": e.repeats, "seed": e.seed, "arms": ", ".join(e.arms), "attacks": ", ".join(scaled.spec.attacks),
        "reductions": "; ".join(scaled.reductions) or "none",
    }  # fmt: skip
