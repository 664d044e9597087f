"""Positive accuracy: the share of members among the records called members."""

from __future__ import annotations

import numpy as np

from harness.plugins import Answers, Value, metric, share


@metric("precision", "share of members among records called members", scope="attack")
def precision(answers: Answers) -> Value:
    """TP / (TP + FP); one half, by convention, where no record is called a member."""
    true, false = int(answers.member_decisions.sum()), int(answers.nonmember_decisions.sum())
    if true + false == 0:
        return Value(0.5, 0.5, 0)
    return share(np.repeat([True, False], [true, false]))
