"""The table of measurements: what several runs say together."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.execution.store import Result, Store
from harness.execution.table import _metrics_of_runs
from harness.hashing import fingerprint
from harness.metrics.metric import measure_runs


def test_what_runs_say_together_is_computed_once_for_a_store_and_its_keys(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    runs = [(rng.normal(1, 1, 500), rng.normal(0, 1, 400)) for _ in range(4)]
    keys = [fingerprint(["evaluate", i, []]) for i in range(4)]
    for place, offset in (("one", 0.0), ("other", 1.0)):
        for i, (inside, outside) in enumerate(runs):
            arrays = {"member_scores": inside + offset, "nonmember_scores": outside}
            Store(tmp_path / place).put("evaluate", keys[i], Result(arrays, {"description": i, "needs": []}))
    result = _metrics_of_runs(tmp_path / "one", tuple(keys[:2]))
    assert result == measure_runs(runs[:2])
    assert _metrics_of_runs(tmp_path / "one", tuple(keys[2:])) == measure_runs(runs[2:]) != result
    assert (
        _metrics_of_runs(tmp_path / "other", tuple(keys[:2]))
        == measure_runs([(a + 1.0, b) for a, b in runs[:2]])
        != result
    )
    Store(tmp_path / "one").path("evaluate", keys[0]).unlink()
    assert _metrics_of_runs(tmp_path / "one", tuple(keys[:2])) == result
