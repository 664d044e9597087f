"""LiRA and RMIA against their formulas, on scores whose truth is known, and on a pool that is trained once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from harness.arrays import Array
from harness.attacks import InOutModel, Outputs, Pool, Target
from harness.attacks.lira import Lira, percentiles
from harness.attacks.lira_queries import LiraQueries
from harness.attacks.pooled import confidence
from harness.attacks.rmia import Rmia
from harness.defences import ModelOracle
from harness.errors import HarnessError
from harness.execution.store import Store
from harness.formulas import FORMULAS
from harness.metrics import METRICS
from harness.metrics.membership import advantage, auc
from harness.paths import Project
from tests.conftest import SMALL_SPEC, run_cli

Make = Callable[..., Project]


def outputs(logits: Array) -> Outputs:
    """Two classes, label 1, of the given log-odds."""
    logits = np.asarray(logits, dtype=np.float64)
    return Outputs(np.stack([-np.logaddexp(0, logits), -np.logaddexp(0, -logits)], 1), np.ones(len(logits), np.int64))


@dataclass
class Known(Target):
    """A target whose outputs are given."""

    inside: Outputs
    outside: Outputs
    held_out: Outputs

    @property
    def members(self) -> Outputs:
        return self.inside

    @property
    def nonmembers(self) -> Outputs:
        return self.outside

    @property
    def test(self) -> Outputs:
        return self.held_out

    def features(self) -> tuple[Array, Array]:
        raise NotImplementedError

    def query(self, features: Array, labels: Array) -> Outputs:
        raise NotImplementedError


def pool_and_target(
    rng: np.random.Generator, models: int, shift: float = 1.0, m: int = 40, n: int = 60
) -> tuple[list[InOutModel], Known]:
    """Log-odds of each record: its own hardness, plus `shift` for a model trained on it, plus noise of deviation 1."""
    hardness, others = rng.normal(0, 3, m + n), rng.normal(0, 3, 50)
    pool = []
    for index in range(models):
        if index % 2 == 0:
            chosen = np.zeros(m + n, dtype=bool)
            chosen[rng.permutation(m + n)[: (m + n) // 2]] = True
        else:
            chosen = ~chosen
        seen = hardness + shift * chosen + rng.normal(size=m + n)
        pool.append(InOutModel(outputs(seen), outputs(others + rng.normal(size=50)), chosen))
    own = hardness + rng.normal(size=m + n)
    own[:m] += shift
    return pool, Known(outputs(own[:m]), outputs(own[m:]), outputs(others + rng.normal(size=50)))


@given(st.lists(st.floats(-700, 700), min_size=2, max_size=6), st.integers(0, 5))
def test_confidence_is_the_logit_in_high_precision(logits: list[float], label: int) -> None:
    label %= len(logits)
    values = np.array(logits)
    logp = values - np.logaddexp.reduce(values)
    with mpmath.workdps(700):
        others = mpmath.fsum(mpmath.exp(mpmath.mpf(float(v))) for i, v in enumerate(logp) if i != label)
        wanted = float(mpmath.mpf(float(logp[label])) - mpmath.log(others))
    assert confidence(Outputs(logp[None], np.array([label])))[0] == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("variance", ["record", "pooled", "global"])
@pytest.mark.parametrize("online", [True, False])
def test_lira_is_the_ratio_of_the_two_densities(variance: str, online: bool) -> None:
    """Record by record, with SciPy's densities and NumPy's variances of the values on each side."""
    pool, target = pool_and_target(np.random.default_rng(3), 8)
    attack = Lira(variance=variance, online=online)  # type: ignore[arg-type]
    result = attack.answers(target, attack.fit(Pool(pool), 0))
    seen = np.stack([confidence(m.candidates) for m in pool])
    masks = np.stack([m.trained_on for m in pool])
    sides = [[seen[mask[:, r], r] for r in range(seen.shape[1])] for mask in (masks, ~masks)]
    spread = [[np.var(values, ddof=1) for values in side] for side in sides]
    if variance == "pooled":
        spread = [[float(np.mean(side))] * len(side) for side in spread]
    if variance == "global":
        spread = [[float(np.concatenate(side).var())] * len(side) for side in sides]
    own = np.concatenate([confidence(target.members), confidence(target.nonmembers)])
    for r, score in enumerate([*result.member_scores, *result.nonmember_scores]):
        inside, outside = (norm(np.mean(side[r]), np.sqrt(s[r])) for side, s in zip(sides, spread, strict=True))
        if online:
            assert score == pytest.approx(inside.logpdf(own[r]) - outside.logpdf(own[r]), abs=1e-9)
        else:
            assert norm.sf(score) == pytest.approx(outside.sf(own[r]), rel=1e-6)


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("statistic", ["logit", "loss", "probability"])
def test_a_mean_is_taken_off_any_number_of_an_answer(statistic: str, online: bool) -> None:
    """Sablayrolles et al. (2019) and Watson et al. (2022), each record by itself, with NumPy's means."""
    pool, target = pool_and_target(np.random.default_rng(3), 8)
    attack = Lira(statistic=statistic, calibration="mean", online=online)  # type: ignore[arg-type]
    result = attack.answers(target, attack.fit(Pool(pool), 0))

    def number(answers: Outputs) -> Array:
        own = np.exp(answers.log_probabilities[:, 1])
        numbers: Array = {"logit": np.log(own / (1 - own)), "loss": np.log(own), "probability": own}[statistic]
        return numbers

    seen, masks = np.stack([number(m.candidates) for m in pool]), np.stack([m.trained_on for m in pool])
    own = np.concatenate([number(target.members), number(target.nonmembers)])
    inside, outside = (np.array([seen[mask[:, r], r].mean() for r in range(len(own))]) for mask in (masks, ~masks))
    wanted = own - (inside + outside) / 2 if online else own - outside
    scores = np.concatenate([result.member_scores, result.nonmember_scores])
    assert scores == pytest.approx(wanted, abs=1e-9)
    called = np.concatenate([result.member_decisions, result.nonmember_decisions])
    assert list(called) == list(scores > 0)


@pytest.mark.parametrize("models", [2, 8])
def test_attack_r_is_the_interpolated_percentile_of_the_loss(models: int) -> None:
    """Ye et al. (2022), each record by itself, with NumPy's interpolation between 0, the losses of models, and 1,000."""
    pool, target = pool_and_target(np.random.default_rng(3), models)
    attack = Lira(statistic="loss", calibration="percentile", online=False)
    fitted = attack.fit(Pool(pool), 0)
    result = attack.answers(target, fitted)
    seen, masks = (
        np.stack([-m.candidates.log_probabilities[:, 1] for m in pool]),
        np.stack([m.trained_on for m in pool]),
    )
    own = np.concatenate([-answers.log_probabilities[:, 1] for answers in (target.members, target.nonmembers)])
    steps = [np.sort([0.0, *seen[~masks[:, r], r], 1000.0]) for r in range(len(own))]
    wanted = [1 - np.interp(own[r], steps[r], np.linspace(0, 1, len(steps[r]))) for r in range(len(own))]
    scores = np.concatenate([result.member_scores, result.nonmember_scores])
    assert scores == pytest.approx(wanted, abs=1e-12)
    called = np.concatenate([result.member_decisions, result.nonmember_decisions])
    assert list(called) == list(scores > 0.95)


@given(st.lists(st.floats(0, 2000), min_size=1, max_size=6), st.floats(0, 2000), st.integers(0, 3))
def test_a_percentile_is_that_of_numpys_interpolation(losses: list[float], own: float, unknown: int) -> None:
    """Also where losses are equal, or above 1,000, and where a record has fewer models without it than others."""
    among = np.minimum(np.sort(losses), 1000.0)
    found = percentiles(np.array([own]), np.array([[*among, *[np.nan] * unknown]]))[0]
    steps, places = np.array([0.0, *among, 1000.0]), np.linspace(0, 1, len(losses) + 2)
    wanted = np.interp(own, steps, places)
    at = places[steps == own]
    assert found == pytest.approx(wanted, abs=1e-12) or (len(at) and at.min() <= found <= at.max())


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        (Lira, {"statistic": "loss"}, "online: false"),
        (Lira, {"online": False}, "statistic: loss"),
        (LiraQueries, {"online": False, "statistic": "loss", "scale": 0.1}, "kind: lira"),
    ],
)
def test_a_percentile_is_asked_for_offline_of_losses_and_of_one_question(
    kind: type[Lira], given: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        kind(calibration="percentile", **given)


def test_the_statistic_is_what_the_densities_are_of() -> None:
    """Offline and with each record's own variance, the tail of a normal fitted to the log-probabilities, by SciPy."""
    pool, target = pool_and_target(np.random.default_rng(4), 8)
    attack = Lira(statistic="loss", variance="record", online=False)
    result = attack.answers(target, attack.fit(Pool(pool), 0))
    seen, masks = np.stack([m.candidates.log_probabilities[:, 1] for m in pool]), np.stack([m.trained_on for m in pool])
    for r, score in enumerate(result.member_scores):
        values = seen[~masks[:, r], r]
        wanted = norm(values.mean(), values.std(ddof=1)).sf(target.members.log_probabilities[r, 1])
        assert norm.sf(score) == pytest.approx(wanted, rel=1e-6)


def test_pooled_variance_is_taken_below_64_models() -> None:
    for models, alike in ((62, True), (64, False)):
        pool, _ = pool_and_target(np.random.default_rng(1), models)
        fitted = Lira().fit(Pool(pool), 0)
        assert (len(set(fitted["std_out"].tolist())) == 1) == alike


def test_lira_finds_what_can_be_found() -> None:
    """With many models the ratio comes to the best test there is: AUC of two normals one deviation apart, 0.7602."""
    rng = np.random.default_rng(5)
    pool, target = pool_and_target(rng, 128, m=4000, n=4000)
    lira = Lira()
    result = lira.answers(target, lira.fit(Pool(pool), 0))
    measured = auc(result.member_scores, result.nonmember_scores)
    assert abs(measured.value - norm.cdf(1 / np.sqrt(2))) < 4 * measured.stderr
    # Decisions at ratio 1: both kinds of error have the chance that half a deviation is exceeded.
    assert result.member_decisions.mean() == pytest.approx(norm.cdf(0.5), abs=0.03)
    assert result.nonmember_decisions.mean() == pytest.approx(norm.sf(0.5), abs=0.03)
    plain = auc(confidence(target.members), confidence(target.nonmembers))  # hardness hides it from a global threshold
    assert plain.value < 0.62
    offline = Lira(online=False, level=0.05)
    called = offline.answers(target, offline.fit(Pool(pool), 0))
    assert called.nonmember_decisions.mean() == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize("online", [True, False])
def test_rmia_is_the_share_of_the_population_that_a_record_is_favoured_over(online: bool) -> None:
    """In two loops, from the ratios as the paper writes them."""
    pool, target = pool_and_target(np.random.default_rng(7), 6)
    attack = Rmia(online=online, gamma=1.3, a=0.4)
    result = attack.answers(target, attack.fit(Pool(pool), 0))

    def p(of: Outputs, r: int) -> float:
        return float(np.exp(of.log_probabilities[r, of.labels[r]]))

    def reference(models: list[InOutModel], r: int, at_stake: bool) -> float:
        if not at_stake:
            out = np.mean([p(m.test, r) for m in models])
            return float(out if online else ((1 + 0.4) * out + (1 - 0.4)) / 2)
        out = np.mean([p(m.candidates, r) for m in models if not m.trained_on[r]])
        inside = np.mean([p(m.candidates, r) for m in models if m.trained_on[r]])
        return float((inside + out) / 2 if online else (out + (0.4 * out + 1 - 0.4)) / 2)

    others = [p(target.test, z) / reference(pool, z, False) for z in range(50)]
    for group, scores, first in (
        (target.members, result.member_scores, 0),
        (target.nonmembers, result.nonmember_scores, 40),
    ):
        for r, score in enumerate(scores):
            own = p(group, r) / reference(pool, first + r, True)
            assert score == pytest.approx(np.mean([own / other >= 1.3 for other in others]))


@dataclass
class Asked(Known):
    """A target that can be asked: a linear model that has moved its log-odds on the records it was trained on."""

    records: tuple[Array, Array]
    model: ModelOracle

    @property
    def oracle(self) -> ModelOracle:
        return self.model

    def features(self) -> tuple[Array, Array]:
        return self.records

    def query(self, features: Array, labels: Array) -> Outputs:
        return Outputs(self.model.log_probabilities(features), labels)


def linear(weights: Array) -> ModelOracle:
    """Log-odds are features times weights."""
    return ModelOracle(lambda x: outputs(x @ weights).log_probabilities, 2)


@pytest.mark.parametrize("online", [True, False])
def test_several_queries_are_independent_likelihoods(online: bool) -> None:
    """Record by record and query by query with SciPy's densities; each model is asked about the same copies."""
    rng = np.random.default_rng(8)
    records = rng.normal(size=(12, 5)).astype(np.float32)
    pool, weights = [], rng.normal(size=(8, 5))
    for index in range(8):
        if index % 2 == 0:
            chosen = np.zeros(12, dtype=bool)
            chosen[rng.permutation(12)[:6]] = True
        else:
            chosen = ~chosen
        pool.append(
            InOutModel(outputs(records @ weights[index]), outputs(np.zeros(3)), chosen, linear(weights[index]), records)
        )
    own = rng.normal(size=5)
    order = rng.permutation(12)  # members and others stand anywhere among the candidate records
    inside, outside = order[:5], order[5:]

    class Placed(Asked):
        @property
        def places(self) -> tuple[Array, Array]:
            return inside, outside

    target = Placed(
        *(outputs(records[at] @ own) for at in (inside, outside)),
        outputs(np.zeros(3)),
        (records[inside], records[outside]),
        linear(own),
    )
    attack = LiraQueries(queries=3, scale=0.2, online=online, variance="record")
    fitted = attack.fit(Pool(pool), 11)
    result = attack.answers(target, fitted)
    asked = [records, *attack._copies(records, 11)]
    assert len(asked) == 3
    assert all(np.abs(copy - records).max() > 0.1 for copy in asked[1:])
    masks = np.stack([m.trained_on for m in pool])
    for side, scores in ((inside, result.member_scores), (outside, result.nonmember_scores)):
        for record, score in zip(side, scores, strict=True):
            ratios = []
            for copy in asked:
                seen, mine = copy[record] @ weights.T, copy[record] @ own
                held = [seen[masks[:, record]], seen[~masks[:, record]]]
                with_it, without = (norm(v.mean(), v.std(ddof=1)) for v in held)
                z = (mine - without.mean()) / without.std()
                ratios.append(with_it.logpdf(mine) - without.logpdf(mine) if online else z)
            wanted = np.mean(ratios) if online else np.sum(ratios) / np.sqrt(3)
            assert score == pytest.approx(wanted, rel=1e-4, abs=1e-4)
    with pytest.raises(HarnessError, match="the candidate records are not known"):
        attack.fit(Pool(pool_and_target(rng, 8)[0]), 0)


def test_points_are_the_first_records_at_stake() -> None:
    pool, target = pool_and_target(np.random.default_rng(2), 4)
    attack = Lira(points=50)
    some = attack.answers(target, attack.fit(Pool(pool), 0))
    every = Lira().answers(target, Lira(variance="record").fit(Pool(pool), 0))
    assert (len(some.member_scores), len(some.nonmember_scores)) == (40, 10)
    assert len(every.nonmember_scores) == 60
    with pytest.raises(HarnessError, match="none is a non-member; raise points"):
        Lira(points=30).answers(target, Lira(points=30).fit(Pool(pool), 0))


def _cut_models(models: list[InOutModel], where: slice) -> list[InOutModel]:
    """The models of a pool on some of the candidate records alone."""
    return [
        InOutModel(
            Outputs(m.candidates.log_probabilities[where], m.candidates.labels[where]), m.test, m.trained_on[where]
        )
        for m in models
    ]


def test_all_blocks_give_the_mean_of_attacks_on_each_block_alone() -> None:
    """Against the same attack on pools and targets that have the records of one block only."""
    pool, _ = pool_and_target(np.random.default_rng(8), 10, m=70, n=55)
    attack, alone = Lira(variance="record", points=40, blocks="all"), Lira(variance="record")
    measured = attack.measure(pool[0], attack.fit(Pool(pool[2:]), 0))
    each = []
    for start in (0, 40, 80):  # the last five records are of no block
        own, *others = _cut_models([pool[0], *pool[2:]], slice(start, start + 40))
        each.append(alone.measure(own, alone.fit(Pool(others), 0)).metrics)
    assert len(measured.arrays["member_scores"]) + len(measured.arrays["nonmember_scores"]) == 120
    assert measured.metrics.keys() == each[0].keys()
    for name, value in measured.metrics.items():
        assert value.value == pytest.approx(np.mean([of[name].value for of in each]), nan_ok=True)
        assert value.stderr == pytest.approx(np.linalg.norm([of[name].stderr for of in each]) / 3, nan_ok=True)
        assert value.n == sum(of[name].n for of in each)


def test_all_blocks_have_the_mean_of_the_first_and_vary_less() -> None:
    """Of 200 pools of 8 models, 15 blocks each."""
    rng, seen = np.random.default_rng(12), []
    for _ in range(200):
        pool, _ = pool_and_target(rng, 9, m=300, n=300)
        both = []
        for attack in (Lira(variance="record", points=40), Lira(variance="record", points=40, blocks="all")):
            measured = attack.measure(pool[8], attack.fit(Pool(pool[:8]), 0)).metrics
            both.append([measured[name].value for name in ("auc", "held_out_precision_gain")])
        seen.append(both)
    first, every = np.moveaxis(np.array(seen), 1, 0)
    spread = first.std(axis=0, ddof=1)
    assert (np.abs((first - every).mean(axis=0)) < 4 * (first - every).std(axis=0, ddof=1) / np.sqrt(200)).all()
    assert (every.std(axis=0, ddof=1) < spread / 2.5).all()  # by the root of 15 were blocks independent, 3.9


def test_blocks_that_cannot_be_attacked_are_refused() -> None:
    pool, target = pool_and_target(np.random.default_rng(2), 4)
    with pytest.raises(ValueError, match="blocks is all, and points, the records of a block, is not given"):
        Lira(blocks="all")
    few = Lira(points=101, blocks="all")
    with pytest.raises(HarnessError, match="blocks of 101 records of 100 candidate records; points is at most 100"):
        few.fit(Pool(pool), 0)
    some = Lira(points=30, blocks="all")
    with pytest.raises(HarnessError, match="of the 30 records of block 0 none is a non-member; raise points"):
        some.measure(target, some.fit(Pool(pool), 0))


COINS = (
    SMALL_SPEC[: SMALL_SPEC.index("claims:")]
    .replace(
        "sizes: {members: 120, test: 40, nonmembers: 120}",
        "sizes: {members: 300, test: 100}\n  split: {kind: sub-sample, probability: {axis: p, values: [0.3, 0.6]}}",
    )
    .replace(
        "    size: {split: {kind: attribute, attribute: size, values: [small], proxy_columns: [mean radius]}}\n", ""
    )
    .replace("    iid: {split: {kind: random}}", "    coins: {}")
    .replace("epsilons: [1, 10, .inf]", "epsilons: [10]")
    .replace("  repeats: 2", "  repeats: 2\n  pools: {halves: {count: 4, trained_on: halves, privacy: like-target}}")
    + """\
  lira: {kind: lira}
  rmia: {kind: rmia, points: 200}
  several: {kind: lira-queries, queries: 3, scale: 0.0, points: 250}
  one: {kind: lira, points: 250}
  blocks: {kind: lira, points: 100, blocks: all}
claims:
  - id: beats
    where: here
    statement: The best precision is above the share of members.
    expect: {kind: compare, left: {metric: best_precision, arm: coins, attack: lira}, relation: ">", right: {axis: p}}
  - id: bound
    where: here
    statement: Theorem 1's bound, at the share of members that p says.
    expect: {kind: compare, left: {metric: best_precision, arm: coins, attack: lira}, relation: "<=", right: {formula: ppv-upper}}
"""
)


@pytest.mark.integration
def test_one_pool_serves_every_attack_target_and_repeat(make_project: Make) -> None:
    project = make_project(COINS)
    assert run_cli(project.root, "run", "-q").returncode == 0
    store = Store(project.store)
    models = [store.get("train", path.stem) for path in (project.store / "train").rglob("*.npz")]
    roles = [model.meta["description"]["role"] for model in models]
    assert (roles.count("half"), roles.count("target")) == (4, 4)
    halves = [model for model in models if model.meta["description"]["role"] == "half"]
    masks = {r.meta["description"]["index"]: np.unpackbits(r.arrays["trained_on"])[:300] for r in halves}
    for even in (0, 2):
        assert (masks[even] + masks[even + 1] == 1).all()
        assert masks[even].sum() == 150
    assert (masks[0] != masks[2]).any()
    table = pd.read_parquet(project.reports / "full/own/cancer/measurements.parquet")
    lira = table[table["attack"] == "lira"].set_index(["p", "repeat", "metric"])["value"]
    assert lira[0.3, 0, "share_of_members"] == pytest.approx(0.3)
    assert lira[0.6, 1, "share_of_members"] == pytest.approx(0.6)
    assert lira[0.3, 0, "auc"] != lira[0.3, 1, "auc"]
    assert set(table[table["attack"] == "rmia"]["n"]) >= {200}
    # Copies without noise are the record itself, asked again: what they say is what one question says.
    both = [table[table["attack"] == name].set_index(["p", "repeat", "metric"])["value"] for name in ("several", "one")]
    assert both[0][0.3, 0, "auc"] == pytest.approx(both[1][0.3, 0, "auc"], abs=1e-3)
    blocks = table[table["attack"] == "blocks"].set_index(["p", "repeat", "metric"])
    assert blocks["value"][0.3, 0, "share_of_members"] == pytest.approx(0.3)
    assert blocks["n"][0.3, 0, "share_of_members"] == 300
    verdicts = json.loads((project.reports / "full/own/cancer/verdicts.json").read_text())["verdicts"]
    shown = {point["at"]["p"]: point["right"] for point in verdicts[1]["numbers"]["points"]}
    bound = FORMULAS["ppv-upper"]
    assert shown == {p: pytest.approx(bound.value({"epsilon": 10.0, "prior": p})) for p in (0.3, 0.6)}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("count: 4", "count: 5", "a pool of halves has an even number of models, found count 5"),
        (
            "count: 4, trained_on: halves",
            "count: 4",
            "attack 'lira' learns from models on halves; set trained_on: halves",
        ),
        ("{kind: lira}", "{kind: lira, variance: record}", ""),
        ("count: 4", "count: 2", ""),
        (
            "sizes: {members: 300, test: 100}",
            "sizes: {members: 300, test: 100, nonmembers: 5}",
            "take sizes.nonmembers (5)",
        ),
        ("values: [0.3, 0.6]", "values: [0.001, 0.6]", "a share of 0.001 of 300 records is none, or all"),
        ("values: [0.3, 0.6]", "values: [0.02, 0.6]", "larger than the number of records trained on (6)"),
        ("{kind: rmia, points: 200}", "{kind: rmia, points: 1}", "points"),
        ("queries: 3, scale: 0.0", "queries: 1, scale: 0.0", "queries"),
        ("queries: 3, scale: 0.0", "queries: 3, scale: 2.0, by: flip", "a probability, from 0 to 1"),
        (
            "split: {kind: sub-sample, probability: {axis: p, values: [0.3, 0.6]}}",
            "split: {kind: random}",
            "nonmembers",
        ),
    ],
)
def test_what_cannot_be_is_one_clear_line(make_project: Make, old: str, new: str, says: str) -> None:
    assert old in COINS
    ran = run_cli(make_project(COINS.replace(old, new)).root, "validate")
    if not says:
        assert ran.returncode == 0, ran.stderr
        return
    assert ran.returncode == 2
    assert says in ran.stderr
    assert "cancer.yaml:" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_a_records_own_variance_needs_two_models_on_each_side(make_project: Make) -> None:
    text = COINS.replace("count: 4", "count: 2").replace("{kind: lira}", "{kind: lira, variance: record}")
    ran = run_cli(make_project(text).root, "validate")
    assert ran.returncode == 2
    assert "a record's own variance needs two models with it and two without, a pool of 4; found 2" in ran.stderr


@pytest.mark.parametrize(
    "attack", [Rmia(threshold="pool"), Lira(threshold="pool"), Lira(threshold="pool", online=False)]
)
def test_a_threshold_from_the_pool_is_the_best_on_its_models_each_attacked_by_the_others(attack: Rmia | Lira) -> None:
    pool, target = pool_and_target(np.random.default_rng(5), 6)
    scores: list[float] = []
    is_member: list[bool] = []
    for asked, model in enumerate(pool):
        others = [m for index, m in enumerate(pool) if index != asked]
        own = type(attack)(**attack.model_dump(exclude={"threshold"}))
        posing = Known(
            *(outputs(confidence(model.candidates)[side]) for side in (model.trained_on, ~model.trained_on)), model.test
        )
        fitted = own.fit(Pool(others), 0)
        for side, inside in ((model.trained_on, True), (~model.trained_on, False)):
            result = own.scores(posing.inside if inside else posing.outside, posing, fitted, np.flatnonzero(side))
            scores += list(result)
            is_member += [inside] * int(side.sum())
    every, truth = np.array(scores), np.array(is_member)
    gains = {t: np.mean(every[truth] >= t) - np.mean(every[~truth] >= t) for t in np.unique(every)}
    fitted = attack.fit(Pool(pool), 0)
    assert gains[float(fitted["threshold"])] == pytest.approx(max(gains.values()), abs=1e-12)
    result = attack.answers(target, fitted)
    np.testing.assert_array_equal(result.member_decisions, result.member_scores >= fitted["threshold"])
    np.testing.assert_array_equal(result.nonmember_decisions, result.nonmember_scores >= fitted["threshold"])


def test_rmia_calls_members_with_a_threshold_from_the_pool_where_its_own_calls_hardly_any() -> None:
    """Half of the population is the published threshold; where training moves records little, nobody gets there."""
    pool, target = pool_and_target(np.random.default_rng(6), 16, shift=2.5, m=400, n=400)
    by_rule = {rule: Rmia(threshold=rule) for rule in ("own", "pool")}  # type: ignore[arg-type]
    decided = {rule: attack.answers(target, attack.fit(Pool(pool), 0)) for rule, attack in by_rule.items()}
    own, best = (advantage(d.member_decisions, d.nonmember_decisions).value for d in decided.values())
    np.testing.assert_array_equal(decided["own"].member_scores, decided["pool"].member_scores)
    largest = METRICS["max_advantage"].function(decided["pool"]).value
    assert best > 0.9 * largest
    assert own < 0.5 * largest


def test_a_pool_that_is_too_small_for_a_threshold_is_refused() -> None:
    pool, _ = pool_and_target(np.random.default_rng(7), 2)
    with pytest.raises(HarnessError, match="raise the pool's count"):
        Rmia(threshold="pool").fit(Pool(pool), 0)


def test_the_threshold_of_before_leaves_the_name_as_it_was() -> None:
    assert "threshold" not in Rmia().content()
    assert Rmia(threshold="pool").content() != Rmia().content()
