"""The attacks of an audit, in its order: blind, loss, quantile, and from a pool LiRA and RMIA.

They are those of specs; what they answer is kept in full precision.
"""

from __future__ import annotations

import numpy as np

from harness.arrays import Array
from harness.attacks.attack import ScoringAttack
from harness.attacks.blind import Blind
from harness.attacks.lira import Lira
from harness.attacks.logloss import Logloss
from harness.attacks.pool import Pool
from harness.attacks.pooled import PooledAttack
from harness.attacks.quantile import QuantileRegression
from harness.attacks.rmia import Rmia
from harness.attacks.target import AttackResult, Target
from harness.extensions.audit.model.records import Records
from harness.hashing import derive_seed
from harness.metrics.answers import Answers, Outputs

BLIND, LOSS, QUANTILE, LIRA, RMIA = "blind", "loss", "quantile", "lira", "rmia"
MANY_FEATURES = 200
"""From so many on the blind attack is linear, as its docstring advises."""
QUANTILE_LEVEL = 0.05
FIELDS = ("member_scores", "nonmember_scores", "member_decisions", "nonmember_decisions")


class _Exact:
    """Keeps scores as they are."""

    def pack_answers(self, answers: Answers) -> AttackResult:
        """Scores and decisions as they are; metrics are taken elsewhere."""
        return AttackResult({name: getattr(answers, name) for name in FIELDS}, {})


class _Blind(_Exact, Blind):
    pass


class _Loss(_Exact, Logloss):
    pass


class _Quantile(_Exact, QuantileRegression):
    pass


class _Lira(_Exact, Lira):
    pass


class _Rmia(_Exact, Rmia):
    pass


class ModelTarget(Target):
    """The model that is audited, as attacks see it."""

    def __init__(self, records: Records, outputs: Outputs) -> None:
        self._records, self._outputs = records, outputs

    @property
    def members(self) -> Outputs:
        return self._part(0, self._records.members)

    @property
    def nonmembers(self) -> Outputs:
        return self._part(self._records.members, self._records.candidates)

    @property
    def test(self) -> Outputs:
        """The model's outputs on the reference records."""
        return self._part(self._records.candidates, len(self._outputs))

    def features(self) -> tuple[Array, Array]:
        encoded, m = self._records.encoded_features, self._records.members
        return encoded[:m], encoded[m : self._records.candidates]

    def test_features(self) -> Array:
        return self._records.encoded_features[self._records.candidates :]

    def _part(self, start: int, end: int) -> Outputs:
        return Outputs(self._outputs.log_probabilities[start:end], self._outputs.labels[start:end])


def attack_model(records: Records, outputs: Outputs, pool: Pool, seed: int) -> dict[str, tuple[str, Answers]]:
    """A description and the answers of each attack; LiRA and RMIA only with a pool."""
    target = ModelTarget(records, outputs)
    attacks: dict[str, ScoringAttack] = {
        BLIND: _Blind(classifier="linear" if records.encoded_features.shape[1] >= MANY_FEATURES else "boosting"),
        LOSS: _Loss(),
        QUANTILE: _Quantile(level=max(QUANTILE_LEVEL, 1 / (records.references // 2))),
    }
    if pool:
        attacks |= {LIRA: lira(), RMIA: rmia()}
    answers = {}
    for name, attack in attacks.items():
        learnt = attack.fit(pool, derive_seed(seed, "model audit", name)) if attack.shadow_pool else {}
        answers[name] = (attack.summary, _answers_in(attack.measure(target, learnt).arrays))
    return answers


def lira() -> PooledAttack:
    """LiRA as it is run on the model and on each model of the pool."""
    return _Lira()


def rmia() -> PooledAttack:
    """RMIA by what finds most where a model is sure of nearly every record (docs/attacks.md).

    Ratios of probabilities near 1 do not reach the authors' `gamma` of 2, so all records of a forest would have one
    score. Its threshold is from the pool, as the authors name none.
    """
    return _Rmia(gamma=1.0, signal="soft-margin", temperature=2.0, threshold="pool")


def _answers_in(arrays: dict[str, Array]) -> Answers:
    return Answers(*(np.asarray(arrays[name]) for name in FIELDS))
