"""This project's attacks, metrics and auditors beside Meta's PrivacyGuard 0.0.2, on the same made outputs.

Run it in an environment of its own, from the project's root:

    python -m venv peer && peer/bin/pip install torch
    peer/bin/pip install --no-deps privacyguard-platform==0.0.2
    peer/bin/pip install 'pandas<3' scipy scikit-learn tqdm pydantic rich ruamel.yaml
    PYTHONPATH=. peer/bin/python docs/peers/privacy_guard_scores.py

It prints two tables and ends with 1 where two numbers differ by more than half of the fourth decimal. The second table
is of lower bounds on epsilon where nothing leaks: the peer's `eps_cp` takes the largest of Clopper-Pearson bounds over
all thresholds at 95% each, so that it is no bound at 95%; `all-thresholds` divides the error among its thresholds.
RMIA is compared online: offline the peer averages, of the pool's outputs on the population, the largest half alone.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import torch
from privacy_guard.analysis.mia.aggregate_analysis_input import AggregationType
from privacy_guard.analysis.mia.mia_results import MIAResults
from privacy_guard.attacks.lira_attack import LiraAttack
from privacy_guard.attacks.rmia_attack import RmiaAttack

from harness.attacks.lira import Lira
from harness.attacks.pool import InOutModel, Pool
from harness.attacks.pooled import PooledAttack
from harness.attacks.rmia import Rmia
from harness.auditing.auditor import Trials
from harness.auditing.auditors.all_thresholds import AllThresholds
from harness.auditing.auditors.clopper_pearson import ClopperPearson
from harness.metrics.answers import Outputs
from harness.metrics.membership import auc, best_threshold, rates

RECORDS, MODELS, POPULATION, AUDITS, RUNS, DELTA = 400, 64, 300, 300, 500, 1e-5


def main() -> int:
    """How many numbers of the first table differ."""
    rng = np.random.default_rng(0)
    rows = [*compare_metrics(rng), *compare_lira(rng), *compare_rmia(rng)]
    print(f"{'what':<58}{'here':>10}{'peer':>10}")
    different = 0
    for what, mine, theirs in rows:
        print(f"{what:<58}{mine:>10.5f}{theirs:>10.5f}")
        different += abs(mine - theirs) > 5e-5
    print(f"{different} of {len(rows)} numbers differ\n")
    print(
        f"{AUDITS} audits of scores that tell nothing, {RUNS} runs with the canary and {RUNS} without, delta {DELTA:g}"
    )
    print(f"{'lower bound on epsilon':<58}{'above 0':>10}{'largest':>10}")
    for name, bounds in null_bounds(rng).items():
        print(f"{name:<58}{(bounds > 0).mean():>10.1%}{bounds.max():>10.3f}")
    return int(different > 0)


def compare_metrics(rng: np.random.Generator) -> list[tuple[str, float, float]]:
    """Area under the ROC curve and accuracy at the best threshold."""
    inside, outside = rng.normal(0.5, 1, RECORDS), rng.normal(0, 1.2, RECORDS)
    theirs = MIAResults(torch.from_numpy(inside), torch.from_numpy(outside))
    accuracy, area, _ = theirs.compute_acc_auc_epsilon(DELTA)
    threshold = best_threshold(inside, outside)
    hit, false = rates(inside >= threshold, outside >= threshold)
    return [
        ("area under the ROC curve", auc(inside, outside).value, float(area)),
        ("accuracy at the best threshold", (1 + hit - false) / 2, float(accuracy)),
    ]


class MadeModels:
    """A target and a pool of models, each trained on half of the records, and each record in half of the pool.

    `has`: which, (models, records), the target last. `own` and `population`: the probability that each model gives a
    record's class.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        halves = np.stack([rng.permutation(np.arange(RECORDS) % 2 == 0) for _ in range(MODELS // 2 + 1)])
        self.has = np.concatenate([halves[:-1], ~halves[:-1], halves[-1:]])
        drawn = rng.normal(0, 0.6, (MODELS + 1, RECORDS + POPULATION))
        logits = rng.normal(0.5, 1, RECORDS + POPULATION) + drawn
        logits[:, :RECORDS] += 0.8 * self.has
        p = 1 / (1 + np.exp(-logits))
        self.own, self.population = p[:, :RECORDS], p[:, RECORDS:]

    def scores_by(self, attack: PooledAttack) -> np.ndarray:
        """Of the records, (records,), by an attack of this project."""
        models = [
            InOutModel(_outputs(p), _outputs(others), has)
            for p, has, others in zip(self.own, self.has, self.population, strict=True)
        ]
        *pool, target = models
        answers, scores = attack.answers(target, attack.fit(Pool(pool), 0)), np.empty(RECORDS)
        has = target.trained_on
        scores[has], scores[~has] = answers.member_scores, answers.nonmember_scores
        return scores


def _outputs(p: np.ndarray) -> Outputs:
    """Two classes, of which the first is right with these probabilities."""
    return Outputs(np.log(np.stack([p, 1 - p], axis=1)), np.zeros(len(p), dtype=int))


def compare_lira(rng: np.random.Generator) -> list[tuple[str, float, float]]:
    """Log likelihood ratios with and without each record, by each record's own variances."""
    made = MadeModels(rng)
    signal = np.log(made.own / (1 - made.own))
    frame = pd.DataFrame({"user_id": np.arange(RECORDS), "score_orig": signal[-1]})
    for name, side in (("in", True), ("out", False)):
        known = np.where(made.has[:-1] == side, signal[:-1], np.nan)
        frame[f"score_mean_{name}"], frame[f"score_std_{name}"] = np.nanmean(known, 0), np.nanstd(known, 0, ddof=1)
    has = made.has[-1]
    attack = LiraAttack(frame[has].copy(), frame[~has].copy(), AggregationType.MAX, online_attack=True)
    attack.run_attack()
    theirs = pd.concat([attack.df_train_merge, attack.df_test_merge]).sort_index()["score"].to_numpy()
    return _rows("LiRA, online, each record's variances", made.scores_by(Lira(variance="record")), theirs, has)


def compare_rmia(rng: np.random.Generator) -> list[tuple[str, float, float]]:
    """Shares of the population over which a record is favoured, against models with it and without it alike."""
    made = MadeModels(rng)
    has, keys = made.has[-1], range(MODELS)

    def frame_of(p: np.ndarray, has: np.ndarray) -> pd.DataFrame:
        columns = {f"score_ref_{i}": p[i] for i in keys} | {f"member_ref_{i}": has[i] for i in keys}
        return pd.DataFrame({"user_id": np.arange(p.shape[1]), "score_orig": p[-1], **columns})

    records, others = frame_of(made.own, made.has), frame_of(made.population, np.zeros(made.population.shape, bool))
    attack = RmiaAttack(
        records[has], records[~has], others, AggregationType.MAX, num_reference_models=MODELS, online=True
    )
    given = attack.run_attack()
    theirs = pd.concat([given.df_train_merge, given.df_test_merge]).sort_index()["score"].to_numpy()
    return _rows("RMIA, online, gamma 1", made.scores_by(Rmia(gamma=1.0)), theirs, has)


def _rows(name: str, mine: np.ndarray, theirs: np.ndarray, has: np.ndarray) -> list[tuple[str, float, float]]:
    mid = int(np.argsort(mine)[RECORDS // 2])
    areas = [auc(scores[has], scores[~has]).value for scores in (mine, theirs)]
    return [
        (f"{name}: mean score of members", float(mine[has].mean()), float(theirs[has].mean())),
        (f"{name}: mean score of others", float(mine[~has].mean()), float(theirs[~has].mean())),
        (f"{name}: score of the middle record", float(mine[mid]), float(theirs[mid])),
        (f"{name}: area under the ROC curve", *areas),
    ]


def null_bounds(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Lower bounds on epsilon at 95% where runs with and without the canary score alike, (audits,) each."""
    bounds: dict[str, list[float]] = {}
    for _ in range(AUDITS):
        inside, outside = rng.normal(size=RUNS), rng.normal(size=RUNS)
        trials = Trials(inside, outside)
        for auditor in (ClopperPearson(), AllThresholds()):
            bounds.setdefault(f"here: {auditor.plugin_name()}", []).append(auditor.bound(trials, DELTA).epsilon)
        theirs = MIAResults(torch.from_numpy(inside), torch.from_numpy(outside)).compute_acc_auc_ci_epsilon(DELTA)[2]
        bounds.setdefault("peer: eps_cp", []).append(float(theirs))
    return {name: np.array(values) for name, values in bounds.items()}


if __name__ == "__main__":
    sys.exit(main())
