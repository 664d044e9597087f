"""The encoder against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, Normalizer, OneHotEncoder, StandardScaler

from harness.data.dataset import Schema
from harness.data.encoding import Preprocessing, encode
from harness.errors import HarnessError

SCALERS = {"none": None, "min-max": MinMaxScaler(), "standard": StandardScaler()}
VALUES = st.one_of(st.none(), st.floats(-1e3, 1e3).map(lambda x: round(x, 3)))


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    n = draw(st.integers(3, 20))
    numbers = draw(st.lists(VALUES, min_size=n, max_size=n).filter(lambda v: any(x is not None for x in v)))
    cats = draw(
        st.lists(st.sampled_from(["a", "b", "c", None]), min_size=n, max_size=n).filter(
            lambda v: any(x is not None for x in v)
        )
    )
    labels = draw(st.lists(st.sampled_from(["no", "yes"]), min_size=n, max_size=n))
    return pd.DataFrame({"x": pd.Series(numbers, dtype=float), "c": pd.Series(cats, dtype=object), "y": labels})


@settings(deadline=None, max_examples=60)
@given(tables(), st.sampled_from(sorted(SCALERS)))
def test_agrees_with_scikit_learn(table: pd.DataFrame, scaling: str) -> None:
    result = encode(table, Schema("y", ("c",)), Preprocessing.model_validate({"scaling": scaling}))
    x = SimpleImputer(strategy="mean").fit_transform(table[["x"]])
    if (scaler := SCALERS[scaling]) is not None:
        spread = x.max() - x.min()
        x = scaler.fit_transform(x) if spread > 1e-9 * max(1.0, abs(x).max()) else np.zeros_like(x)
    c = SimpleImputer(strategy="most_frequent", missing_values=None).fit_transform(table[["c"]].astype(object))
    hot = OneHotEncoder(sparse_output=False).fit(c)
    if scaling != "none" and np.ptp(table["x"].dropna()) < 1e-6:
        return  # a constant column has no scale; scikit-learn and the encoder treat rounding differently
    np.testing.assert_allclose(result.features[:, :1], x, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(result.features[:, 1:], hot.transform(c))
    assert result.columns[1:] == tuple(f"c={v}" for v in hot.categories_[0])
    assert [result.classes[i] for i in result.labels] == list(table["y"])


def test_unit_norm_agrees_with_scikit_learn() -> None:
    table = pd.DataFrame({"x": [3.0, 0.0, 1.0], "z": [4.0, 0.0, 1.0], "y": [0, 1, 1]})
    result = encode(table, Schema("y", ()), Preprocessing(scaling="unit-norm"))
    np.testing.assert_allclose(result.features, Normalizer().fit_transform(table[["x", "z"]]), rtol=1e-6)


def test_drop_rows_keeps_positions_and_drop_removes_columns() -> None:
    table = pd.DataFrame({"x": [1.0, None, 3.0], "c": ["a", "b", "a"], "y": [0, 1, 1]})
    result = encode(table, Schema("y", ()), Preprocessing(impute="drop-rows", scaling="none"), drop=("c",))
    assert result.rows.tolist() == [0, 2]
    assert result.columns == ("x",)
    with pytest.raises(HarnessError, match="column 'nope' cannot be removed: the dataset's columns are x, c"):
        encode(table, Schema("y", ()), Preprocessing(), drop=("nope",))


def test_missing_can_be_a_category_of_its_own() -> None:
    table = pd.DataFrame({"c": ["a", None, "b"], "y": [0, 1, 1]})
    assert encode(table, Schema("y", ()), Preprocessing(impute="category")).columns == ("c=a", "c=b", "c=missing")
