"""Parts of claims that a profile does not run, and why."""

from __future__ import annotations

import math

from harness.claims.evidence import Measurements
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.results import PartResult, not_run
from harness.claims.series import is_of_runs
from harness.metrics import METRICS
from harness.spec.model import Spec


def _epsilons_lost(part: MeasuredClaimKind, evidence: Measurements) -> list[float]:
    """The epsilons that a part speaks of and the profile leaves out."""
    asked = part.levels_asked().get("epsilon")
    lost: set[float] = set()
    for operand in part.operands():
        fixed = operand.fixed_axes.get("epsilon")
        wanted = asked if fixed is None else [fixed]
        for arm in operand.arm:
            lost |= {
                epsilon
                for epsilon in evidence.arm(arm).epsilons_left_out
                if (math.isfinite(epsilon) if wanted is None else epsilon in wanted)
            }
    return sorted(lost)


def part_left_out(part: MeasuredClaimKind, spec: Spec, evidence: Measurements) -> PartResult | None:
    """A *not run* result for a part that the profile leaves out or that is not measured yet; None for others."""
    operands = part.operands()
    metrics = {m for o in operands for m in o.metrics}
    attacks = {attack for o in operands for attack in o.attack}
    missing, not_yet = sorted(attacks - set(spec.attack_names)), sorted(attacks - evidence.attacks)
    if part.needs_one_attack and part.has_measured_alternative(evidence):
        missing, not_yet = [], []
    assert spec.experiment is not None
    relative = any(m in METRICS and METRICS[m].scope == "baseline" for m in metrics)
    grids = [levels.get("epsilon", ()) for levels in map(spec.experiment.levels, part.arms())]
    why = None
    if missing:
        why = f"the profile leaves out the attack {', '.join(missing)}"
    elif not_yet:
        why = f"the attack {', '.join(not_yet)} is not measured yet"
    elif relative and spec.own_experiment is not None and any(math.inf not in grid for grid in grids):
        why = "the profile leaves out the model without noise, which accuracy loss is relative to"
    elif any(map(is_of_runs, metrics)) and spec.own_experiment is not None and spec.own_experiment.repeats < 2:
        why = "the profile runs one repeat, and members exposed in every run need two"
    elif not part.counts_absent_points and (lost := _epsilons_lost(part, evidence)):
        epsilons = ", ".join(f"{epsilon:g}" for epsilon in lost)
        why = f"the profile leaves out epsilon {epsilons}, and the claim is of all of them together"
    return None if why is None else not_run(why)
