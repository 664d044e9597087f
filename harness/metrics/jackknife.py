"""The jackknife, for standard errors of metrics for which no formula is at hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from harness.metrics.answers import Answers
from harness.metrics.value import Value

GROUPS = 50
"""The number of groups into which members, and non-members, are dealt. One is left out at a time, so that the cost does
not grow with the number of records."""


def jackknife(function: Callable[[Answers], float], answers: Answers, groups: int = GROUPS) -> Value:
    """A metric of an attack's answers, with the standard error that leaving out some records at a time gives it.

    Members and non-members are samples of their own; each is dealt into at most `groups` groups, record i into group
    i modulo their number. With t_j the metric without group j of g, a sample adds (g - 1) / g sum_j (t_j - mean t)^2 to
    the variance (the delete-a-group jackknife: Shao and Tu 1995, "The Jackknife and Bootstrap", Section 2.3). It is for
    metrics that are smooth functions of means, such as F1; of a quantile or a largest value it says too little or too
    much, and `harness.testing.check_metric` refuses it.

    Args:
        function: the metric; it gets answers without some of the records.
        answers: the answers about all records.
        groups: the largest number of groups.

    Returns:
        The metric of all records. Its error is not-a-number where a sample has fewer than two records.

    >>> scores = np.arange(8.0)
    >>> answers = Answers(scores + 1.5, scores, scores > 1, scores > 3)
    >>> tpr = jackknife(lambda a: float(a.member_decisions.mean()), answers)
    >>> print(f"{tpr.value:.3f} ± {tpr.stderr:.3f} of {tpr.n}")
    0.750 ± 0.164 of 16
    """
    m, n = len(answers.member_scores), len(answers.nonmember_scores)
    variance = 0.0
    for size, of_members in ((m, True), (n, False)):
        count = min(groups, size)
        if count < 2:
            variance = math.nan
            break
        dealt = np.arange(size) % count
        every = np.ones(n if of_members else m, dtype=bool)
        left = [dealt != group for group in range(count)]
        values = np.array([function(answers.take(*((one, every) if of_members else (every, one)))) for one in left])
        variance += (count - 1) / count * float(np.square(values - values.mean()).sum())
    return Value(float(function(answers)), math.sqrt(variance), m + n)
