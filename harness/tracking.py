"""MLflow: one experiment a paper, one parent run a spec and profile, one child run a cell.

The store is SQLite (`mlflow.db`). Each cell is written with one batched call; cells that are logged
already are left alone. A store that cannot be written, or a server that does not answer, costs
a warning, never a result.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
import sqlite3
import time
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path

import pandas as pd

from harness.addresses import hide_secrets
from harness.coordinates import format_level
from harness.execution.plan import Plan
from harness.experiment.experiment import Arm
from harness.git import ask_git
from harness.paths import Project
from harness.progress import Progress
from harness.spec.model import Spec
from harness.spec.profile import Scaled

MAX_RESULTS = 50_000
NO_ARTIFACTS = "mlflow-artifacts:/"
"""Where experiments of an SQLite store say that their files are. None are logged, and MLflow's default is the absolute
path of the folder that a run was started in, which has a user's name in it."""
SERVER_TIMEOUT_S = 5.0
"""Seconds in which a server has to answer."""


def commit(project: Project, *paths: str) -> str:
    """The checkout's commit, marked where files (of `paths`, if given) differ from it; `unknown` outside git."""
    head = ask_git(project.root, "rev-parse", "HEAD")
    dirty = ask_git(project.root, "status", "--porcelain", "--ignore-submodules=all", "--", *paths)
    if head is None or dirty is None:
        return "unknown"
    return head.strip() + ("-dirty" if dirty.strip() else "")


def log_run(
    project: Project, scaled: Scaled, sha256: str, plan: Plan, table: pd.DataFrame, progress: Progress
) -> str | None:
    """Log a finished spec. Returns the parent run's id, or None where the store could not be used."""
    try:
        _try_writing(project.mlflow_uri)
        begin_store(project.mlflow_uri)
        return _log(project, scaled, sha256, plan, table)
    except Exception as error:
        # Tracking is a record beside the results; whatever fails in it must not cost them.
        reason = hide_secrets(str(error), project.mlflow_uri).splitlines()[0][:160] if str(error) else ""
        progress.warn(f"MLflow: not logged ({type(error).__name__}: {reason}); the results are complete without it")
        return None


def _try_writing(uri: str) -> None:
    """Fail at once where an SQLite store cannot be written, or a server does not answer; MLflow itself retries for
    minutes first."""
    if uri.startswith(("http://", "https://")):
        import requests

        try:
            with requests.get(uri, timeout=SERVER_TIMEOUT_S, stream=True, allow_redirects=False) as answer:
                status = answer.status_code
        except requests.exceptions.SSLError:
            return  # It is there, and which certificates are trusted is MLflow's to say, as are passwords.
        except requests.Timeout:
            raise TimeoutError(f"{hide_secrets(uri)} does not answer in {SERVER_TIMEOUT_S:g} s") from None
        except requests.ConnectionError:
            raise ConnectionError(f"{hide_secrets(uri)} cannot be reached") from None
        if status >= 500:
            raise ConnectionError(f"{hide_secrets(uri)} answers with an error of its own ({status})")
    elif uri.startswith("sqlite:///"):
        with contextlib.closing(sqlite3.connect(uri.removeprefix("sqlite:///"), timeout=10)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()


def begin_store(uri: str) -> None:
    """Make the tables of an SQLite store that is empty yet."""
    if not uri.startswith("sqlite:///") or Path(uri.removeprefix("sqlite:///")).stat().st_size:
        return
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    _silence_mlflow()
    SqlAlchemyStore(uri, NO_ARTIFACTS)  # type: ignore[no-untyped-call]


def _silence_mlflow() -> None:
    """MLflow sets its own level as it is imported, so this comes after that."""
    for chatty in ("alembic", "mlflow"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def _write_ahead(uri: str) -> None:
    """Have an SQLite store keep a log of what is written, so that not every one of MLflow's commits waits for the disk.

    After a crash of the machine, not of a process, the last runs may be missing; they are logged again.
    """
    if not uri.startswith("sqlite:///"):
        return
    from sqlalchemy import Engine, event

    if not event.contains(Engine, "connect", _keep_log):
        event.listen(Engine, "connect", _keep_log)


def _keep_log(connection: object, _: object) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")


def _log(project: Project, scaled: Scaled, sha256: str, plan: Plan, table: pd.DataFrame) -> str:
    from mlflow.entities import Metric, Param, RunTag
    from mlflow.tracking import MlflowClient

    _silence_mlflow()
    spec = scaled.spec
    assert spec.own_experiment is not None
    _write_ahead(project.mlflow_uri)
    client = MlflowClient(tracking_uri=project.mlflow_uri)
    experiment = client.get_experiment_by_name(spec.paper)
    place = f"{NO_ARTIFACTS}{spec.paper}" if project.mlflow_uri.startswith("sqlite:///") else None
    experiment_id = experiment.experiment_id if experiment else client.create_experiment(spec.paper, place)
    tags = {
        "spec": spec.id,
        "profile": scaled.profile,
        "spec_sha256": sha256,
        "data_sha256": plan.data_sha256,
        "commit": commit(project),
        "source": "harness",
    }
    identity = f"tags.role = 'spec' and tags.spec_sha256 = '{sha256}' and tags.profile = '{scaled.profile}'"
    parents = client.search_runs([experiment_id], identity, max_results=1)
    if parents:
        parent = parents[0].info.run_id
    else:
        name = f"{spec.id.rsplit('/', 1)[-1]} ({scaled.profile})"
        parent = client.create_run(experiment_id, run_name=name, tags={**tags, "role": "spec"}).info.run_id
        client.log_batch(parent, params=[Param(k, str(v)[:500]) for k, v in _parameters(scaled).items()])
    children = client.search_runs([experiment_id], f"tags.mlflow.parentRunId = '{parent}'", max_results=MAX_RESULTS)
    logged = {(run.data.tags.get("cell"), run.data.tags.get("evaluations")) for run in children}
    axes = spec.own_experiment.coordinates
    groups = dict(iter(table.groupby(["arm", *axes, "repeat"])))
    now = int(time.time() * 1000)
    for cell in plan.cells:
        evaluations = ",".join(p.key[:12] for _, p in sorted(cell.evaluations.items(), key=lambda item: str(item[0])))
        if (cell.target.key, evaluations) in logged:
            continue
        where = dict(cell.place)
        rows = groups[(cell.arm, *(where[axis] for axis in axes), cell.repeat)]
        others = "".join(f" {axis}={format_level(where[axis])}" for axis in axes if axis != "epsilon")
        name = f"{cell.arm} eps={format_level(cell.epsilon)}{others} repeat={cell.repeat}"
        own = {"cell": cell.target.key, "evaluations": evaluations, "role": "cell", "mlflow.parentRunId": parent}
        run = client.create_run(experiment_id, run_name=name).info.run_id
        parameters = {
            "arm": cell.arm,
            **where,
            "epsilon": cell.epsilon,
            "repeat": cell.repeat,
            "noise_multiplier": cell.noise_multiplier,
            "delta": spec.own_experiment.arms[cell.arm].privacy.delta,
        }
        names = [_metric_name(row, spec) for row in rows.to_dict("records")]
        metrics = [
            Metric(str(n), float(v), now, 0) for n, v in zip(names, rows["value"], strict=True) if math.isfinite(v)
        ]
        client.log_batch(
            run,
            metrics,
            [Param(k, str(v)) for k, v in parameters.items()],
            [RunTag(k, v) for k, v in {**tags, **own}.items()],
        )
        client.set_terminated(run)
    client.set_terminated(parent)
    return str(parent)


def _parameters(scaled: Scaled) -> dict[str, object]:
    experiment = scaled.spec.own_experiment
    assert experiment is not None
    arms = experiment.arms.values()

    def of_arms(field: Callable[[Arm], object]) -> str:
        return ", ".join(dict.fromkeys(str(field(arm)) for arm in arms))

    return {
        "dataset": of_arms(lambda arm: arm.dataset.plugin_name()),
        "model": of_arms(lambda arm: arm.model.plugin_name()),
        "engine": of_arms(lambda arm: arm.training.engine),
        "epochs": of_arms(lambda arm: arm.training.epochs),
        "batch_size": of_arms(lambda arm: arm.training.batch_size),
        "learning_rate": of_arms(lambda arm: arm.training.learning_rate),
        "l2_norm_clip": of_arms(lambda arm: arm.training.l2_norm_clip),
        "epsilons": ", ".join(map(format_level, experiment.epsilons())),
        "delta": of_arms(lambda arm: arm.privacy.delta),
        "adjacency": of_arms(lambda arm: arm.privacy.adjacency),
        "accountant": of_arms(lambda arm: arm.privacy.accountant),
        **{f"axis {name}": ", ".join(map(format_level, axis.values)) for name, axis in experiment.axes.items()},
        "repeats": experiment.repeats,
        "seed": experiment.seed,
        "arms": ", ".join(experiment.arms),
        "attacks": ", ".join(scaled.spec.attacks),
        "reductions": "; ".join(scaled.reductions) or "none",
    }


def _metric_name(row: Mapping[Hashable, object], spec: Spec) -> str:
    """`attack.metric`, with the values of the attack's own axes."""
    if not row["attack"]:
        return str(row["metric"])
    own = "".join(f".{axis} {format_level(row[axis])}" for axis in spec.attack_axes.get(str(row["attack"]), {}))
    return re.sub(r"[^\w\-. ]", "-", f"{row['attack']}{own}.{row['metric']}", flags=re.ASCII)  # what MLflow takes
