"""A canary sought against the loss: the record that models with it and without it differ on most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.arrays import Array
from harness.auditing.canaries import CanaryRecords
from harness.auditing.trials import TrainMany, label_log_probabilities, score_change
from harness.errors import HarnessError
from harness.hashing import derive_seed, generator

DRAWN = 32
"""Records of each sort that are looked at: drawn in the box of the data, its corners, and ordinary ones."""


@dataclass(frozen=True)
class Search:
    """How many models are trained before an audit begins."""

    models: int = 55
    """Without a canary, and with each finalist; at least 4."""
    finalists: int = 4
    """Candidates that models are trained with."""
    rounds: int = 1
    """Rounds after the first, in which finalists are the best so far with some columns drawn anew."""

    @classmethod
    def for_runs(cls, runs: int) -> Search:
        """One that trains about half as many models as an audit of so many runs."""
        return cls(models=max(4, runs // (2 * (1 + cls.finalists * (1 + cls.rounds)))))

    @property
    def trainings(self) -> int:
        """Models that a search trains."""
        return self.models * (1 + self.finalists * (1 + self.rounds))


def seek_canary(train: TrainMany, records: CanaryRecords, seed: int, search: Search | None = None) -> CanaryRecords:
    """`records` with the canary that tells models with it from models without it best, by its loss.

    Auditing of the final model alone with crafted records (Yoon et al. 2024), by search in place of gradients, so that
    any training function can be asked. Candidates are records in the box of the data, at its corners, and ordinary
    ones, each in the class that models find least likely. A candidate's separation is how far its mean
    log-probability under models with it is above that under models without it, in their common standard deviation.
    Seeds of a search and of the audit after it have nothing in common: what comes out best by chance does not do so
    again, and the audit's bound holds.

    Raises HarnessError as `many_runs` does, for what the training function gives.
    """
    search = search or Search()
    models = _Models(train, seed, search.models)
    rng = generator(seed, "canary search")
    without = models.train_on(records, inside=False)
    finalists = _least_likely(without, records, search.finalists, rng)
    best, separation = finalists[0], -np.inf
    for number in range(1 + search.rounds):
        for one in finalists if number == 0 else [_vary(best, rng) for _ in finalists]:
            apart = _separate(models.train_on(one, inside=True).scores(one), without.scores(one))
            if apart > separation:
                best, separation = one, apart
    return best


@dataclass(frozen=True)
class _Trained:
    """Models of one set of records, and from which weights each started, where that is known."""

    models: Sequence[object]
    starts: Sequence[object]

    def scores(self, records: CanaryRecords) -> Array:
        """Of the canary, as an audit by its loss scores it: (models,). Raises HarnessError where one is no number."""
        pairs = zip(self.models, self.starts, strict=True)
        scores = np.array([score_change(model, start, records, "loss") for model, start in pairs])
        if not np.isfinite(scores).all():
            odd = scores[~np.isfinite(scores)][0]
            raise HarnessError(f"audit: a model of the search for a canary has the score {odd}, no number")
        return scores


class _Models:
    """Trains `count` models at a time, none with a seed that another had."""

    def __init__(self, train: TrainMany, seed: int, count: int) -> None:
        self._train, self._seed, self._count, self._trained = train, seed, count, 0

    def train_on(self, records: CanaryRecords, inside: bool) -> _Trained:
        first, self._trained = self._trained, self._trained + self._count
        seeds = [derive_seed(self._seed, "canary search", i) for i in range(first, self._trained)]
        models = self._train([(*records.records(inside), at) for at in seeds])
        initial = getattr(self._train, "initial", None)
        return _Trained(models, [initial and initial(records.features.shape[1], at) for at in seeds])


def _least_likely(
    without: _Trained, records: CanaryRecords, count: int, rng: np.random.Generator
) -> list[CanaryRecords]:
    """For each sort of candidate in turn, the one that models without it find least likely on average."""
    low, high = records.features.min(axis=0), records.features.max(axis=0)
    shape, classes = (DRAWN, len(low)), np.unique(records.labels)
    sorts = [
        records.features[rng.permutation(len(records.features))[:DRAWN]],
        np.where(rng.random(shape) < 0.5, low, high),
        rng.uniform(low, high, size=shape),
    ]
    best = []
    for sort in sorts:
        features, labels = np.repeat(sort, len(classes), axis=0), np.tile(classes, len(sort))
        chances = np.mean([label_log_probabilities(model, features, labels) for model in without.models], axis=0)
        order = np.argsort(chances, kind="stable")[:count]
        best.append([replace(records, canary=features[i], canary_label=int(labels[i])) for i in order])
    return [one for rank in zip(*best, strict=True) for one in rank][:count]


def _vary(records: CanaryRecords, rng: np.random.Generator) -> CanaryRecords:
    """The records with a third of the canary's columns, or one, drawn anew within the range of the data."""
    low, high = records.features.min(axis=0), records.features.max(axis=0)
    anew = rng.permutation(len(low)) < max(1, len(low) // 3)
    canary = np.where(anew, rng.uniform(low, high), records.canary).astype(records.features.dtype)
    return replace(records, canary=canary)


def _separate(inside: Array, outside: Array) -> float:
    spread = np.sqrt((inside.var(ddof=1) + outside.var(ddof=1)) / 2)
    return float((inside.mean() - outside.mean()) / max(spread, 1e-12))
