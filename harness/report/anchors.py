"""Names of what was measured at a place, which points of figures and claims on them share."""

from __future__ import annotations

import math

from harness.claims.verdict import Verdict
from harness.coordinates import Place, place
from harness.hashing import fingerprint
from harness.spec.model import Spec


def mark(arm: str, attack: str, metric: str, where: Place) -> str:
    """A name of a metric of an arm and an attack ("" for one of the model) at a place."""
    levels = [[axis, value if isinstance(value, str) else f"{value:g}"] for axis, value in sorted(where)]
    return fingerprint([arm, attack, metric, levels])[:7]


def marks_of(verdict: Verdict, spec: Spec) -> list[str]:
    """Of every number that a verdict on measurements was judged at, on either side, or that these are chosen from."""
    claim = next((claim for claim in spec.claims if f"{spec.id}#{claim.id}" == verdict.id), None)
    parts = spec.parts(claim) if claim is not None and spec.experiment is not None else []
    marks: dict[str, None] = {}
    for point in verdict.points:
        if point.expectation >= len(parts):
            continue
        for operand in parts[point.expectation].operands():
            epsilon = math.inf if point.epsilon is None else point.epsilon
            where: dict[str, object] = {"epsilon": epsilon, **(point.at or {}), **operand.fixed_axes}
            for arm in operand.arm or tuple(spec.name_scope.arms)[:1]:
                for attack in operand.attack or ("",):
                    axes = spec.name_scope.axes(arm, attack)
                    chosen = operand.chosen.axis if operand.chosen is not None else None
                    for one in ({**where, chosen: v} for v in axes[chosen]) if chosen is not None else (where,):
                        there = place((axis, value) for axis, value in one.items() if value in axes.get(axis, ()))
                        marks.update((mark(arm, attack, metric, there), None) for metric in operand.metric)
    return list(marks)
