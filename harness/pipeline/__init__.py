"""The stages, as `dvc.yaml` and `harness run` call them: resolve, train, attack, judge.

Each stage reads what the one before it wrote and writes finished tables. All of them may be repeated
at will: work that is done is taken from the cell store.
"""

from harness.pipeline.compute import (
    attack,
    core_seconds,
    pieces_left,
    plan_of,
    resolve,
    train,
    worker_pool_of,
)
from harness.pipeline.context import OWN, Context
from harness.pipeline.deciding import until_decided
from harness.pipeline.judging import (
    experiment_digest,
    has_verdicts,
    index_readings,
    is_left_out,
    judge,
    judge_all,
    means_compared,
    measured_file,
    measurements,
    other_readings,
    read_verdict,
    read_verdicts,
    readings_needed,
    write_all_verdicts,
    write_verdicts,
)
from harness.pipeline.parallel import begin_helping
from harness.pipeline.tables import plot

__all__ = [
    "OWN",
    "Context",
    "attack",
    "begin_helping",
    "core_seconds",
    "experiment_digest",
    "has_verdicts",
    "index_readings",
    "is_left_out",
    "judge",
    "judge_all",
    "means_compared",
    "measured_file",
    "measurements",
    "other_readings",
    "pieces_left",
    "plan_of",
    "plot",
    "read_verdict",
    "read_verdicts",
    "readings_needed",
    "resolve",
    "train",
    "until_decided",
    "worker_pool_of",
    "write_all_verdicts",
    "write_verdicts",
]
