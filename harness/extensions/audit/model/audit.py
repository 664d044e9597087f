"""An audit of a model: records read, the model asked, attacks run, numbers with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.attacks.pool import Pool
from harness.extensions.audit.model.asking import ask_model
from harness.extensions.audit.model.attacks import BLIND, attack_model
from harness.extensions.audit.model.columns import ColumnCheck, check_columns, label_places
from harness.extensions.audit.model.intervals import (
    Comparison,
    Interval,
    RateAt,
    advantage_interval,
    auc_difference,
    auc_interval,
    rate_at,
    share_difference,
)
from harness.extensions.audit.model.pool import fill_zeros, make_pool
from harness.extensions.audit.model.question import Question
from harness.extensions.audit.model.records import Records, read_records, repeats_text
from harness.extensions.audit.model.vulnerability import PerRecord, measure_records
from harness.metrics.answers import Answers, Outputs
from harness.metrics.exposure import exposed_members
from harness.progress import Progress


@dataclass(frozen=True)
class MeasuredAttack:
    """One attack on the model."""

    name: str
    summary: str
    answers: Answers
    advantage: Interval
    """At the attack's own threshold."""
    auc: Interval
    rates: tuple[RateAt, ...]
    over_blind: Comparison | None
    """What it reaches beyond the blind attack; None: it is the blind attack."""


@dataclass(frozen=True)
class ModelAudit:
    """What an audit gives."""

    question: Question
    records: Records
    classes: tuple[str, ...]
    columns: ColumnCheck
    changes: float
    """Largest difference between two answers of the model about one record."""
    attacks: tuple[MeasuredAttack, ...]
    """In their order: the blind one first."""
    per_record: PerRecord | None
    """None: no training function was given."""

    @property
    def accuracy(self) -> tuple[float, float]:
        """Of the model on its members, and on the non-members."""
        return self.columns.accuracy

    @property
    def blind(self) -> MeasuredAttack:
        return self.attacks[0]


def audit_model(question: Question, progress: Progress | None = None) -> ModelAudit:
    """Audit a model. The same question gives the same numbers. Raises HarnessError for what cannot be audited."""
    shown = progress or Progress(quiet=True)
    records = read_records(question)
    if any(records.repeated):
        shown.warn(repeats_text(records))
    shown.say(
        f"audit: {records.members:,} members, {records.nonmembers:,} non-members, {records.references:,} reference "
        "records"
    )
    answer = ask_model(question, records.features)
    logp = fill_zeros(answer.log_probabilities)
    given = (question.classes, question.predict, answer.classes)
    labels, classes = label_places(records.labels, logp.shape[1], *given)
    outputs = Outputs(logp, labels)
    pool = make_pool(question, records, outputs, classes, shown) if question.train is not None else Pool()
    answered = attack_model(records, outputs, pool, question.seed)
    answers = {name: one for name, (_, one) in answered.items()}
    attacks = tuple(_measure(name, summary, answers, question) for name, (summary, _) in answered.items())
    per_record = measure_records(records, outputs, pool, answers, question.fprs, question.level) if pool else None
    candidates = slice(records.candidates)
    columns = check_columns(logp[candidates], labels[candidates], records.is_member, classes)
    return ModelAudit(question, records, classes, columns, answer.changes, attacks, per_record)


def _measure(name: str, summary: str, answers: Mapping[str, Answers], question: Question) -> MeasuredAttack:
    own, level = answers[name], question.level
    return MeasuredAttack(
        name,
        summary,
        own,
        advantage_interval(own, level),
        auc_interval(own, level),
        tuple(rate_at(own, fpr, level) for fpr in question.fprs),
        None if name == BLIND else compare(own, answers[BLIND], question.fprs, level),
    )


def compare(answers: Answers, blind: Answers, fprs: tuple[float, ...], level: float) -> Comparison:
    """Differences of an attack and the blind one, each at its own threshold for the same false-positive rate."""
    caught = [[exposed_members(one.member_scores, one.nonmember_scores, f) for f in fprs] for one in (answers, blind)]
    rates = tuple(share_difference(own, other, level) for own, other in zip(*caught, strict=True))
    return Comparison(auc_difference(answers, blind, level), rates)
