"""Numbers that verdicts on results from elsewhere have, against SciPy, scikit-learn and NumPy."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score, roc_curve

from harness.claims.design import Series, Summarised
from harness.claims.verdict import Verdict
from harness.execution.curves import lines_of_panel
from harness.experiment.results import ResultsFile
from harness.paths import Project
from harness.pipeline.results import results_table
from harness.report.figures import draw
from harness.results.rows import read_rows
from tests.results.files import COMPARE, Make, context_of, experiment, judged, load_written, log, run_written

OVERFITS = COMPARE | {"left": {"metric": "train", "minus": "test", "arm": "plain"}, "right": {"value": 0.05},
                      "at": {"epoch": [2]}}  # fmt: skip


def interval(verdict: Verdict) -> tuple[float, float]:
    assert verdict.numbers.interval is not None
    low, high = verdict.numbers.interval
    assert low is not None
    assert high is not None
    return low, high


def test_a_wide_file_gives_the_means_and_differences_that_pandas_gives(make_project: Make) -> None:
    project = make_project()
    frame = log()
    frame.to_csv(project.root / "results.csv", index=False)
    verdict = judged(project, experiment(), OVERFITS)
    at = frame[(frame["method"] == "SGD") & (frame["epoch"] == 2)]
    own = at["train"] - at["test"] - 0.05
    assert verdict.numbers.effect == pytest.approx(own.mean(), abs=1e-9)
    assert verdict.numbers.repeats == 8
    assert (verdict.rests_on.data, verdict.verdict, verdict.claim.origin) == ("elsewhere", "reproduced", "ours")
    assert verdict.numbers.points[0].holds == int((own > 0).sum())
    low, high = interval(verdict)
    reach = stats.t.ppf(0.975, 7) * own.std(ddof=1) / math.sqrt(8)
    # Student's interval, widened on one side for skewness (docs/statistics.md)
    assert low <= own.mean() - reach + 1e-9
    assert high >= own.mean() + reach - 1e-9
    assert min(own.mean() - low, high - own.mean()) == pytest.approx(reach, abs=1e-9)


def test_tidy_wide_parquet_and_shuffled_rows_say_the_same(make_project: Make) -> None:
    project = make_project()
    frame = log()
    frame.to_csv(project.root / "results.csv", index=False)
    wide = judged(project, experiment(), OVERFITS)
    tidy = frame.melt(["method", "seed", "epoch"], var_name="metric").sample(frac=1, random_state=1)
    tidy.to_csv(project.root / "results.csv", index=False)
    assert judged(project, experiment(format="tidy"), OVERFITS).numbers.points == wide.numbers.points
    tidy.to_parquet(project.root / "results.parquet", index=False)
    parquet = experiment(format="tidy", path="results.parquet")
    assert judged(project, parquet, OVERFITS).numbers.points == wide.numbers.points


def test_arms_are_independent_unless_they_are_paired(make_project: Make) -> None:
    project = make_project()
    frame = log()
    frame.to_csv(project.root / "results.csv", index=False)
    expect = COMPARE | {"left": {"metric": "train", "arm": "plain"}, "right": {"arm": "private"}, "at": {"epoch": [3]}}
    sides = [frame[(frame["method"] == arm) & (frame["epoch"] == 3)]["train"].to_numpy() for arm in ("SGD", "DP-SGD")]
    apart = judged(project, experiment(), expect)
    paired = judged(project, experiment(paired=True), expect)
    assert apart.numbers.effect == pytest.approx(float(sides[0].mean() - sides[1].mean()), abs=1e-9)
    difference = sides[0] - sides[1]
    reach = stats.t.ppf(0.975, 7) * difference.std(ddof=1) / math.sqrt(8)
    low, high = interval(paired)
    assert min(difference.mean() - low, high - difference.mean()) == pytest.approx(reach, abs=1e-9)
    welch = stats.ttest_ind(*sides, equal_var=False).confidence_interval(0.95)
    low, high = interval(apart)
    assert min(welch.low - low, high - welch.high) == pytest.approx(0.0, abs=1e-9)


def test_a_metric_without_a_range_rests_on_the_t_test_alone(make_project: Make) -> None:
    project = make_project()
    frame = log(repeats=400)
    frame.to_csv(project.root / "results.csv", index=False)
    expect = COMPARE | {"left": {"metric": "loss", "arm": "plain"}, "right": {"value": 1}, "at": {"epoch": [1]}}
    verdict = judged(project, experiment(), expect)
    assert (verdict.verdict, verdict.rests_on.basis) == ("reproduced", "t-test")
    assert verdict.numbers.points[0].free_low is None
    bounded = judged(project, experiment(metrics={"train": [0, 1], "test": [0, 1], "loss": [0, 60]}), expect)
    assert bounded.numbers.points[0].free_low is not None
    ranged = judged(project, experiment(), OVERFITS)
    assert (ranged.verdict, ranged.rests_on.basis) == ("reproduced", "distribution-free")


# --- scores


def scores(seed: int = 0, repeats: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (repeat, member, round(rng.normal(0.7 * member), 1))  # rounded: ties
        for repeat in range(repeats)
        for member in (1, 0)
        for _ in range(150 + 50 * member)
    ]
    return pd.DataFrame(rows, columns=["repeat", "member", "score"])


def of_scores(**fields: Any) -> dict[str, Any]:
    return experiment(format="scores", columns=None, arms=None, axes=None, metrics=None, attacks=["loss"], **fields)


def best_gain(rows: pd.DataFrame) -> float:
    inside, outside = (rows.loc[rows["member"] == flag, "score"].to_numpy() for flag in (1, 0))
    return max(float((inside >= t).mean() - (outside >= t).mean()) for t in rows["score"].unique())


def tpr(rows: pd.DataFrame, fpr: float) -> float:
    inside, outside = (rows.loc[rows["member"] == flag, "score"].to_numpy() for flag in (1, 0))
    return max([0.0, *(float((inside >= t).mean()) for t in rows["score"].unique() if (outside >= t).mean() <= fpr)])


@pytest.mark.parametrize(
    ("metric", "reference"),
    [
        ("auc", lambda rows: roc_auc_score(rows["member"], rows["score"])),
        ("max_advantage", best_gain),
        ("tpr_at_5pct_fpr", lambda rows: tpr(rows, 0.05)),
        ("tpr_at_1pct_fpr", lambda rows: tpr(rows, 0.01)),
    ],
)
def test_metrics_of_scores_are_those_of_scikit_learn_and_of_their_definitions(
    metric: str, reference: Any, make_project: Make
) -> None:
    project = make_project()
    frame = scores()
    frame.sample(frac=1, random_state=0).to_csv(project.root / "results.csv", index=False)
    expect = COMPARE | {"left": {"metric": metric, "attack": "loss"}, "right": {"value": 0.01}}
    results = load_written(project, of_scores(), expect).spec.results
    assert results is not None
    rows = read_rows(results, project.root / "results.csv")
    own = rows[rows["metric"] == metric].sort_values("repeat")["value"].to_numpy()
    wanted = [float(reference(part)) for _, part in frame.groupby("repeat")]
    assert own == pytest.approx(wanted, abs=1e-9)
    assert set(rows["attack"]) == {"loss"}


def verdict_at_rate(project: Project, nonmembers: int, metric: str, limit: float, repeats: int = 12) -> Verdict:
    """Of ten times as many members, whose scores are shifted by 1."""
    rng = np.random.default_rng(nonmembers)
    rows = [
        (repeat, member, rng.normal(member))
        for repeat in range(repeats)
        for member in (1, 0)
        for _ in range(nonmembers * (9 * member + 1))
    ]
    frame = pd.DataFrame(rows, columns=["repeat", "member", "score"])
    frame.to_csv(project.root / "results.csv", index=False)
    expect = COMPARE | {"left": {"metric": metric, "attack": "loss"}, "right": {"value": limit}}
    return judged(project, of_scores(), expect)


@pytest.mark.parametrize(
    ("nonmembers", "metric", "needed"), [(100, "0.1pct", "1,000"), (19, "5pct", "20"), (150, "0.001pct", "100,000")]
)
def test_a_rate_of_less_than_one_nonmember_decides_nothing(
    nonmembers: int, metric: str, needed: str, make_project: Make
) -> None:
    """The truth at 0.1% is 0.018; the threshold above all of 100 non-members gives about 0.08, in each run alike."""
    verdict = verdict_at_rate(make_project(), nonmembers, f"tpr_at_{metric}_fpr", 0.02)
    assert verdict.verdict == "inconclusive"
    assert verdict.reason.startswith(
        f"a false-positive rate of {metric.removesuffix('pct')}% is measured on at least {needed} "
        f"non-members a run, and a run has {nonmembers}; more runs do not mend that"
    )
    assert not verdict.numbers.points


@pytest.mark.parametrize(("nonmembers", "metric", "average"), [(100, "1pct", "2%"), (20, "5pct", "9.5%")])
def test_what_few_nonmembers_make_of_a_rate_is_named(
    nonmembers: int, metric: str, average: str, make_project: Make
) -> None:
    verdict = verdict_at_rate(make_project(), nonmembers, f"tpr_at_{metric}_fpr", 0.05)
    # More than 5% is what scores that say nothing have, too, where the threshold lets 9.5% pass.
    assert verdict.verdict == {100: "reproduced", 20: "inconclusive"}[nonmembers]
    (flag,) = [flag for flag in verdict.rests_on.flags if "threshold" in flag]
    assert f"is set by {nonmembers} non-members a run" in flag
    assert flag.endswith(f"1 of which pass it; of others like them {average} pass it on average.")


def test_no_false_positive_is_of_the_nonmembers_at_hand(make_project: Make) -> None:
    """Any number of non-members shows it, and the claim says what it is for others."""
    verdict = verdict_at_rate(make_project(), 99, "tpr_at_0pct_fpr", 0.02)
    assert verdict.verdict == "reproduced"
    (flag,) = [flag for flag in verdict.rests_on.flags if "threshold" in flag]
    assert flag.startswith(
        "The threshold for a false-positive rate of 0 is above all 99 non-members of a run; of others"
    )
    assert flag.endswith(" 1% pass it on average.")


@pytest.mark.parametrize(("n", "fpr"), [(20, 0.05), (100, 0.01), (150, 0.02), (1000, 0.001)])
def test_the_rate_at_a_threshold_that_few_records_set_is_the_rank_of_a_further_one(n: int, fpr: float) -> None:
    """Against the false-positive rate of the threshold itself, over drawn samples of a known distribution."""
    rng, above = np.random.default_rng(n), math.floor(fpr * n + 1e-9)
    drawn = np.sort(rng.normal(size=(4000, n)))[:, n - above - 1]
    rates = stats.norm.sf(drawn)
    assert rates.mean() == pytest.approx((above + 1) / (n + 1), abs=4 * rates.std() / math.sqrt(4000))


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_of_the_other_sign_are_named(sign: int, make_project: Make) -> None:
    project = make_project()
    frame = scores()
    frame["score"] *= sign
    frame.to_csv(project.root / "results.csv", index=False)
    expect = COMPARE | {"left": {"metric": "max_advantage", "attack": "loss"}, "right": {"value": 0.9}, "relation": "<"}
    turned = [flag for flag in judged(project, of_scores(), expect).rests_on.flags if "higher for non-members" in flag]
    assert len(turned) == (sign < 0)


def test_a_roc_curve_of_scores_is_that_of_scikit_learn(make_project: Make) -> None:
    """Of the first repeat, at false-positive rates from one non-member to all."""
    project = make_project()
    frame = scores(repeats=2).assign(method=lambda rows: np.where(rows.index % 2, "SGD", "DP-SGD"))
    frame.to_csv(project.root / "results.csv", index=False)
    declared = of_scores() | {
        "columns": {"arm": "method"},
        "arms": {"a": {"in_file": "SGD"}, "b": {"in_file": "DP-SGD"}},
    }
    panel = {"title": "ROC", "curve": "roc", "attacks": ["loss"], "arms": ["b"]}
    expect = COMPARE | {"left": {"metric": "auc", "attack": "loss", "arm": "b"}, "right": {"value": 0.5}}
    loaded = load_written(project, declared, expect, figure=[panel])
    scaled = context_of(project).resolve(loaded).scaled
    ((of, (line,)),) = lines_of_panel(results_table(scaled), loaded.spec.figure[0])
    assert (of["arm"], of["attack"]) == ("b", "loss")
    own = frame[(frame["repeat"] == 0) & (frame["method"] == "DP-SGD")]
    fpr, tpr, _ = roc_curve(own["member"], own["score"], drop_intermediate=False)
    grid = np.geomspace(1 / (own["member"] == 0).sum(), 1, 61)
    assert line.x == pytest.approx(grid, rel=1e-4)
    reached = [tpr[fpr <= x * (1 + 1e-9)].max() for x in grid]
    assert line.y == pytest.approx(reached, abs=1e-5)
    (drawing,) = draw(loaded.spec, results_table(scaled))[:1]
    assert {datum.series for datum in drawing.data} >= {"loss attack", "chance"}


def test_an_axis_of_epsilon_may_have_models_without_noise(make_project: Make) -> None:
    project = make_project()
    frame = pd.concat([scores(seed).assign(epsilon=level) for seed, level in enumerate(("1", "inf"))])
    frame.to_csv(project.root / "results.csv", index=False)
    declared = of_scores() | {"axes": ["epsilon"]}
    expect = COMPARE | {"left": {"metric": "auc", "attack": "loss"}, "right": {"value": 0.5}, "at": [1, math.inf]}
    figure = [{"title": "ROC", "curve": "roc", "attacks": ["loss"], "at": {"epsilon": math.inf}}]
    verdict = judged(project, declared, expect, figure=figure)
    assert verdict.verdict == "reproduced"
    assert len(verdict.numbers.points) == 2
    loaded = load_written(project, declared, expect, figure=figure)
    table = results_table(context_of(project).resolve(loaded).scaled)
    ((of, _),) = lines_of_panel(table, loaded.spec.figure[0])
    assert of["at"] == {"epsilon": math.inf}
    assert draw(loaded.spec, table)


def test_decisions_give_the_metrics_that_scores_alone_do_not(make_project: Make) -> None:
    project = make_project()
    frame = scores()
    frame["called"] = (frame["score"] > 0.4).map({True: "True", False: "False"})
    frame.to_csv(project.root / "results.csv", index=False)
    expect = COMPARE | {"left": {"metric": "advantage", "attack": "loss"}, "right": {"value": 0.01}}
    declared = of_scores() | {"columns": {"decision": "called"}}
    verdict = judged(project, declared, expect)
    called = frame["score"] > 0.4
    rates = [called[part.index].groupby(part["member"]).mean() for _, part in frame.groupby("repeat")]
    assert verdict.numbers.points[0].left == pytest.approx(np.mean([rate[1] - rate[0] for rate in rates]), abs=1e-9)


def test_the_prior_of_formulas_is_the_share_of_members(make_project: Make) -> None:
    project = make_project()
    scores().to_csv(project.root / "results.csv", index=False)
    expect = COMPARE | {"left": {"metric": "auc", "attack": "loss"}, "right": {"value": 0.01}}
    results = load_written(project, of_scores(), expect).spec.results
    assert results is not None
    assert results.prior_of("results") == pytest.approx(200 / 350)


# --- a mean, a standard deviation and a number of repeats


def of_summary(**fields: Any) -> dict[str, Any]:
    usual = {"format": "summary", "columns": {"arm": "method"}, "axes": None, "metrics": {"train": [0, 1]}}
    return experiment(**{**usual, **fields})


SPREADS = st.floats(0.001, 0.3)
MEANS = st.floats(0.05, 0.95)
COUNTS = st.integers(6, 60)
TWO_ARMS = st.tuples(MEANS, SPREADS, COUNTS, MEANS, SPREADS, COUNTS)


@given(TWO_ARMS, st.sampled_from(["std", "stderr"]))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_intervals_from_means_and_spreads_are_scipys(
    make_project: Make, numbers: tuple[float, float, int, float, float, int], spread: str
) -> None:
    m1, s1, n1, m2, s2, n2 = numbers
    project = make_project()
    text = f"method,mean,spread,n\nSGD,{m1!r},{s1!r},{n1}\nDP-SGD,{m2!r},{s2!r},{n2}\n"
    (project.root / "results.csv").write_text(text)
    deviations = (s1, s2) if spread == "std" else (s1 * math.sqrt(n1), s2 * math.sqrt(n2))
    declared = of_summary(spread=spread)
    one = judged(project, declared, COMPARE | {"left": {"metric": "train", "arm": "plain"}, "right": {"value": 0.5}})
    low, high = interval(one)
    wanted = stats.t.interval(0.95, n1 - 1, m1 - 0.5, deviations[0] / math.sqrt(n1))
    assert (low, high) == pytest.approx(wanted, abs=1e-9)
    both = judged(
        project, declared, COMPARE | {"left": {"metric": "train", "arm": "plain"}, "right": {"arm": "private"}}
    )
    welch = stats.ttest_ind_from_stats(
        m1, deviations[0], n1, m2, deviations[1], n2, equal_var=False, alternative="greater"
    )
    assert both.numbers.points[0].p_support == pytest.approx(welch.pvalue, abs=1e-9)
    errors = [d**2 / n for d, n in zip(deviations, (n1, n2), strict=True)]
    dof = sum(errors) ** 2 / (errors[0] ** 2 / (n1 - 1) + errors[1] ** 2 / (n2 - 1))
    reach = stats.t.ppf(0.975, dof) * math.sqrt(sum(errors))
    assert interval(both) == pytest.approx((m1 - m2 - reach, m1 - m2 + reach), abs=1e-9)
    assert both.numbers.test.startswith("one-sided t-test of a mean from its standard deviation and number of repeats")
    assert "as if results were normal" in " ".join(both.rests_on.flags)
    if both.numbers.e_value is not None:
        assert (
            both.numbers.e_value
            <= 0.5 / math.sqrt(min(both.numbers.points[0].p_support, both.numbers.points[0].p_oppose)) + 1e-6
        )


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=3, max_size=30))
def test_the_error_of_a_difference_within_an_arm_is_never_below_that_of_pairs(pairs: list[tuple[float, float]]) -> None:
    """Whatever the results were that the two means are of."""
    left, right = np.array(pairs).T
    n = len(pairs)
    series = [
        Series(np.array([side.mean()]), np.array([side.std(ddof=1) / math.sqrt(n)]), repeats=n)
        for side in (left, right)
    ]
    own = Summarised().mean_within_arm(*series)
    paired = (left - right).std(ddof=1) / math.sqrt(n)
    assert own.mean == pytest.approx(float((left - right).mean()), abs=1e-9)
    assert own.stderr >= paired - 1e-12


def test_a_printed_plus_minus_is_read_as_mean_and_spread(make_project: Make) -> None:
    project = make_project()
    expect = COMPARE | {"left": {"metric": "train", "arm": "plain"}, "right": {"value": 0.5}}
    (project.root / "results.csv").write_text("method,mean\nSGD,0.61 ± 0.02\nDP-SGD,0.5 +/- 0.01\n", encoding="utf-8")
    printed = judged(project, of_summary(repeats=10), expect)
    (project.root / "results.csv").write_text("method,mean,spread,n\nSGD,0.61,0.02,10\nDP-SGD,0.5,0.01,10\n")
    assert judged(project, of_summary(), expect).numbers.points == printed.numbers.points


def test_a_summary_with_a_column_each_metric_says_what_one_with_a_row_each_says(make_project: Make) -> None:
    project = make_project()
    expect = COMPARE | {"left": {"metric": "train", "minus": "test", "arm": "plain"}, "right": {"value": 0.05}}
    declared = of_summary(metrics={"train": [0, 1], "test": [0, 1]})
    (project.root / "results.csv").write_text(
        "method,metric,mean,spread,n\nSGD,train,0.91,0.02,10\nSGD,test,0.7,0.01,10\nDP-SGD,train,0.5,0.01,10\n"
        "DP-SGD,test,0.5,0.02,10\n"
    )
    long = judged(project, declared, expect)
    (project.root / "results.csv").write_text(
        "method,train,test,n\nSGD,0.91 ± 0.02,0.7 ± 0.01,10\nDP-SGD,0.5 ± 0.01,0.5 ± 0.02,10\n", encoding="utf-8"
    )
    assert judged(project, declared, expect).numbers.points == long.numbers.points
    (project.root / "results.csv").write_text(
        "method,train_mean,train_std,test_mean,test_std,n\nSGD,0.91,0.02,0.7,0.01,10\nDP-SGD,0.5,0.01,0.5,0.02,10\n"
    )
    columns = {"arm": "method"}
    columns |= {f"{m}{of}": f"{m}_{end}" for m in ("train", "test") for of, end in (("", "mean"), ("_spread", "std"))}
    assert judged(project, declared | {"columns": columns}, expect).numbers.points == long.numbers.points


# --- runs that stopped early


@given(st.lists(st.integers(1, 4), min_size=7, max_size=12), st.randoms())
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_runs_that_stopped_early_count_where_they_got_to(make_project: Make, stops: list[int], order: Random) -> None:
    """A difference between two epochs is over the runs that have both, as pandas joins them."""
    project, rng = make_project(), np.random.default_rng(len(stops))
    stops[:2] = [4, 4]
    rows = [
        ("SGD", f"run {i}", epoch, rng.uniform(), 0.5, 1.0) for i, n in enumerate(stops) for epoch in range(1, n + 1)
    ]
    order.shuffle(rows)
    frame = pd.DataFrame(rows, columns=["method", "seed", "epoch", "train", "test", "loss"])
    frame.to_csv(project.root / "results.csv", index=False)
    expect = COMPARE | {
        "left": {"metric": "train", "at": {"epoch": 4}}, "right": {"metric": "train", "at": {"epoch": 2}}
    }  # fmt: skip
    declared = experiment(arms={"plain": {"in_file": "SGD"}}, stopped_early=True)
    verdict = judged(project, declared, expect)
    at = frame.pivot(index="seed", columns="epoch", values="train")
    both = (at[4] - at[2]).dropna()
    assert verdict.numbers.points[0].repeats == len(both)
    assert verdict.numbers.effect == pytest.approx(both.mean(), abs=1e-9)
    assert "Some runs stopped early" in " ".join(verdict.rests_on.flags)
    alone = judged(
        project, declared, COMPARE | {"left": {"metric": "train", "at": {"epoch": 1}}, "right": {"value": 0}}
    )
    assert alone.numbers.points[0].repeats == len(stops)


def test_paired_runs_that_stopped_early_stay_pairs(make_project: Make) -> None:
    project, rng = make_project(), np.random.default_rng(3)
    stops = dict(enumerate((2, 3, 1, 3, 2, 3, 3, 3)))
    rows = [
        (arm, i, epoch, rng.uniform(), 0.5, 1.0)
        for arm in ("SGD", "DP-SGD") for i, n in stops.items() for epoch in range(1, n + 1)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["method", "seed", "epoch", "train", "test", "loss"])
    frame.to_csv(project.root / "results.csv", index=False)
    left, right = {"metric": "train", "arm": "plain", "at": {"epoch": 2}}, {"arm": "private", "at": {"epoch": 2}}
    verdict = judged(project, experiment(stopped_early=True, paired=True), COMPARE | {"left": left, "right": right})
    at = frame[frame["epoch"] == 2].pivot(index="seed", columns="method", values="train")
    assert verdict.numbers.points[0].repeats == len(at) == 7
    assert verdict.numbers.points[0].holds == int((at["SGD"] > at["DP-SGD"]).sum())
    assert verdict.numbers.effect == pytest.approx((at["SGD"] - at["DP-SGD"]).mean(), abs=1e-9)


def test_few_repeats_of_a_summary_decide_nothing_and_the_reason_says_that_none_can_be_added(make_project: Make) -> None:
    project = make_project()
    expect = COMPARE | {"left": {"metric": "train", "arm": "plain"}, "right": {"value": 0.5}}
    (project.root / "results.csv").write_text("method,mean,spread,n\nSGD,0.9,0.01,5\nDP-SGD,0.5,0.01,5\n")
    verdict = judged(project, of_summary(), expect)
    assert verdict.verdict == "inconclusive"
    assert verdict.reason.startswith("5 repeats decide nothing, 6 may; so far 0.9 against 0.5, effect 0.4 [")
    assert verdict.reason.endswith("; none can be added to results.csv, which has 5 repeats")
    log(repeats=1).to_csv(project.root / "results.csv", index=False)
    once = judged(project, experiment(), OVERFITS)
    assert once.reason.endswith("; none can be added to results.csv, which has 1 repeat")
    log(repeats=2).to_csv(project.root / "results.csv", index=False)
    assert judged(project, experiment(), OVERFITS).reason.endswith(
        "; none can be added to results.csv, which has 2 repeats"
    )


# --- a table that a run here left behind, judged as results from elsewhere


def test_a_committed_table_judged_from_csv_gives_what_its_own_spec_gives(make_project: Make) -> None:
    """The judge does not ask where numbers came from: same numbers, same point."""
    from harness.claims.arm_facts import ArmFacts
    from harness.claims.design import Fixed
    from harness.claims.evidence import Measurements
    from harness.claims.operands import MetricSeries
    from harness.claims.samples import Samples
    from harness.pipeline.sources import source_of_run

    project = make_project()
    frame = log()
    frame.to_csv(project.root / "results.csv", index=False)
    run = run_written(project, experiment(), OVERFITS)
    table, _ = source_of_run(run).read(run)
    assert table is not None
    rows = frame.rename(columns={"method": "arm", "seed": "repeat"}).melt(["arm", "repeat", "epoch"], var_name="metric")
    rows = rows.assign(repeat=rows["repeat"] // 10, attack="", stderr=0.0, epsilon=math.nan)
    rows["arm"] = rows["arm"].map({"SGD": "plain", "DP-SGD": "private"})
    curve, where = MetricSeries("loss", "plain"), {"epoch": 2.0}
    own, other = (
        Samples(Measurements(one, {"plain": ArmFacts(0.0)}, axes=("epoch",), cell_axes=("epoch",)))
        .of_curve(curve, where)
        .mean(Fixed(), None)
        for one in (table, rows)
    )
    assert (own.mean, own.stderr, own.interval()) == (other.mean, other.stderr, other.interval())


def test_a_spec_says_the_same_whatever_file_name_its_results_have(make_project: Make) -> None:
    """What names results is their bytes and how they are read; an edit of the file is another experiment."""
    project = make_project()
    log().to_csv(project.root / "results.csv", index=False)
    first = load_written(project, experiment(), OVERFITS)
    (project.root / "results.csv").rename(project.root / "other.csv")
    moved = load_written(project, experiment(path="other.csv"), OVERFITS)
    assert moved.sha256 == first.sha256
    log(seed=1).to_csv(project.root / "other.csv", index=False)
    assert load_written(project, experiment(path="other.csv"), OVERFITS).sha256 != first.sha256


def test_levels_follow_from_the_file_in_order() -> None:
    declared = ResultsFile.model_validate(experiment(axes={"epoch": [3, 1]}))
    assert declared.levels("plain") == {"epoch": (3.0, 1.0)}


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_a_number_of_less_than_double_precision_is_the_one_that_it_shows(precision: str, make_project: Make) -> None:
    """An epsilon of 0.1 as float32 is 0.10000000149011612 to Python, which no claim names."""
    project = make_project()
    frame = log().assign(epoch=lambda f: f["epoch"] / 10).astype({"epoch": precision, "train": "float32"})
    frame.to_parquet(project.root / "results.parquet", index=False)
    declared = experiment(path="results.parquet", axes={"epoch": {"values": [0.1, 0.2, 0.3]}})
    at = OVERFITS | {"at": {"epoch": [0.1, 0.3]}}
    assert [dict(point.at)["epoch"] for point in judged(project, declared, at).numbers.points] == [0.1, 0.3]
    results = load_written(project, declared, at).spec.results
    assert results is not None
    rows = read_rows(results, project.root / "results.parquet")
    assert set(rows["epoch"]) == {0.1, 0.2, 0.3}
    assert rows[rows["metric"] == "train"]["value"].iloc[0] == float(str(frame["train"].iloc[0]))
