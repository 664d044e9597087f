"""The loss threshold attack on a hand-worked example."""

from __future__ import annotations

import numpy as np
import pytest

from harness.attacks import Outputs
from harness.attacks.logloss import Logloss
from harness.metrics.membership import advantage


def outputs(own: list[float]) -> Outputs:
    """Two classes, all labels 1, with the given probability of the label."""
    p = np.array(own)
    with np.errstate(divide="ignore"):
        return Outputs(np.log(np.stack([1 - p, p], axis=1)), np.ones(len(p), dtype=np.int64))


def test_by_hand() -> None:
    """Losses ln 2, ln 4, ln 2, ln 2: mean 1.25 ln 2, so three of four members and one of two others are called members."""
    members, others = outputs([0.5, 0.25, 0.5, 0.5]), outputs([0.5, 0.25])
    assert members.losses() == pytest.approx(np.log([2, 4, 2, 2]))
    answers = Logloss().answer(members, others, {})
    assert answers.member_decisions.tolist() == [True, False, True, True]
    assert answers.nonmember_decisions.tolist() == [True, False]
    assert advantage(answers.member_decisions, answers.nonmember_decisions).value == pytest.approx(0.75 - 0.5)


def test_equal_losses_are_members() -> None:
    """Member iff loss <= mean training loss: equality counts as member."""
    answers = Logloss().answer(outputs([0.5, 0.5]), outputs([0.5]), {})
    assert answers.member_decisions.all()
    assert answers.nonmember_decisions.all()


def test_probability_floor() -> None:
    """-ln(max(p, 1e-6)): a probability of zero costs 13.8, not infinity."""
    assert outputs([0.0]).losses()[0] == pytest.approx(-np.log(1e-6))


def test_scores_fall_with_the_loss() -> None:
    answers = Logloss().answer(outputs([0.9, 0.1]), outputs([0.5]), {})
    assert answers.member_scores[0] > answers.nonmember_scores[0] > answers.member_scores[1]
