"""How often runs after a decision turn it: the mean of all runs lies on the other side of the line.

`python -m benchmarks.turned` writes benchmarks/turned.json; docs/statistics.md shows the numbers. A claim is looked at
after each of 6 to 60 repeats, at 2.5% on either side; what the first deciding look says is compared with the mean of
all 60. Its true mean lies on its line, or 0.3 or 0.6 standard deviations above it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks.standing import SHAPES, martingales
from harness.claims.levels import RAREST
from harness.files import write_text
from harness.hashing import generator

RESULTS = Path(__file__).parent / "turned.json"
ABOVE = (0.0, 0.3, 0.6)
DRAWS, MOST, ENOUGH = 20_000, 60, 20.0
"""Series of each setting, repeats of each, and what a test has to win: half of one over it is 2.5%."""


def shares_of(shape: str, above: float) -> dict[str, float]:
    """Shares of all series: decided as and against the true mean, and those of either that the mean of all turns."""
    values = SHAPES[shape](generator(1, "turned", shape, str(above)), (DRAWS, MOST)) + above
    up, down = (martingales(values, RAREST, sign) >= ENOUGH for sign in (1.0, -1.0))
    never = MOST
    first_up, first_down = (np.where(won.any(-1), won.argmax(-1), never) for won in (up, down))
    mean = values.mean(-1)
    said_up, said_down = (first_up < first_down), (first_down < first_up)
    turned = (said_up & (mean < 0)) | (said_down & (mean > 0))
    wrong = said_down if above else said_up | said_down
    return {
        "decided": float((said_up | said_down).mean()),
        "wrong": float(wrong.mean()),
        "wrong and not turned": float((wrong & ~turned).mean()),
        "right and turned": float((said_up & turned).mean()) if above else 0.0,
    }


def main() -> None:
    """Simulate and write the shares."""
    found = {shape: {str(above): shares_of(shape, above) for above in ABOVE} for shape in SHAPES}
    write_text(RESULTS, json.dumps(found, indent=1) + "\n")
    for shape, by_mean in found.items():
        for above, shares in by_mean.items():
            print(f"{shape:32}{above:>5}", *(f"{name} {share:.4f}" for name, share in shares.items()), sep="  ")


if __name__ == "__main__":
    main()
