"""Splits: sizes and counts as printed, disjoint roles, and the structure that each promises."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.arrays import Array
from harness.data.dataset import Schema
from harness.data.datasets.adult import Adult
from harness.data.datasets.compas import Compas
from harness.data.datasets.mixture import Mixture
from harness.data.encoding import Encoded, Preprocessing, encode
from harness.data.fetch import read_table
from harness.data.split import Draw, Sizes, TableSource, TableSplit
from harness.data.splits.attribute import Attribute
from harness.data.splits.cluster import Cluster
from harness.data.splits.joint import Joint
from harness.data.splits.kmeans import KMeansPerClass
from harness.data.splits.numeric_range import NumericRange
from harness.data.splits.quarters import Quarters
from harness.data.splits.random import Random
from harness.errors import HarnessError
from harness.paths import Project

PAPER = Sizes(members=10000, test=2500, nonmembers=10000)
EDUCATION = Attribute(attribute="education", values=("HS-grad",), proxy_columns=("education-num",))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def source_of(frame: pd.DataFrame, schema: Schema) -> TableSource:
    return TableSource(frame, cache(partial(encode, frame, schema, Preprocessing())))


@pytest.fixture(scope="module")
def adult(real_data: Project) -> TableSource:
    return source_of(read_table(real_data, Adult()).frame, Adult().schema_of_table())


@pytest.fixture(scope="module")
def compas(real_data: Project) -> TableSource:
    dataset = Compas()
    return source_of(dataset.select(read_table(real_data, dataset).frame), dataset.schema_of_table())


def assert_disjoint(draw: Draw, n: int) -> None:
    together = np.concatenate(list(draw.indices.values()))
    assert len(np.unique(together)) == len(together) == n


def test_education_split_has_the_printed_counts(adult: TableSource) -> None:
    """humphries2020 Section 4.2: 15,784 and 33,058; 10,000 / 2,500 / 10,000; 26,342 left for shadow models."""
    draw = EDUCATION.draw(adult, PAPER, rng())
    assert (draw.facts["owner_set"], draw.facts["nonowner_set"]) == (15784, 33058)
    assert (len(draw.members), len(draw.test), len(draw.nonmembers)) == (10000, 2500, 10000)
    assert draw.facts["shadow_pool"] == 26342
    assert_disjoint(draw, 48842)
    education = adult.table["education"].to_numpy()
    assert set(education[draw.indices["members"]]) == set(education[draw.indices["test"]]) == {"HS-grad"}
    assert "HS-grad" not in education[draw.indices["nonmembers"]]
    columns = adult.encode(EDUCATION.drops()).columns
    assert not any(c.startswith("education") for c in columns)


def test_keeping_the_twin_leaves_it_in(adult: TableSource) -> None:
    split = EDUCATION.model_copy(update={"keep_proxies": True})
    columns = adult.encode(split.drops()).columns
    assert "education-num" in columns
    assert not any(c.startswith("education=") for c in columns)


@pytest.mark.parametrize("which", ["adult", "compas"])
def test_kmeans_gives_each_class_one_whole_cluster(which: str, request: pytest.FixtureRequest) -> None:
    """Within a class, owner and non-owner records never share a cluster, and centres are k-means' own."""
    source = request.getfixturevalue(which)
    sizes = PAPER if which == "adult" else Sizes(members=2059, test=515, nonmembers=2059)
    owner = "random" if which == "adult" else "smaller"
    split = KMeansPerClass(n_init=2, owner=owner)
    encoded = source.encode(())
    owners = split.owners(source, encoded, sizes, rng(1))
    mask = owners.mask
    if owner == "smaller":
        assert 2 * mask.sum() <= len(mask)
    for label in (0, 1):
        of_class = encoded.labels == label
        inside, outside = encoded.features[of_class & mask], encoded.features[of_class & ~mask]
        a, b = inside.mean(axis=0), outside.mean(axis=0)
        # Lloyd's fixed point: every record is nearest to its own cluster's mean.
        assert (np.linalg.norm(inside - a, axis=1) <= np.linalg.norm(inside - b, axis=1) + 1e-3).mean() > 0.999
        assert (np.linalg.norm(outside - b, axis=1) <= np.linalg.norm(outside - a, axis=1) + 1e-3).mean() > 0.999


@pytest.mark.integration
def test_a_drawn_assignment_of_clusters_says_which_and_of_how_many(adult: TableSource) -> None:
    """Adult allows all four; as many repeats as are needed meet each, and a repeat that draws the same has its sets."""
    split = KMeansPerClass()  # of fewer restarts, not each finds the same clusters
    sizes: dict[float, set[float]] = {}
    for seed in range(12):
        facts = split.draw(adult, PAPER, rng(seed)).facts
        assert facts["outcomes"] == 4
        sizes.setdefault(facts["outcome"], set()).add(facts["owner_set"])
    assert set(sizes) <= {0, 1, 2, 3}
    assert len(sizes) > 2
    assert {len(met) for met in sizes.values()} == {1}
    assert "outcome" not in Random().draw(adult, PAPER, rng()).facts


def test_where_no_assignment_is_large_enough_classes_are_clustered_anew(
    compas: TableSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One start of k-means in a few ends in clusters of COMPAS of which none can be the smaller, large enough set."""
    split, sizes = KMeansPerClass(n_init=1, owner="smaller"), Sizes(members=2059, test=515, nonmembers=2059)
    encoded, seeds, cluster = compas.encode(()), list[int](), KMeansPerClass._cluster

    def counted(self: KMeansPerClass, of: Encoded, seed: int) -> Array:
        seeds.append(seed)
        return cluster(self, of, seed)

    monkeypatch.setattr(KMeansPerClass, "_cluster", counted)
    for seed in range(30):
        mask = split.owners(compas, encoded, sizes, rng(seed)).mask
        assert 2574 <= mask.sum() <= 3086
    assert 30 < len(seeds) == len(set(seeds))


@pytest.mark.filterwarnings("error")
def test_a_class_that_cannot_be_clustered_is_named() -> None:
    """One record, or copies of one: scikit-learn raises, or warns."""
    for times in (1, 3):
        frame = pd.DataFrame({"x": [*range(20), *[7] * times], "y": ["a", "b"] * 10 + ["c"] * times})
        with pytest.raises(HarnessError, match=rf"the {times} records of class 'c' are all the same"):
            KMeansPerClass().draw(source_of(frame, Schema("y", ())), Sizes(members=4, test=2, nonmembers=4), rng())


def test_compas_has_fifteen_features_and_the_printed_rows(compas: TableSource) -> None:
    draw = Random().draw(compas, Sizes(members=2059, test=515, nonmembers=2059), rng())
    assert (draw.facts["rows"], draw.facts["features"]) == (6172, 15)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(1, 10), st.integers(1, 30), st.integers(0, 2**31))
def test_random_split_is_disjoint_for_any_sizes(members: int, test: int, nonmembers: int, seed: int) -> None:
    frame = pd.DataFrame({"x": np.arange(75.0), "y": np.arange(75) % 2})
    source = source_of(frame, Schema("y", ()))
    sizes = Sizes(members=members, test=test, nonmembers=nonmembers)
    draw = Random().draw(source, sizes, rng(seed))
    assert_disjoint(draw, 75)
    assert (len(draw.members), len(draw.test), len(draw.nonmembers)) == (members, test, nonmembers)
    again = Random().draw(source, sizes, rng(seed))
    assert all((draw.indices[k] == again.indices[k]).all() for k in draw.indices)


def test_shadow_records_are_strangers_to_the_target(adult: TableSource) -> None:
    draw = EDUCATION.draw(adult, PAPER, rng())
    shadow = EDUCATION.shadow(adult, draw, PAPER, rng(5))
    assert len(shadow.inside) == len(shadow.outside) == 10000
    rebuilt = EDUCATION.from_indices(adult, draw.indices, draw.facts)
    assert (rebuilt.members.features == draw.members.features).all()
    pool = {r.tobytes() for r in adult.encode(EDUCATION.drops()).features[draw.indices["leftover"]]}
    assert all(r.tobytes() in pool for r in shadow.inside.features[:200])


@pytest.mark.parametrize(
    ("split", "sizes", "message"),
    [
        (Random(), Sizes(members=60, test=10, nonmembers=10), "owner set has 70 records and the other 5"),
        (Attribute(attribute="c", values=("a",)), Sizes(members=60, test=1, nonmembers=1), "the owner set has 25"),
        (
            Attribute(attribute="c", values=("q",)),
            Sizes(members=1, test=1, nonmembers=1),
            "'c' is never q; it is: a, b, c",
        ),
        (Attribute(attribute="d", values=("q",)), Sizes(members=1, test=1, nonmembers=1), "cannot be removed"),
        (KMeansPerClass(), Sizes(members=70, test=3, nonmembers=2), "no assignment of clusters"),
    ],
)
def test_impossible_sizes_and_names_are_named(split: TableSplit, sizes: Sizes, message: str) -> None:
    frame = pd.DataFrame({"x": np.arange(75.0), "c": list("abc") * 25, "y": np.arange(75) % 2})
    with pytest.raises(HarnessError, match=message):
        split.draw(source_of(frame, Schema("y", ("c",))), sizes, rng())


def test_too_small_a_pool_for_shadow_models_is_named() -> None:
    frame = pd.DataFrame({"x": np.arange(20.0), "y": np.arange(20) % 2})
    source, sizes = source_of(frame, Schema("y", ())), Sizes(members=8, test=1, nonmembers=9)
    with pytest.raises(HarnessError, match="2 records are left over for shadow models"):
        Random().shadow(source, Random().draw(source, sizes, rng()), sizes, rng())


def test_mixture_follows_equation_18() -> None:
    """x_k is near 1 for k = (y + j - 2 mod m) + 1, counted from 1, and near 0 elsewhere."""
    m = 5
    dataset = Mixture(m=m, sigma=0.01)
    for j in range(1, m + 1):
        features, labels = dataset.sample(np.full(400, j - 1), rng(j))
        y = labels + 1
        assert set(y) == set(range(1, m + 1))
        assert (features.argmax(axis=1) + 1 == (y + j - 2) % m + 1).all()
        rest = features - np.eye(m)[features.argmax(axis=1)]
        assert abs(rest).max() < 0.06
        assert rest.std() == pytest.approx(0.01, rel=0.1)


def test_sigma_can_be_read_as_a_variance() -> None:
    features, _ = Mixture(m=3, sigma=0.01, sigma_is="variance").sample(np.zeros(4000, dtype=int), rng())
    rest = features - np.eye(3)[features.argmax(axis=1)]
    assert rest.std() == pytest.approx(0.1, rel=0.05)


def test_joint_draw_has_one_component_for_members_and_all_for_others() -> None:
    """Algorithm 3 and Definition 5.1: members share a relabelling, and the marginal of a record is the same."""
    dataset, sizes = Mixture(m=20), Sizes(members=4000, test=1000, nonmembers=4000)
    draw = Joint().draw(dataset, sizes, rng(3))

    def components(records: object) -> np.ndarray:
        return (records.features.argmax(axis=1) - records.labels) % 20  # type: ignore[attr-defined]

    assert set(components(draw.members)) == set(components(draw.test)) == {draw.facts["component"]}
    others = np.bincount(components(draw.nonmembers), minlength=20)
    assert others.min() > 120  # 200 expected each, standard deviation 14
    assert others[int(draw.facts["component"])] == draw.facts["nonmembers_of_same_component"]
    same = Joint(shadows="same").shadow(dataset, draw, sizes, rng(4))
    assert set(components(same.inside)) == {draw.facts["component"]}


def test_iid_draw_of_the_mixture_is_independent() -> None:
    draw = Random().draw(Mixture(m=20), Sizes(members=4000, test=100, nonmembers=4000), rng())
    parts = np.bincount((draw.members.features.argmax(axis=1) - draw.members.labels) % 20, minlength=20)
    assert parts.min() > 120


def test_turned_quarters_are_the_records_that_are_left_for_a_shadow_model() -> None:
    frame = pd.DataFrame({"x": np.arange(43.0), "y": np.arange(43) % 2})
    source, sizes = source_of(frame, Schema("y", ())), Sizes(members=10, test=10, nonmembers=10)
    draw, turned = (Quarters(swap_roles=way).draw(source, sizes, rng()) for way in (False, True))
    records = [tuple(row) for d in (draw, turned) for part in (d.members, d.nonmembers) for row in part.features]
    assert len(records) == len(set(records)) == 40
    assert np.array_equal(turned.test.features, turned.nonmembers.features)
    assert {*turned.indices["leftover"]} >= {*draw.indices["members"], *draw.indices["nonmembers"]}
    again = Quarters(swap_roles=True).from_indices(source, turned.indices, turned.facts)
    assert np.array_equal(again.members.features, turned.members.features)
    assert Quarters().content() == {"kind": "quarters"}  # one that swaps roles is new; others keep their names
    with pytest.raises(HarnessError, match=r"13 records are left for the parts of a shadow model.* ask for 30"):
        Quarters(swap_roles=True).draw(source, Sizes(members=15, test=15, nonmembers=15), rng())


def test_quarters_are_four_equal_parts_that_share_no_record() -> None:
    frame = pd.DataFrame({"x": np.arange(43.0), "y": np.arange(43) % 2})
    source, sizes = source_of(frame, Schema("y", ())), Sizes(members=10, test=10, nonmembers=10)
    draw = Quarters().draw(source, sizes, rng())
    shadow = Quarters().shadow(source, draw, sizes, rng(3))
    parts = [draw.members, draw.nonmembers, shadow.inside, shadow.outside]
    records = [tuple(row) for part in parts for row in part.features]
    assert [len(part) for part in parts] == [10] * 4
    assert len(set(records)) == 40
    assert np.array_equal(draw.test.features, draw.nonmembers.features)
    again = Quarters().from_indices(source, draw.indices, draw.facts)
    assert np.array_equal(again.test.features, draw.test.features)
    assert "set sizes.test and sizes.nonmembers to sizes.members (10), found 5 and 10" in str(
        Quarters().refuses(Sizes(members=10, test=5, nonmembers=10))
    )


def test_a_range_holds_the_rows_from_its_low_end_to_below_its_high_one() -> None:
    """A row without a value is no member, and the column is no feature."""
    years = np.array([2000, 2001, 2002, 2003, np.nan, 2001.5] * 10)
    frame = pd.DataFrame({"year": years, "x": np.arange(60.0), "label": [0, 1] * 30})
    source = source_of(frame, Schema("label", ()))
    draw = NumericRange(attribute="year", low=2001, high=2002).draw(
        source, Sizes(members=10, test=5, nonmembers=30), rng()
    )
    assert draw.facts["owner_set"] == 20
    assert set(years[draw.indices["members"]]) == {2001.0, 2001.5}
    assert draw.members.features.shape[1] == 1
    upper = NumericRange(attribute="year", low=2002).draw(source, Sizes(members=10, test=5, nonmembers=30), rng())
    assert upper.facts["owner_set"] == 20, "rows without a value are not above everything"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"attribute": "year"}, "give low, high or both"),
        ({"attribute": "year", "low": 3, "high": 3}, "has to be below high"),
    ],
)
def test_a_range_needs_an_end_and_room_between_two(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NumericRange.model_validate(fields)


def test_a_range_of_text_names_the_split_to_take(adult: TableSource) -> None:
    with pytest.raises(HarnessError, match="'sex' is no column of numbers; take the split attribute"):
        NumericRange(attribute="sex", low=1).draw(adult, PAPER, rng())
    with pytest.raises(HarnessError, match="column 'height' cannot be removed: the dataset's columns are age"):
        NumericRange(attribute="height", low=1).draw(adult, PAPER, rng())


def test_a_cluster_is_the_same_in_every_repeat_and_numbered_by_size() -> None:
    generator = rng(5)
    centres = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]], [60, 90, 30], axis=0)
    frame = pd.DataFrame(centres + 0.1 * generator.standard_normal((180, 2)), columns=["x", "y"])
    frame["label"] = generator.integers(0, 2, 180)
    source = source_of(frame, Schema("label", ()))
    sizes = Sizes(members=15, test=5, nonmembers=20)
    for number, rows in enumerate((90, 60, 30)):
        draws = [Cluster(clusters=3, cluster=number).draw(source, sizes, rng(seed)) for seed in (0, 1)]
        assert [draw.facts["owner_set"] for draw in draws] == [rows, rows]
        assert not np.array_equal(draws[0].indices["members"], draws[1].indices["members"])
    with pytest.raises(ValueError, match="of 3 clusters the last is 2"):
        Cluster(clusters=3, cluster=3)
