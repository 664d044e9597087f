"""The repeats of a table that came after those that had been seen when a claim was declared, or last changed.

What was seen before a claim was written is no test of it: the claim may have been written after it. A test that may be
looked at after every repeat starts with the first repeat that nobody had seen (docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from harness.claims.series import LATER, OUTCOME, is_of_runs
from harness.coordinates import Cell, place
from harness.metrics import METRICS

Seen = Mapping[Cell, int]
"""By cell: how many repeats had been measured, from the first on."""


def leave_out_seen(table: pd.DataFrame, seen: Seen, cell_axes: Sequence[str]) -> pd.DataFrame:
    """The rows of the repeats of each cell that had not been seen.

    A repeat counts as seen in all metrics and attacks once its model was measured in any. A metric that is relative to
    the model without noise starts where both are new, and one of several runs with the first group of which no run had
    been seen. What says which records a split draws stays.
    """
    cells = table[["arm", *cell_axes]].drop_duplicates()
    starts, baselines = [], []
    for arm, *levels in cells.itertuples(index=False, name=None):
        where = {axis: v for axis, v in zip(cell_axes, levels, strict=True) if v == v and v is not None}
        own = seen.get((str(arm), place(where)), 0)
        starts.append(own)
        baseline = (str(arm), place({**where, "epsilon": math.inf}))
        baselines.append(max(own, seen.get(baseline, 0)) if "epsilon" in where else own)
    of_cell = table[["arm", *cell_axes]].merge(cells.assign(start=starts, baseline=baselines), how="left")
    start, repeat = of_cell["start"].to_numpy(), table["repeat"].to_numpy()
    by_metric = {str(name): table["metric"].eq(name).to_numpy() for name in table["metric"].unique()}
    for metric, mask in by_metric.items():
        if metric in METRICS and METRICS[metric].scope == "baseline":
            start = np.where(mask, of_cell["baseline"], start)
        elif metric in OUTCOME or metric.startswith("count_"):
            start = np.where(mask, 0, start)
    of_runs = np.isin(table["metric"], [metric for metric in by_metric if is_of_runs(metric)])
    if of_runs.any():  # such a number has the last run of its group for its repeat
        size = int(repeat[of_runs].min()) + 1
        start = np.where(of_runs, -(-start // size) * size, start)
    later = table.assign(repeat=np.where(of_runs, repeat - start, repeat))[repeat >= start]
    later.attrs = {**table.attrs, LATER: True}
    return later
