"""Distance to the decision boundary, found by labels alone (Choquette-Choo et al. 2021; Li and Zhang 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.attacks.attack import ATTACKS, Fitted, ScoringAttack
from harness.attacks.perturbed import ROWS
from harness.attacks.pool import Pool
from harness.attacks.target import AttackResult, Target
from harness.defences import Oracle
from harness.hashing import generator
from harness.metrics.answers import Answers
from harness.metrics.membership import best_threshold

HALVINGS = 12
"""Steps of a search between two points: it ends within 1/4096 of the way."""


@ATTACKS.register
class Boundary(ScoringAttack):
    """Member iff the record is far from where the answered label changes; one answered wrongly is at distance 0.

    The distance is an upper bound found by HopSkipJump (Chen, Jordan and Wainwright 2020, Algorithm 2, Euclidean):
    from the nearest record with another label to the boundary, then steps along a direction that labels around a point
    of the boundary suggest, back to the boundary each time. The threshold for decisions is the best one on the
    adversary's own shadow models.
    """

    kind: Literal["boundary"] = "boundary"
    steps: int = Field(default=4, ge=0)
    """Steps along the boundary; with none it is the distance on the way to another record."""
    directions: int = Field(default=32, ge=2)
    """Questions by which a direction is found in the first step; in step t so many times the root of t."""
    points: int | None = Field(default=None, ge=2)
    """Attack the first so many members, and non-members, alone, and as many of the shadow models'; None: all."""
    pool: str = "shadows"
    """The pool of shadow models, declared under `experiment.pools`."""
    access: ClassVar[Literal["posteriors", "labels"]] = "labels"
    reads_features: ClassVar[bool] = True
    summary: ClassVar[str] = "distance to the decision boundary, by labels alone"

    @property
    def shadow_pool(self) -> str | None:
        return self.pool

    def fitting_seconds(self, records: int) -> float:
        return 2e-5 * records * self.directions * (self.steps + 1)

    def fit(self, pool: Pool, seed: int) -> Fitted:
        """The best threshold on the distances of the shadow models' records."""
        sides: tuple[list[Array], list[Array]] = ([], [])
        for index, shadow in enumerate(pool):
            rng = generator(seed, "directions", index)
            margins_of_sides = self.score_records(shadow.oracle, self.attacked_records(shadow), rng)
            for side, margins in zip(sides, margins_of_sides, strict=True):
                side.append(margins)
        return {"threshold": np.array(best_threshold(*(np.concatenate(side) for side in sides)))}

    def measure(self, target: Target, fitted: Fitted) -> AttackResult:
        records = self.attacked_records(target)
        inside, outside = self.score_records(target.oracle, records, generator(target.seed, "directions"))
        threshold = float(fitted["threshold"])
        return self.pack_answers(Answers(inside, outside, inside >= threshold, outside >= threshold))

    def attacked_records(self, target: Target) -> list[tuple[Array, Array]]:
        """Features and labels of the members and of the non-members that are attacked."""
        return [
            (features[: self.points], labels[: self.points])
            for features, labels in zip(target.features(), target.labels(), strict=True)
        ]

    def score_records(
        self, oracle: Oracle, records: Sequence[tuple[Array, Array]], rng: np.random.Generator
    ) -> list[Array]:
        """Distances of several sets of records, each of features (k, d) and labels (k,)."""
        features = np.concatenate([f for f, _ in records]).astype(np.float32)
        labels = np.concatenate([y for _, y in records])
        margins = distances(oracle, features, labels, self.steps, self.directions, rng)
        return np.split(margins, np.cumsum([len(y) for _, y in records])[:-1])


def distances(
    oracle: Oracle, features: Array, labels: Array, steps: int, directions: int, rng: np.random.Generator
) -> Array:
    """Upper bounds on the distance of each record to where its label changes, (k,); 0 where the label is wrong.

    Where a model gives all records one label, nothing is known of its boundary, and all distances are infinite but
    those of wrong labels; they are set to the largest distance between two records.
    """
    own = oracle.labels(features)
    starts, known = _nearest_of_another_label(features, own)
    right = own == labels
    margins = np.zeros(len(features))
    margins[right & ~known] = float(np.linalg.norm(np.ptp(features, axis=0))) if len(features) else 0.0
    at = np.flatnonzero(right & known)
    per = max(1, ROWS // max(directions, 1))
    for start in range(0, len(at), per):
        rows = at[start : start + per]
        edges = _to_boundary(oracle, features[rows], own[rows], features[starts[rows]])
        best = np.linalg.norm(edges - features[rows], axis=1)
        for step in range(1, steps + 1):
            edges = hop_skip_jump_step(oracle, features[rows], own[rows], edges, step, directions, rng)
            best = np.minimum(best, np.linalg.norm(edges - features[rows], axis=1))
        margins[rows] = best
    return margins


def _nearest_of_another_label(features: Array, own: Array) -> tuple[Array, Array]:
    """For each record the nearest one that is answered with another label, and whether there is one: (k,) each."""
    squares = np.square(features, dtype=np.float64).sum(axis=1)
    nearest = np.zeros(len(features), dtype=np.int64)
    known = np.zeros(len(features), dtype=bool)
    for label in np.unique(own):
        rows, others = np.flatnonzero(own == label), np.flatnonzero(own != label)
        if not len(others):
            continue
        known[rows] = True
        for start in range(0, len(rows), ROWS):
            part = rows[start : start + ROWS]
            apart = squares[others][None] - 2.0 * (features[part] @ features[others].T)
            nearest[part] = others[apart.argmin(axis=1)]
    return nearest, known


def _to_boundary(oracle: Oracle, inside: Array, own: Array, outside: Array) -> Array:
    """On the way from each record (k, d) to a point with another label: where the label has just changed."""
    low, high = np.zeros(len(inside), np.float32), np.ones(len(inside), np.float32)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        same = oracle.labels(_interpolate(inside, outside, middle)) == own
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return _interpolate(inside, outside, high)


def _interpolate(inside: Array, outside: Array, share: Array) -> Array:
    points: Array = inside + share[:, None] * (outside - inside)
    return points


def hop_skip_jump_step(
    oracle: Oracle, features: Array, own: Array, edges: Array, step: int, directions: int, rng: np.random.Generator
) -> Array:
    """One step of HopSkipJump from points of the boundary (k, d), back to the boundary."""
    k, d = features.shape
    distance = np.linalg.norm(edges - features, axis=1)
    count = int(np.ceil(directions * np.sqrt(step)))
    radius = np.maximum(distance / (np.sqrt(d) * 4), 1e-6)
    normal = np.zeros((k, d))
    per = max(1, ROWS // count)
    for start in range(0, k, per):
        rows = slice(start, min(k, start + per))
        size = rows.stop - rows.start
        tried = rng.standard_normal((size, count, d), dtype=np.float32)
        tried /= np.linalg.norm(tried, axis=2, keepdims=True)
        asked = edges[rows][:, None] + radius[rows][:, None, None].astype(np.float32) * tried
        changed = oracle.labels(asked.reshape(-1, d)).reshape(size, count) != own[rows][:, None]
        sign = np.where(changed, 1.0, -1.0)
        centred = sign - sign.mean(axis=1, keepdims=True)
        weights = np.where(np.ptp(sign, axis=1, keepdims=True) == 0, sign, centred)
        normal[rows] = np.einsum("rc,rcd->rd", weights, tried)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    length = distance / np.sqrt(step)
    moved, open_ = edges.copy(), np.ones(k, dtype=bool)
    for _ in range(HALVINGS):
        if not open_.any():
            break
        tries = (edges[open_] + length[open_][:, None] * normal[open_]).astype(np.float32)
        beyond = oracle.labels(tries) != own[open_]
        rows_open = np.flatnonzero(open_)
        moved[rows_open[beyond]] = tries[beyond]
        open_[rows_open[beyond]] = False
        length = length / 2
    return _to_boundary(oracle, features, own, moved)
