"""Add to `identities.json` what it does not remember yet: `python -m tests.golden.write`, deliberately.

What is there stays: an entry that differs from today's is an error here as in the test. Whoever means to rename what is
committed takes the entry out by hand first, and says why.
"""

from __future__ import annotations

import json
import math
from typing import Any

from harness.identity import VERSION
from harness.privacy.accountants import ACCOUNTANTS, Run
from tests.golden import sample
from tests.golden.committed import GOLDEN, Committed, committed, golden, noise_question


def noise_of_halves(result: Committed) -> dict[str, float]:
    """Calibrated anew: takes half a second each."""
    noise = {}
    for table in result.tables():
        experiment = table.scaled.spec.experiment
        assert experiment is not None
        for variant in experiment.variants():
            setup, epsilon = variant.setup, variant.epsilon
            private = [p for p in setup.pools.values() if p.trained_on == "halves" and p.privacy == "like-target"]
            if not private or math.isinf(epsilon):
                continue
            records = (setup.sizes.members + setup.sizes.nonmembers) // 2
            question = noise_question(setup, epsilon, records)
            if question not in noise:
                run = Run(records, setup.training.batch_size, setup.training.epochs, setup.privacy.delta)
                accountant = ACCOUNTANTS[setup.privacy.accountant]
                noise[question] = accountant.calibrate(epsilon, run, setup.privacy.adjacency, setup.privacy.sampling)
    return noise


def today() -> dict[str, Any]:
    """What `identities.json` would say."""
    noise = noise_of_halves(committed({}))
    tables = {t.name: t for t in committed(noise).tables() if t.profile == "sequential"}
    plans = {spec: tables[sample.table_of(spec)].plan for spec in sample.SPECS}
    return {
        "version": VERSION,
        "hashes": sample.hashes(),
        "pieces": {
            spec: {what: sample.identity_of(piece) for what, piece in sample.pieces(plan.cells).items()}
            for spec, plan in plans.items()
        },
        "draws": {spec: sample.draws(plan.cells) for spec, plan in plans.items()},
        "generated": sample.generated(),
        "noise_of_halves": noise,
    }


def added(before: Any, now: Any, where: str = "") -> Any:
    """What was remembered, and what is new. Raises SystemExit for what is not as it was."""
    if isinstance(before, dict) and isinstance(now, dict):
        return {
            key: added(before[key], now.get(key), f"{where} / {key}") if key in before else now[key]
            for key in sorted({*before, *now})
        }
    if now is not None and before != now:
        raise SystemExit(f"{where}: {before!r} is remembered, and today it is {now!r}")
    return before


if __name__ == "__main__":
    result = added(golden() if GOLDEN.is_file() else {}, today())
    GOLDEN.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
