"""What an audit found, in one sentence; what its numbers assume; and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.extensions.audit.model.attacks import BLIND, LIRA, LOSS, QUANTILE, RMIA
from harness.extensions.audit.model.audit import ModelAudit, compare
from harness.extensions.audit.model.intervals import Interval, RateAt, auc_interval, rate_at
from harness.extensions.audit.model.records import repeats_text
from harness.extensions.audit.model.vulnerability import LISTED

WORDS = {
    BLIND: "blind attack",
    LOSS: "loss attack",
    QUANTILE: "quantile attack",
    LIRA: "LiRA",
    RMIA: "RMIA",
}
OFTEN_CAUGHT = 0.5
"""A record that is caught in so many of the models trained on it is very exposed."""
RANDOM_CHANGES = 1e-6
"""Answers about one record that differ by more are random."""
TWO = 2
"""Classes of which a model may give the second one's probability alone."""
OVERFIT = 0.05
"""Accuracy on members above that on non-members, from which on a model has learnt by heart."""


@dataclass(frozen=True)
class Findings:
    """Attacks that find something, each at a level that holds for all of them together."""

    level: float
    """Confidence of each."""
    blind: bool
    """Members are told from non-members without the model."""
    beyond_chance: tuple[str, ...]
    """Attacks on the model with an AUC above one half."""
    turned: tuple[str, ...]
    """Those with one below: members are harder to predict than non-members."""
    beyond_blind: tuple[str, ...]
    """Those with a greater AUC than the blind attack; the most beyond it first."""
    at_rates: tuple[tuple[str, RateAt], ...]
    """Those whose TPR is above all that the FPR at the same threshold may be, and above the blind attack's."""

    @property
    def leaks(self) -> bool:
        """Whether the model gives something away that the records do not."""
        return bool(self.beyond_blind or self.at_rates)


def find_leaks(audit: ModelAudit) -> Findings:
    """What each attack finds, at a level divided by the number of comparisons."""
    fprs, blind = audit.question.fprs, audit.blind
    level = 1 - (1 - audit.question.level) / (len(audit.attacks) * (2 + len(fprs)))
    areas = {one.name: auc_interval(one.answers, level) for one in audit.attacks}
    on_model = [one for one in audit.attacks if one.name != BLIND]
    beside = {one.name: compare(one.answers, blind.answers, fprs, level) for one in on_model}
    most_first = sorted(on_model, key=lambda one: -beside[one.name].auc.low)
    at_rates = []
    for one in on_model:
        for fpr, more in zip(fprs, beside[one.name].rates, strict=True):
            rate = rate_at(one.answers, fpr, level)
            if rate.tpr.low > rate.fpr.high and more.low > 0:
                at_rates.append((one.name, rate))
    return Findings(
        level,
        areas[BLIND].low > 0.5,
        tuple(one.name for one in on_model if areas[one.name].low > 0.5),
        tuple(one.name for one in on_model if areas[one.name].high < 0.5),
        tuple(one.name for one in most_first if beside[one.name].auc.low > 0 and areas[one.name].low > 0.5),
        tuple(at_rates),
    )


def answer_question(audit: ModelAudit, findings: Findings) -> str:
    """One sentence on whether the model gives away who is in its training data.

    Where columns and labels do not seem to fit, that comes before anything else: attacks that read the wrong column
    find nothing, or what is not there.
    """
    columns = audit.columns
    if columns.out_of_order:
        return f"No answer yet, the columns seem to be in another order than the labels: {_order_text(audit)}."
    if columns.at_chance:
        return (
            f"The columns may be in another order than the labels: the model is right on {columns.accuracy[0]:.0%} of "
            f"its members, which is chance ({columns.chance:.0%}); the label of each column is named by --classes. If "
            f"they are right: {_answer_of_attacks(audit, findings)}"
        )
    return _answer_of_attacks(audit, findings)


def _order_text(audit: ModelAudit) -> str:
    columns = audit.columns
    assert columns.accuracy_in_order is not None
    now, then = columns.accuracy, columns.accuracy_in_order
    options = " ".join(f"--classes {name}" for name in columns.order)
    alone = "; a single number is the probability of the second class" if len(columns.order) == TWO else ""
    return (
        f"with {options} the model is right on {then[0]:.0%} of the members and {then[1]:.0%} of the non-members, as "
        f"it was asked on {now[0]:.0%} and {now[1]:.0%}{alone}"
    )


def _answer_of_attacks(audit: ModelAudit, findings: Findings) -> str:
    by_name = {one.name: one for one in audit.attacks}
    if findings.beyond_blind:
        best = by_name[findings.beyond_blind[0]]
        return (
            f"Yes: {name_attack(best.name)} tells members from non-members with an AUC of {_words(best.auc)}, where "
            f"the blind attack, which never sees the model, has {_words(audit.blind.auc)}."
        )
    if findings.at_rates:
        name, rate = findings.at_rates[-1]
        return (
            f"Yes, of some records: at a false-positive rate of {rate.fpr.value:.2%}, {name_attack(name)} finds "
            f"{rate.tpr.value:.1%} of the members, which is more than chance and more than the records tell."
        )
    if findings.blind:
        return (
            "It cannot be told from these files: members are told from non-members without the model "
            f"(AUC of the blind attack {_words(audit.blind.auc)}), and attacks on the model are not shown to do better."
        )
    if findings.beyond_chance:
        best = max((by_name[name] for name in findings.beyond_chance), key=lambda one: one.auc.low)
        return (
            f"Probably: {name_attack(best.name)} tells members from non-members with an AUC of {_words(best.auc)}, but "
            "that it does so better than the records do without the model is not shown."
        )
    if findings.turned:
        one = by_name[findings.turned[0]]
        return (
            f"Members are harder to predict than non-members: the AUC of {name_attack(one.name)} is {_words(one.auc)}, "
            "below one half, so the two files are not drawn alike, or the columns are not those of the labels."
        )
    highest = max((one for one in audit.attacks if one.name != BLIND), key=lambda one: one.auc.high)
    return (
        f"Nothing was found: with {audit.records.members:,} members and {audit.records.nonmembers:,} non-members no "
        f"attack is shown to be better than chance, and one with an AUC of up to {highest.auc.high:.2f} could have "
        "been missed."
    )


def advise(audit: ModelAudit, findings: Findings) -> list[str]:
    """Sentences on what to do about it, each with what it follows from.

    Where columns and labels do not fit, what attacks find with them asks for nothing but another audit.
    """
    if audit.columns.out_of_order:
        options = " ".join(f"--classes {name}" for name in audit.columns.order)
        return [
            f"Audit again with `{options}`, or name the columns in the order in which the model gives them: the "
            "numbers on this page are of columns that are not those of the labels, and say nothing about the model."
        ]
    advice = []
    if findings.blind:
        advice.append(
            "Members and non-members differ without the model: compare with a held-out set that is drawn as the "
            "training data were, from the same source and time, before anything is concluded from the other attacks."
        )
    if LOSS in findings.beyond_chance and (findings.leaks or not findings.blind):
        gap = audit.accuracy[0] - audit.accuracy[1]
        more = f" (it is right on {audit.accuracy[0]:.1%} of members, {audit.accuracy[1]:.1%} of non-members)"
        advice.append(
            f"The loss alone tells members{more if gap > OVERFIT else ''}: regularise, stop earlier, use a smaller "
            "model or more data; if that is not enough, train by DP-SGD, whose noise `harness accountants` relates to "
            "an epsilon."
        )
    pooled = [name for name in findings.beyond_blind if name in (LIRA, RMIA)]
    if pooled and LOSS not in findings.beyond_chance:
        advice.append(
            f"{' and '.join(name_attack(name) for name in pooled)} found what the loss does not show: a test of the "
            "loss or of the accuracy gap will not see an improvement. Repeat this audit after every change."
        )
    exposed = _exposed_members(audit)
    if exposed:
        advice.append(
            f"{exposed} member{'s are' if exposed > 1 else ' is'} recognised in half or more of the models trained on "
            "them: look at these records, correct what is wrong, remove duplicates and what is not needed, or leave "
            "them out and train again; training by DP-SGD bounds what any single record can change."
        )
    if findings.at_rates and not findings.beyond_blind:
        advice.append(
            "Few members are found, but those surely: an average such as the AUC hides them. Look at the records with "
            "the highest scores in the table of scores."
        )
    if audit.per_record is None:
        advice.append(
            "No training function was given (--train): LiRA and RMIA, which find more than the loss, were not run, and "
            "nothing is known of single records."
        )
    if not findings.leaks and not findings.blind:
        advice.append(_limits_text(audit))
    return advice


def _exposed_members(audit: ModelAudit) -> int:
    """Members that LiRA finds in at least half of the models trained on them, at the rate for single records."""
    if audit.per_record is None:
        return 0
    return int((audit.per_record.tpr[audit.records.is_member] >= OFTEN_CAUGHT).sum())


def _limits_text(audit: ModelAudit) -> str:
    n = audit.records.nonmembers
    hidden = [fpr for fpr in audit.question.fprs if fpr * n < 1]
    rates = f"; false-positive rates below {1 / n:.2%} cannot be seen with {n:,} non-members" if hidden else ""
    return (
        "Nothing found is not nothing there: stronger attacks, more models or more records may find more. Add "
        f"non-members, and members of the smallest groups, to see smaller leaks{rates}."
    )


def list_assumptions(audit: ModelAudit) -> list[str]:
    """Sentences on what the numbers assume."""
    records, question = audit.records, audit.question
    n = records.nonmembers
    texts = [
        "Non-members are drawn as members were; the blind attack is the check of that, and no proof.",
        f"Intervals are at {question.level:.0%}, each by itself, over records drawn anew for this one model: they do "
        "not say what another training would give.",
        f"A threshold for a false-positive rate is set by {n:,} non-members. Below {1 / n:.2%} there is not one of "
        "them to set it: such a row has the threshold above all non-members, and its false-positive rate is only known "
        "to lie in the interval that is given.",
        f"The quantile attack{' and RMIA' if audit.per_record else ''} learn from {records.references:,} reference "
        f"records{', a third of the non-members, which are not attacked' if question.reference is None else ''}.",
    ]
    if audit.per_record is not None:
        texts += [
            f"The pool has {question.models} models, each trained on a random half of the {records.candidates:,} "
            f"members and non-members ({records.candidates // 2:,}; the model itself was trained on the "
            f"{records.members:,} members). The training function is taken to train as the model was trained.",
            f"A record's own numbers rest on {question.models // 2} models with it and {question.models // 2} without. "
            "The records at the head of a ranking are there in part by chance; the rates of the most vulnerable are "
            "measured on models that did not choose them.",
            "Chances of a record by itself take its scores in models without it to be normally distributed, with a "
            "mean and a variance that are estimated.",
        ]
    if records.unread_columns:
        texts.append(
            f"The blind and the quantile attack do not see {', '.join(records.unread_columns)}: text with many values, "
            "or no value."
        )
    if any(records.repeated):
        texts.append(
            f"{repeats_text(records)}, so that no copy tells an attack about another"
            f"{', and shadow models are trained on it as often as its file has it' if audit.per_record else ''}."
        )
    if audit.changes > RANDOM_CHANGES:
        texts.append(
            f"The model gave two answers about the same record that differ by up to {audit.changes:.2g}: it answers at "
            "random, or depends on which records it is asked together (dropout or batch normalisation as in training). "
            "The numbers are of one answer each."
        )
    return texts


def name_attack(name: str) -> str:
    """`the loss attack`, `LiRA`: an attack as the subject of a sentence."""
    return f"the {WORDS[name]}" if WORDS[name].islower() else WORDS[name]


def _words(interval: Interval) -> str:
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def most_vulnerable(audit: ModelAudit) -> list[int]:
    """Places of the most vulnerable candidate records; none without a pool."""
    return [] if audit.per_record is None else [int(at) for at in audit.per_record.by_vulnerability[:LISTED]]
