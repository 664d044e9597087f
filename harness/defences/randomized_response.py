"""The defence that answers labels by randomised response (Warner 1965; rahimian2021 Section 4.2)."""

from __future__ import annotations

import hashlib
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.arrays import Array
from harness.defences.defence import DEFENCES, Defence
from harness.defences.oracle import Answered, LabelsOnly, Oracle
from harness.hashing import derive_seed, generator


@DEFENCES.register
class RandomizedResponse(Defence):
    """The model answers its label with probability `truth`, else one of the others, each as likely.

    One answer is (ln(truth (C - 1) / (1 - truth)), 0)-differentially private in the model's label, for C classes: with
    the paper's two fair coins ln(3 (C - 1)). N fresh answers about one label spend N times as much, and what is asked
    for again and again is found out; `per-input` gives the same record the same answer each time.
    """

    kind: Literal["randomized-response"] = "randomized-response"
    truth: float = Field(default=0.75, gt=0, lt=1)
    """Probability of the model's own label; two fair coins give 3/4."""
    drawn: Literal["per-query", "per-input"] = "per-query"
    """Whether coins are tossed anew each time, or once for all times that a record (bit by bit) is asked about."""
    answers: ClassVar[Answered] = "labels"
    summary: ClassVar[str] = "the label with some probability, else another one"

    def wrap(self, oracle: Oracle, seed: int) -> Oracle:
        return _Randomized(oracle, self, seed)


class _Randomized(LabelsOnly):
    def __init__(self, behind: Oracle, defence: RandomizedResponse, seed: int) -> None:
        super().__init__(behind)
        self._defence, self._seed = defence, derive_seed(seed, "randomised response")
        self._rng = generator(seed, "randomised response")

    def labels(self, features: Array) -> Array:
        own = self._behind.labels(features)
        if self.n_classes < 2:
            return own
        coin, shift = self._toss(features)
        labels: Array = np.where(coin < self._defence.truth, own, (own + shift) % self.n_classes)
        return labels

    def _toss(self, features: Array) -> tuple[Array, Array]:
        """The coin of each record, a number below 1, and its shift to another class: (k,) each."""
        others = self.n_classes - 1
        if self._defence.drawn == "per-query":
            return self._rng.random(len(features)), 1 + self._rng.integers(others, size=len(features))
        # A keyed hash of the record's bytes in place of a table of answers: the same record gets the same coin, in
        # whatever batch it is asked about.
        key = self._seed.to_bytes(8, "little", signed=False)
        rows = np.ascontiguousarray(features)
        digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=16, key=key).digest() for row in rows)
        words = np.frombuffer(digests, dtype="<u8").reshape(-1, 2)
        # 53 bits are what a float below 1 holds exactly.
        return (words[:, 0] >> np.uint64(11)) * 2.0**-53, 1 + (words[:, 1] % np.uint64(others)).astype(np.int64)
