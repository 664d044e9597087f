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
    write_verdicts,
    write_all_verdicts,
    experiment_digest,
    has_verdicts,
    index_readings,
    judge,
    judge_all,
    is_left_out,
    means_compared,
    measurements,
    other_readings,
    read_verdicts,
    readings_needed,
)
from harness.pipeline.parallel import begin_helping, for_each
from harness.pipeline.tables import plot

__all__ = [
    "OWN",
    "Context",
    "attack",
    "begin_helping",
    "write_verdicts",
    "write_all_verdicts",
    "core_seconds",
    "experiment_digest",
    "for_each",
    "has_verdicts",
    "index_readings",
    "judge",
    "judge_all",
    "is_left_out",
    "means_compared",
    "measurements",
    "other_readings",
    "pieces_left",
    "plan_of",
    "plot",
    "read_verdicts",
    "readings_needed",
    "resolve",
    "train",
    "until_decided",
    "worker_pool_of",
]
