"""A model as those outside may ask it: what it answers, and how often it was asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

from harness.arrays import Array
from harness.errors import HarnessError

Answered = Literal["posteriors", "labels"]
"""What a model gives for a record: a probability of every class, or the class alone."""


class Oracle(ABC):
    """The one way by which an attack asks a model about records; a defence stands in front of one."""

    @property
    @abstractmethod
    def answers(self) -> Answered:
        """What the model gives for a record: posteriors, or labels alone."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    @property
    @abstractmethod
    def queries(self) -> int:
        """The number of records asked about so far, each counted as often as it was asked about."""

    @abstractmethod
    def labels(self, features: Array) -> Array:
        """The class of each record: features (k, d) to (k,) integers."""

    @abstractmethod
    def log_probabilities(self, features: Array) -> Array:
        """The log-probability of every class, (k, n_classes), of features (k, d).

        Raises HarnessError where the model gives labels alone.
        """


class ModelOracle(Oracle):
    """A model that nothing stands in front of."""

    def __init__(
        self, function: Callable[[Array], Array], n_classes: int, labels: Callable[[Array], Array] | None = None
    ) -> None:
        """Wrap a function from features (k, d) to log-probabilities (k, n_classes).

        `labels` is a faster way to the labels (k,), where there is one.
        """
        self._function, self._n_classes, self._queries = function, n_classes, 0
        self._labels = labels or (lambda features: function(features).argmax(axis=1))

    @property
    def answers(self) -> Answered:
        return "posteriors"

    @property
    def n_classes(self) -> int:
        return self._n_classes

    @property
    def queries(self) -> int:
        return self._queries

    def labels(self, features: Array) -> Array:
        self._queries += len(features)
        return self._labels(features)

    def log_probabilities(self, features: Array) -> Array:
        self._queries += len(features)
        return self._function(features)


class LabelsOnly(Oracle):
    """A model behind it, of which it gives labels and nothing else."""

    def __init__(self, behind: Oracle) -> None:
        self._behind = behind

    @property
    def answers(self) -> Answered:
        return "labels"

    @property
    def n_classes(self) -> int:
        return self._behind.n_classes

    @property
    def queries(self) -> int:
        return self._behind.queries

    def labels(self, features: Array) -> Array:
        return self._behind.labels(features)

    def log_probabilities(self, features: Array) -> Array:
        raise HarnessError("posteriors were asked of a model that answers labels alone")
