"""The contract of a defence."""

from __future__ import annotations

import numpy as np

from harness.defences.defence import Defence
from harness.defences.oracle import ModelOracle
from harness.errors import HarnessError
from harness.hashing import generator
from harness.testing.nonconformance import NonConformance, check_configuration, require

RECORDS, CLASSES = 50, 3


def check_defence(defence: Defence) -> None:
    """Whether a defence keeps the contract: it answers what it says, counts every record that it is asked about, and
    gives the same from the same seed; where it answers labels alone, no posterior is given.

    Raises NonConformance.
    """
    name = type(defence).plugin_name()
    check_configuration(defence)
    features = generator(0, "conformance", name).normal(size=(RECORDS, CLASSES)).astype(np.float32)
    wrapped, again = (defence.wrap(_model(), seed=7) for _ in range(2))
    require(wrapped.n_classes == CLASSES, f"{name}: the oracle has {wrapped.n_classes} classes, the model {CLASSES}")
    require(
        wrapped.answers == type(defence).answers,
        f"{name}: says that it answers {type(defence).answers}, and its oracle answers {wrapped.answers}",
    )
    labels = wrapped.labels(features)
    require(labels.shape == (RECORDS,), f"{name}: labels are one a record, found {labels.shape}")
    require(((labels >= 0) & (labels < CLASSES)).all(), f"{name}: answers classes that there are not")
    require(wrapped.queries == RECORDS, f"{name}: counts {wrapped.queries} questions where {RECORDS} were asked")
    require(np.array_equal(labels, again.labels(features)), f"{name}: the same seed answers otherwise")
    if wrapped.answers == "posteriors":
        shape = wrapped.log_probabilities(features).shape
        require(shape == (RECORDS, CLASSES), f"{name}: log-probabilities are (records, classes), found {shape}")
        return
    try:
        wrapped.log_probabilities(features)
    except HarnessError:
        return
    raise NonConformance(f"{name}: answers labels alone, and gives posteriors to who asks for them; raise HarnessError")


def _model() -> ModelOracle:
    """A model whose logits are the features."""
    return ModelOracle(lambda x: (x - np.logaddexp.reduce(x, axis=1)[:, None]).astype(np.float32), CLASSES)
