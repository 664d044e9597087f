"""Points of a claim that a profile leaves out: nothing is known of them, and a verdict never rests on their absence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.claims.allocation import allocate_repeats
from harness.claims.design import Sequential
from harness.claims.results import PartResult
from tests.claims.judged import EPSILON, TableEvidence, evidence_of, judge, plain
from tests.claims.test_judge import GRID, compare, table

FAR_ABOVE, FAR_BELOW = 0.5, 0.05
BOUND = {"value": 0.2}


def kept(frame: pd.DataFrame, epsilons: tuple[float, ...], arms: str = "a", design: Any = None) -> TableEvidence:
    """The same table as a profile measures it that keeps these epsilons."""
    evidence = evidence_of(frame[frame["epsilon"].isin(epsilons)], design)
    lost = tuple(e for e in GRID if e not in epsilons)
    for arm in arms:
        evidence._arms = {**evidence._arms, arm: replace(evidence._arms[arm], epsilons_left_out=lost)}
    return evidence


def both(
    expectation: dict[str, Any], frame: pd.DataFrame, epsilons: tuple[float, ...]
) -> tuple[PartResult, PartResult]:
    return judge(expectation, frame), judge(expectation, kept(frame, epsilons))


def test_a_claim_of_all_points_is_violated_but_not_reproduced_by_some_of_them() -> None:
    holds = table({"a/x/advantage": FAR_ABOVE}, repeats=20)
    whole, part = both(compare(">", BOUND), holds, (0.1, 10.0))
    assert (whole.outcome, part.outcome) == ("reproduced", "inconclusive")
    assert part.reason.startswith("holds at every point that the profile runs, which leaves out 1; weakest at epsilon ")
    assert (part.absent, len(part.points)) == (1, 2)
    fails = table({"a/x/advantage": (FAR_BELOW, FAR_ABOVE, FAR_ABOVE)}, repeats=20)
    whole, part = both(compare(">", BOUND), fails, (0.1, 10.0))
    assert (whole.outcome, part.outcome) == ("violated", "violated")
    assert part.oppose == pytest.approx(whole.oppose)  # Bonferroni over the three that are declared
    assert "Bonferroni over 3 to oppose" in part.correction
    unseen, blind = both(compare(">", BOUND), fails, (1.0, 10.0))
    assert (unseen.outcome, blind.outcome) == ("violated", "inconclusive")


def test_a_claim_of_some_point_is_reproduced_but_not_violated_by_some_of_them() -> None:
    holds = table({"a/x/advantage": (FAR_BELOW, FAR_ABOVE, FAR_BELOW)}, repeats=20)
    whole, part = both(compare(">", BOUND, "some"), holds, (1.0,))
    assert (whole.outcome, part.outcome) == ("reproduced", "reproduced")
    assert part.support == pytest.approx(whole.support)
    fails = table({"a/x/advantage": FAR_BELOW}, repeats=20)
    whole, part = both(compare(">", BOUND, "some"), fails, (0.1, 1.0))
    assert (whole.outcome, part.outcome) == ("violated", "inconclusive")
    assert part.oppose == 1


def test_points_that_the_claim_does_not_ask_for_are_not_left_out() -> None:
    frame = table({"a/x/advantage": FAR_ABOVE})
    assert judge(compare(">", BOUND, at=[1.0, 10.0]), kept(frame, (1.0, 10.0))).outcome == "reproduced"
    assert judge(compare(">", BOUND, at=[0.1, 10.0]), kept(frame, (1.0, 10.0))).outcome == "inconclusive"
    assert judge(compare(">", BOUND, at=[0.1]), kept(frame, (1.0, 10.0))).outcome == "not run"


def test_the_model_without_noise_is_no_point_of_a_claim_that_does_not_name_it() -> None:
    evidence = evidence_of(table({"a/x/advantage": FAR_ABOVE}))
    evidence._arms = {"a": replace(evidence._arms["a"], epsilons_left_out=(np.inf,))}
    assert judge(compare(">", BOUND), evidence).outcome == "reproduced"
    assert judge(compare(">", BOUND, at=[10.0, np.inf]), evidence).outcome == "inconclusive"


def test_a_point_that_one_side_never_had_is_not_left_out() -> None:
    """Arm b is declared at two epsilons alone: there is no third place at which the two could be compared."""
    frame = table({"a/x/advantage": FAR_ABOVE, "b/x/advantage": FAR_BELOW})
    evidence = kept(frame, (0.1, 1.0))
    right = {"metric": "advantage", "arm": "b", "attack": "x"}
    assert judge(compare(">", right), evidence).outcome == "reproduced"
    assert judge(compare(">", right), kept(frame, (0.1, 1.0), "ab")).outcome == "inconclusive"


def test_points_of_another_axis_are_left_out_with_their_epsilon() -> None:
    frame = pd.concat(
        [
            table({"a/x/advantage": (FAR_BELOW, FAR_ABOVE, FAR_ABOVE)}, repeats=20, seed=s).assign(p=float(s))
            for s in (1, 2)
        ]
    )
    axes = ("p", *EPSILON)

    def result(quantifier: Any, frame: pd.DataFrame) -> PartResult:
        evidence = evidence_of(frame, axes=axes)
        lost = tuple(e for e in GRID if e not in set(frame["epsilon"]))
        evidence._arms = {"a": replace(evidence._arms["a"], epsilons_left_out=lost)}
        return judge(compare(">", BOUND, quantifier), evidence)

    fewer = frame[frame["epsilon"] < 10]
    assert result("all", fewer).absent == 2
    assert "Bonferroni over 6 to oppose" in result("all", fewer).correction
    assert result({"epsilon": "some"}, frame).outcome == "reproduced"
    # For each p some epsilon: not judged where an epsilon is left out.
    mixed = result({"epsilon": "some"}, fewer)
    assert (mixed.outcome, mixed.reason) == (
        "not run",
        "the profile leaves out alternatives of which one would be enough",
    )


@given(
    means=st.tuples(*[st.sampled_from([FAR_BELOW, 0.19, 0.2, 0.21, FAR_ABOVE])] * len(GRID)),
    chosen=st.sets(st.sampled_from(GRID), min_size=1),
    seed=st.integers(0, 10_000),
    relation=st.sampled_from([">", "<="]),
    sequential=st.booleans(),
)
def test_leaving_points_out_never_gives_a_verdict_that_all_points_do_not_give(
    means: tuple[float, ...], chosen: set[float], seed: int, relation: str, sequential: bool
) -> None:
    frame = table({"a/x/advantage": means}, repeats=20, seed=seed)
    design = Sequential() if sequential else None
    epsilons = tuple(sorted(chosen))
    for quantifier in ("all", "some"):
        claim = compare(relation, BOUND, quantifier)
        whole, part = judge(claim, evidence_of(frame, design)), judge(claim, kept(frame, epsilons, design=design))
        allowed = {"inconclusive", whole.outcome}
        if len(chosen) < len(GRID):
            allowed -= {"reproduced" if quantifier == "all" else "violated"}
        assert part.outcome in allowed
        assert part.support >= whole.support - 1e-12
        assert part.oppose >= whole.oppose - 1e-12


def test_repeats_are_added_where_they_may_contradict_and_nowhere_else() -> None:
    """A claim of all points, one of which is left out, gets no repeats where it seems to hold: it cannot be shown."""
    frame = table({"a/x/advantage": (0.23, 0.18, 0.23)}, repeats=6, sd=0.05, seed=2)

    def wanted(quantifier: str, epsilons: tuple[float, ...]) -> dict[tuple[str, float], int]:
        finding = judge(compare(">", BOUND, quantifier), kept(frame, epsilons, design=Sequential()))
        assert finding.outcome == "inconclusive"
        return plain(allocate_repeats([finding], 0.05, 40))

    above = {e for e in GRID if frame[frame["epsilon"] == e]["value"].mean() > 0.2}
    assert 0 < len(above) < len(GRID)
    for left_out in GRID:
        epsilons = tuple(e for e in GRID if e != left_out)
        assert {e for _, e in wanted("all", epsilons)} <= set(GRID) - above - {left_out}
        assert {e for _, e in wanted("some", epsilons)} <= above - {left_out}
    assert wanted("all", tuple(e for e in GRID if e not in list(above)[:1]))
    assert wanted("all", tuple(sorted(above))) == {}
