"""How often a claim is wrongly decided that was written in sight of results, by all repeats and by those since.

`python -m benchmarks.declared` writes benchmarks/declared.json; docs/calibration.md shows the numbers.

In each world several differences are 0 on average. A writer looks at the first repeats of all of them, and claims of
the one that looks largest that it is above 0. Repeats are added up to 30, and the claim is tested after each
(`harness.claims.design.Sequential`, one-sided at 2.5%): on all repeats, and on those that came after it was written.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.standing import SHAPES
from harness.claims.design import Sequential, Series
from harness.files import write_text
from harness.hashing import generator

RESULTS = Path(__file__).parent / "declared.json"
LEVEL = 0.025
WORLDS, REPEATS = 2_000, 30
SEEN, CANDIDATES = (6, 14), (1, 5, 20)
RESULTS_OF = {
    "Gaussian": ("Gaussian", 1),
    "exponential": ("exponential", -1),
    "three levels": ("three levels, skewed", -1),
}
"""Shapes of results, and on which side of 0 they are claimed to lie: of skewed ones on that of the short tail, where
few repeats mislead."""


def share_wrong(shape: str, seen: int, candidates: int) -> tuple[float, float]:
    """The shares of worlds in which the claim is wrongly decided by all repeats, and by those since it was written."""
    name, sign = RESULTS_OF[shape]
    rng, method = generator(7, "declared", shape, seen, candidates), Sequential()
    wrong = np.zeros(2)
    for _ in range(WORLDS):
        every = sign * SHAPES[name](rng, (candidates, REPEATS))
        claimed = every[every[:, :seen].mean(axis=1).argmax()]
        for place, values in enumerate((claimed, claimed[seen:])):
            mean = method.mean(Series(values, np.zeros(len(values))))
            wrong[place] += mean.p_above(0) <= LEVEL
    by_all, since = (wrong / WORLDS).tolist()
    return by_all, since


def main() -> None:
    """Simulate all worlds and write the shares."""
    rows = []
    for shape, seen, candidates in product(RESULTS_OF, SEEN, CANDIDATES):
        by_all, since = share_wrong(shape, seen, candidates)
        rows.append({"results": shape, "seen": seen, "candidates": candidates, "all": by_all, "since": since})
        print(rows[-1], flush=True)
    write_text(
        RESULTS, json.dumps({"worlds": WORLDS, "repeats": REPEATS, "level": LEVEL, "rows": rows}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
