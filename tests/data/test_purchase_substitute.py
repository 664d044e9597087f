"""The table that stands in for Purchase-100."""

from __future__ import annotations

import numpy as np
import pytest

from harness.data.datasets.purchase_substitute import POPULARITY, SPREAD, PurchaseSubstitute
from harness.data.fetch import fetch, read_table
from harness.paths import Project
from harness.progress import Progress


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, np.ndarray]:
    project, progress, lines = Project(tmp_path_factory.mktemp("p")), Progress(quiet=True), list[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "say", lines.append)
        fetch(project, PurchaseSubstitute(), progress)
    assert lines == ["purchase100-substitute: 197324 rows, generated from a seed"]
    result = read_table(project, PurchaseSubstitute())
    assert result.source == "generated from a seed"
    return result.sha256, result.frame.to_numpy()


def test_it_has_the_form_of_the_published_table_and_is_the_same_wherever_it_is_drawn(
    table: tuple[str, np.ndarray],
) -> None:
    digest, values = table
    assert values.shape == (197324, 101)
    assert set(np.unique(values[:, 1:])) == {0, 1}
    assert set(np.unique(values[:, 0])) == set(range(1, 101))
    assert digest == PurchaseSubstitute.canonical_sha256


def test_items_are_bought_as_the_stated_distribution_says(table: tuple[str, np.ndarray]) -> None:
    labels, bits = table[1][:, 0], table[1][:, 1:].astype(float)
    # Averaged over popularity and taste, log-odds are normal with variance 1 + spread^2.
    rng = np.random.default_rng(0)
    chance = np.mean(1 / (1 + np.exp(-(POPULARITY + np.hypot(1, SPREAD) * rng.normal(size=10**6)))))
    assert abs(bits.mean() - chance) < 0.03  # 100 popularities were drawn: their mean varies by about 0.02
    # Within a class, items are independent: no correlation beyond chance (about 1,970 shoppers a class).
    shoppers = bits[labels == 1]
    shoppers = shoppers[:, shoppers.std(axis=0) > 0]
    result = np.corrcoef(shoppers.T)[np.triu_indices(shoppers.shape[1], 1)]
    assert abs(result.std() * np.sqrt(len(shoppers)) - 1) < 0.1
    # Between classes they are not: the log-odds of classes spread as stated.
    rates = np.stack([(bits[labels == c].sum(axis=0) + 0.5) / ((labels == c).sum() + 1) for c in range(1, 101)])
    odds = np.log(rates / (1 - rates))
    assert abs((odds - odds.mean(axis=0)).std() - SPREAD) < 0.04
