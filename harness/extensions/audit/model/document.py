"""An audit as files for programs: its numbers as JSON, the scores of each record as CSV."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.data.steps import LEAST_SHOWN
from harness.escaping import table_csv
from harness.extensions.audit.model.audit import MeasuredAttack, ModelAudit
from harness.extensions.audit.model.findings import Findings, advise, answer_question, find_leaks, list_assumptions
from harness.extensions.audit.model.vulnerability import Calibration, PerRecord


def describe_audit(audit: ModelAudit) -> dict[str, object]:
    """Everything that the page shows, as values for JSON."""
    findings, question, records = find_leaks(audit), audit.question.portable(), audit.records
    shown = shown_classes(audit)
    question = dataclasses.replace(question, classes=tuple(one for one in question.classes if one in shown))
    asked = {name: _json_value(value) for name, value in dataclasses.asdict(question).items()}
    return {
        "audited": question.predict,
        "question": asked,
        "answer": answer_question(audit, findings),
        "records": {
            "members": records.members,
            "nonmembers": records.nonmembers,
            "reference": records.references,
            "repeated": dict(zip(("members", "nonmembers", "reference"), records.repeated, strict=True)),
            "classes": list(shown),
            "classes_of_few": len(audit.classes) - len(shown),
        },
        "accuracy": {"members": audit.accuracy[0], "nonmembers": audit.accuracy[1]},
        "columns": {
            "chance": audit.columns.chance,
            "at_chance": audit.columns.at_chance,
            "order": list(audit.columns.order),
            "accuracy_in_order": audit.columns.accuracy_in_order,
        },
        "attacks": [_describe_attack(one) for one in audit.attacks],
        "findings": None if audit.columns.out_of_order else _describe_findings(findings),
        "per_record": None if audit.per_record is None else _describe_records(audit.per_record),
        "advice": advise(audit, findings),
        "assumptions": list_assumptions(audit),
    }


def _describe_findings(findings: Findings) -> dict[str, object]:
    return {
        "level": findings.level,
        "blind": findings.blind,
        "beyond_chance": list(findings.beyond_chance),
        "turned": list(findings.turned),
        "beyond_blind": list(findings.beyond_blind),
        "at_rates": [{"attack": name, "fpr": rate.asked} for name, rate in findings.at_rates],
    }


def shown_classes(audit: ModelAudit) -> tuple[str, ...]:
    """The classes that many records have. Another one may be of a single person and is counted alone."""
    labels, counts = np.unique(audit.records.labels.astype(str), return_counts=True)
    frequent = {str(label) for label, count in zip(labels, counts, strict=True) if count >= LEAST_SHOWN}
    return tuple(one for one in audit.classes if one in frequent)


def _json_value(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


def _describe_attack(one: MeasuredAttack) -> dict[str, object]:
    return {
        "attack": one.name,
        "summary": one.summary,
        "advantage": dataclasses.asdict(one.advantage),
        "auc": dataclasses.asdict(one.auc),
        "rates": [dataclasses.asdict(rate) for rate in one.rates],
        "over_blind": None if one.over_blind is None else dataclasses.asdict(one.over_blind),
    }


def _describe_records(per_record: PerRecord) -> dict[str, object]:
    return {
        "fpr": per_record.fpr,
        "metrics": per_record.metrics,
        "calibrations": [_describe_calibration(one) for one in per_record.calibrations],
    }


def _describe_calibration(one: Calibration) -> dict[str, object]:
    fields = dataclasses.asdict(one)
    own = fields.pop("own_fprs")
    return {**fields, "own_fprs": spread_of(own)}


def spread_of(own_fprs: Array) -> dict[str, float]:
    """Mean, median, 95% quantile and largest of records' own false-positive rates."""
    median, high = np.quantile(own_fprs, [0.5, 0.95])
    return {
        "mean": float(own_fprs.mean()),
        "median": float(median),
        "quantile_95": float(high),
        "largest": float(own_fprs.max()),
    }


def list_scores(audit: ModelAudit) -> str:
    """CSV with one row per candidate record: place, membership, label, scores and decisions; with a pool, also its
    separation."""
    n, records, per_record = audit.records.candidates, audit.records, audit.per_record
    columns: dict[str, Array] = {}
    for one in audit.attacks:
        columns[f"{one.name}_score"] = np.concatenate([one.answers.member_scores, one.answers.nonmember_scores])
        decisions = np.concatenate([one.answers.member_decisions, one.answers.nonmember_decisions])
        columns[f"{one.name}_says_member"] = decisions.astype(np.int64)
    if per_record is not None:
        columns |= {
            "separation": per_record.separation,
            "tpr_over_pool": per_record.tpr,
            "fpr_over_pool": per_record.fpr_own,
        }
        for calibration in per_record.calibrations:
            columns[f"own_fpr_of_{calibration.attack}_at_{calibration.asked:g}"] = calibration.own_fprs
    first = {"record": records.places[:n], "member": records.is_member.astype(int), "label": records.labels[:n]}
    numbers = {name: [f"{number:.12g}" for number in column] for name, column in columns.items()}
    return table_csv(pd.DataFrame({**first, **numbers}))
