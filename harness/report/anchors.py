"""Names of what was measured at a place, which points of figures and claims on them share."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

from harness.claims.verdict import Verdict
from harness.coordinates import Level, Place, Where, place
from harness.hashing import fingerprint
from harness.spec.model import Spec


def mark(arm: str, attack: str, metric: str, where: Place) -> str:
    """The name of a metric of an arm and an attack ("" for the model's own) at a place."""
    levels = [[axis, value if isinstance(value, str) else f"{value:g}"] for axis, value in sorted(where)]
    return fingerprint([arm, attack, metric, levels])[:7]


def marks_of(verdict: Verdict, spec: Spec) -> list[str]:
    """The names of all numbers on which a verdict was judged: of both sides, and of what chooses their places."""
    claim = next((claim for claim in spec.claims if f"{spec.id}#{claim.id}" == verdict.id), None)
    parts = spec.parts(claim) if claim is not None and spec.experiment is not None else []
    marks: dict[str, None] = {}
    for point in verdict.numbers.points:
        if point.expectation >= len(parts):
            continue
        epsilon = math.inf if point.epsilon is None else point.epsilon
        for operand in parts[point.expectation].operands():
            where = {"epsilon": epsilon, **(point.at or {}), **operand.fixed_axes}
            chosen = {operand.chosen.axis} if operand.chosen is not None else set()
            for arm in operand.arm or tuple(spec.name_scope.arms)[:1]:
                for attack in operand.attack or ("",):
                    axes = spec.name_scope.axes(arm, attack)
                    for there in _places(axes, where, chosen | set(operand.mean_over)):
                        marks.update((mark(arm, attack, metric, there), None) for metric in operand.metric)
    return list(marks)


def _places(axes: Mapping[str, Sequence[Level]], where: Where, whole: Collection[str]) -> Iterator[Place]:
    """The places of a number: at the values of `where`, and at all values of axes that are taken whole or that `where`
    leaves open."""
    values = {
        axis: [where[axis]] if axis not in whole and where.get(axis) in axes[axis] else axes[axis] for axis in axes
    }
    for levels in product(*values.values()):
        yield place(zip(values, levels, strict=True))
