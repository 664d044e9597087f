"""The contract of a data set that is drawn."""

from __future__ import annotations

import numpy as np

from harness.data.dataset import GeneratorDataset
from harness.testing.nonconformance import check_configuration, require

RECORDS = 60


def check_generator(dataset: GeneratorDataset) -> None:
    """Whether a distribution keeps the contract: shapes and types of what it draws, classes that it says, and records
    that follow from the seed.

    Raises NonConformance.
    """
    name = type(dataset).plugin_name()
    check_configuration(dataset)
    require(dataset.n_classes >= 2, f"{name}: has {dataset.n_classes} classes; at least 2")
    require(dataset.n_components >= 1, f"{name}: has {dataset.n_components} components; at least 1")
    component = np.arange(RECORDS) % dataset.n_components
    features, labels = dataset.sample(component, np.random.default_rng(0))
    require(features.shape[:1] == labels.shape == (RECORDS,), f"{name}: one record and label an entry of `component`")
    require(features.ndim == 2 and features.dtype == np.float32, f"{name}: features are (n, n_features) float32")
    require(np.issubdtype(labels.dtype, np.integer), f"{name}: labels are integers, found {labels.dtype}")
    require(np.isfinite(features).all(), f"{name}: draws numbers that are not finite")
    inside = labels.min() >= 0 and labels.max() < dataset.n_classes
    require(inside, f"{name}: labels are from 0 to {dataset.n_classes - 1}, found {labels.min()} to {labels.max()}")
    again, others = (dataset.sample(component, np.random.default_rng(seed))[0] for seed in (0, 1))
    require(np.array_equal(again, features), f"{name}: the same seed draws other records; draw from `rng` alone")
    require(not np.array_equal(others, features), f"{name}: another seed draws the same records; draw from `rng`")
