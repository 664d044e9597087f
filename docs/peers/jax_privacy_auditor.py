"""This project's auditors beside JAX Privacy's `CanaryScoreAuditor`, on the same scores.

Run it in an environment of its own, from the project's root:

    python -m venv peer && peer/bin/pip install jax-privacy==2.0.0 pydantic pandas rich scikit-learn ruamel.yaml
    PYTHONPATH=. peer/bin/python docs/peers/jax_privacy_auditor.py

It prints a table and ends with 1 where two numbers differ by more than half of the fourth decimal. Their area under the
ROC curve is that under its convex hull, and their Gaussian bound is another method (rates over all thresholds, where
the one here is of the scores' own distribution); neither is compared.
"""

from __future__ import annotations

import sys

import numpy as np
from jax_privacy.auditing import CanaryScoreAuditor, Explicit

from harness.auditing.auditor import Trials
from harness.auditing.auditors.clopper_pearson import ClopperPearson
from harness.auditing.auditors.one_run import largest_refused

DELTA, ALPHA = 1e-5, 0.05


def main() -> int:
    """Scores of a Gaussian and of a Laplace mechanism, at three thresholds each; how many numbers differ."""
    rng, different = np.random.default_rng(0), 0
    print(f"{'scores':<24}{'what':<34}{'here':>10}{'peer':>10}")
    for name, draw in (("N(1, 1) and N(0, 1)", rng.normal), ("Laplace, 1 apart", rng.laplace)):
        inside, outside = draw(1.0, 1.0, 1000), draw(0.0, 1.0, 1000)
        peer = CanaryScoreAuditor(inside, outside)
        rows = []
        for at in (0.0, 1.0, 2.0):
            mine = ClopperPearson(threshold=at).bound(Trials(inside, outside), DELTA, 1 - ALPHA).epsilon
            # They have scores at the threshold count as in, here those above it do: none is at it.
            theirs = peer.epsilon_clopper_pearson(ALPHA, DELTA, one_sided=False, threshold_strategy=Explicit(at))
            rows.append((f"epsilon, Clopper-Pearson, above {at:g}", mine, theirs))
            guesses, right = int((np.r_[inside, outside] > at).sum()), int((inside > at).sum())
            mine = largest_refused(2000, guesses, right, DELTA, ALPHA)
            theirs = peer.epsilon_one_run(ALPHA, DELTA, threshold_strategy=Explicit(at))
            rows.append((f"epsilon, one run, above {at:g}", mine, theirs))
        for what, mine, theirs in rows:
            print(f"{name:<24}{what:<34}{mine:>10.5f}{float(theirs):>10.5f}")
            different += abs(mine - float(theirs)) > 5e-5
    print(f"{different} of 12 numbers differ")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
