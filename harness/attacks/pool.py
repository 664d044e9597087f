"""What an attack is fitted on: shadow models, each a target whose members the adversary knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Self, overload

import numpy as np

from harness.arrays import Array
from harness.attacks.target import Target
from harness.defences import Oracle
from harness.errors import HarnessError
from harness.metrics import Outputs


class InOutModel(Target):
    """A shadow model of a pool of halves: its members are the candidate records that it was trained on."""

    def __init__(
        self,
        candidates: Outputs,
        test: Outputs,
        trained_on: Array,
        oracle: Oracle | None = None,
        features: Array | None = None,
    ) -> None:
        """
        Args:
            candidates: in the order of members, then non-members, of the split; or of the universe, where coins divide
                one.
            test: on records of which everybody knows that they are not members.
            trained_on: which candidate records it was trained on, (n,) bool.
            oracle: the model itself; without it, no further questions are answered.
            features: of the candidate records, (n, d).

        Raises HarnessError for a mask of another length than the outputs.
        """
        if len(trained_on) != len(candidates):
            raise HarnessError(
                f"a model of the pool: a mask of {len(trained_on)} records does not fit its outputs, which are of "
                f"{len(candidates)}; masks and outputs have to be of the same records, in the same order"
            )
        self.candidates, self.trained_on = candidates, trained_on
        self._test, self._oracle, self._features = test, oracle, features

    @property
    def members(self) -> Outputs:
        return self.candidates.take(self.trained_on)

    @property
    def nonmembers(self) -> Outputs:
        return self.candidates.take(~self.trained_on)

    @property
    def test(self) -> Outputs:
        return self._test

    @property
    def places(self) -> tuple[Array, Array]:
        return np.flatnonzero(self.trained_on), np.flatnonzero(~self.trained_on)

    @property
    def oracle(self) -> Oracle:
        if self._oracle is None:
            raise HarnessError("a model of the pool: it answers no further questions")
        return self._oracle

    def features(self) -> tuple[Array, Array]:
        if self._features is None:
            raise HarnessError("a model of the pool: the candidate records are not known")
        inside, outside = (self._features[where] for where in self.places)
        return inside, outside


def _same(model: Target) -> Target:
    return model


class Pool(Sequence[Target]):
    """The shadow models that an attack learns from, each read when it is first asked for.

    What this pool does not have it refuses by HarnessError: any models, masks, features, or questions.
    """

    def __init__(self, models: Iterable[Target | Callable[[], Target]] = (), name: str = "this pool") -> None:
        """`models` may be functions that read them; `name` begins messages."""
        self._readers: list[Callable[[], Target]] = [
            partial(_same, one) if isinstance(one, Target) else cache(one) for one in models
        ]
        self.name = name

    def __len__(self) -> int:
        return len(self._readers)

    def __iter__(self) -> Iterator[Target]:
        return (read() for read in self._some())

    @overload
    def __getitem__(self, at: int) -> Target: ...

    @overload
    def __getitem__(self, at: slice) -> Self: ...

    def __getitem__(self, at: int | slice) -> Target | Self:
        if isinstance(at, slice):
            return type(self)(self._readers[at], self.name)
        return self._some()[at]()

    def _some(self) -> list[Callable[[], Target]]:
        if not self._readers:
            raise HarnessError(
                f"{self.name} has no shadow models; name a pool in the attack's shadow_pool, and declare it under "
                "experiment.pools"
            )
        return self._readers

    def without(self, *left_out: int) -> Self:
        """All models but these, by their numbers from 0."""
        return type(self)([read for at, read in enumerate(self._readers) if at not in left_out], self.name)

    @property
    def n_classes(self) -> int:
        """How many classes its models tell apart."""
        return self[0].members.log_probabilities.shape[1]

    @property
    def candidates(self) -> list[Outputs]:
        """Each model's outputs on all candidate records, in the same order; of a pool of halves alone."""
        return [model.candidates for model in self._in_out_models()]

    @property
    def masks(self) -> Array:
        """Which model was trained on which candidate record, (models, n) bool; of a pool of halves alone."""
        return np.stack([model.trained_on for model in self._in_out_models()])

    def _in_out_models(self) -> list[InOutModel]:
        models = list(self)
        halves = [model for model in models if isinstance(model, InOutModel)]
        if len(halves) < len(models):
            raise HarnessError(
                f"{self.name} has models on records of the adversary's own, so no masks of the candidate records; set "
                "needs_halves = True in the attack, and trained_on: halves in the pool"
            )
        return halves
