"""What other readings would cost, from what the specs themselves took: nothing is prepared or trained."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from harness.execution.table import read_table
from harness.inference import FEWEST
from harness.pipeline.context import Run
from harness.spec.readings import Reading
from harness.verdicts.partial import seconds_a_model
from harness.verdicts.publish import reading_matters


@dataclass(frozen=True)
class ReadingCost:
    """A reading of a spec, the claims that depend on it, and what the fewest runs that can decide them would take."""

    spec: str
    reading: Reading
    claims: tuple[str, ...]
    models: int
    """Models under attack: as many of each place as may decide anything. Shadow models are beside these."""
    seconds: float | None
    """Core-seconds, shadow models and attacks included; None: the spec was not run."""
    is_run: bool


def cost_readings(readings: Iterable[tuple[Run, Reading, Run]]) -> list[ReadingCost]:
    """The costs of readings, each with its spec and its variant: those that were not run first, the cheapest first."""
    costs, seconds = [], dict[str, float | None]()
    for one, reading, variant in readings:
        experiment, spec = variant.spec.own_experiment, one.spec
        assert experiment is not None
        if one.id not in seconds:
            path = one.measurements_file
            seconds[one.id] = seconds_a_model(read_table(path), experiment.coordinates) if path.is_file() else None
        known = seconds[one.id]
        parts_of = {claim.id: spec.parts(claim) for claim in spec.claims if not claim.theory}
        claims = {c: parts for c, parts in parts_of.items() if reading_matters(reading, parts, one.declared.spec)}
        if not claims:
            continue
        arms = {arm for parts in claims.values() for part in parts for arm in part.arms()}
        models = FEWEST * sum(1 for cell in experiment.variants() if cell.arm in arms)
        took = None if known is None else models * known
        costs.append(ReadingCost(one.id, reading, (*claims,), models, took, variant.measurements_file.is_file()))
    return sorted(costs, key=lambda cost: (cost.is_run, math.inf if cost.seconds is None else cost.seconds))
