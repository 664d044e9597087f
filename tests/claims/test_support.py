"""Whether a part is supported, told from few of its points, is what judging the part whole says."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.claims.combine import judge_part
from harness.claims.contrasts import Comparisons
from harness.claims.results import Part
from harness.claims.samples import Samples
from harness.claims.support import Support
from harness.claims.testing import Look
from harness.errors import HarnessError
from tests.claims.judged import evidence_of, parts_of
from tests.claims.test_contrasts import KINDS, METHODS, tables

ABOVE = {"kind": "compare", "left": {"metric": "advantage", "arm": "a", "attack": "x"}, "relation": ">"}
ASKED = {
    **KINDS,
    "above a number": {**ABOVE, "right": {"value": 0.4}},
    "above a number somewhere": {**ABOVE, "right": {"value": 0.4}, "for": "some"},
    "two claims at each place": {
        "kind": "at-least",
        "needed": 1,
        "of": [{**ABOVE, "right": {"value": 0.2}}, KINDS["order"]],
        "over": {"epsilon": [1.0, 2.0]},
    },
}


def outcome_of(compared: Comparisons, look: Look, part: Part) -> str:
    try:
        return judge_part(compared, look, part).outcome
    except HarnessError:
        return "not measured"


@pytest.mark.parametrize("kind", ASKED)
@settings(max_examples=20)
@given(
    frames=st.lists(tables(), min_size=1, max_size=3),
    method=st.sampled_from(METHODS),
    fewest=st.integers(2, 8),
    alpha=st.sampled_from([0.01, 0.1, 0.4]),
    absent=st.integers(0, 1),
)
def test_it_is_supported_where_judging_it_whole_says_so(
    kind: str, frames: list[pd.DataFrame], method: object, fewest: int, alpha: float, absent: int
) -> None:
    evidence = evidence_of(frames[0])
    (one,) = parts_of(ASKED[kind], evidence)
    compared, part = one.contrasts(evidence), Part(0, 1, alpha, fewest)
    compared = Comparisons(**{**vars(compared), "absent": compared.absent + absent})
    support = Support(compared, part)
    for frame in frames:  # the same one is asked again and again, so points change their order
        look = Look(Samples(evidence_of(frame)), method)
        assert support.is_found(look) == (outcome_of(compared, look, part) == "reproduced")


def test_points_after_those_that_fail_are_not_looked_at() -> None:
    rows = [("a", "x", "advantage", e, r, 0.5 * (e == 1) + 0.01 * (r % 2), 0.0) for e in (1.0, 2.0) for r in range(9)]
    columns = ["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"]
    evidence = evidence_of(pd.DataFrame(rows, columns=columns))
    (one,) = parts_of({**ABOVE, "right": {"value": 0.2}}, evidence)
    support = Support(one.contrasts(evidence), Part(0, 1, 0.025, 6))
    first, second = Samples(evidence), Samples(evidence)
    looks = [Look(samples, evidence.design) for samples in (first, second)]
    assert [support.is_found(look) for look in looks] == [False, False]
    assert (first.taken, second.taken) == (2, 1)  # it fails at epsilon 2, which is looked at first the second time
