"""The papers' tables redrawn: each printed entry beside the measured one and their difference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from harness.claims.expectation import MeasuredClaimKind
from harness.claims.series import groups_by_outcome, outcomes_by_arm
from harness.claims.verdict import Verdict
from harness.claims.whole import combined_outcome
from harness.metrics.exposure import EVERY, EXPOSURE_LEVELS, SOME
from harness.report.entries import entries_of_points
from harness.spec.model import Spec
from harness.spec.page import TableEntry

HEADINGS = {
    "accuracy_loss_nonmembers": "loss",
    "exposed_in_every_run_at_1pct_fpr": "1%",
    "exposed_in_every_run_at_2pct_fpr": "2%",
    "exposed_in_every_run_at_5pct_fpr": "5%",
    "tpr_at_1pct_fpr": "1%",
    "tpr_at_2pct_fpr": "2%",
    "tpr_at_5pct_fpr": "5%",
}

Row = dict[str, Any]
"""What a template shows of a row of a table, or of a table."""


def formula_tables(spec: Spec, verdicts: Sequence[Verdict]) -> list[Row]:
    """Printed tables of formulas: each entry with the outcome of the parts of the claim that settles it."""
    by_claim = {v.id.split("#")[1]: v for v in verdicts}

    def settle_entry(entry: TableEntry) -> Row:
        verdict = None if entry.claim is None else by_claim.get(entry.claim)
        if verdict is None:
            return {"text": entry.text, "verdict": None, "id": None}
        parts = [verdict.parts[i - 1] for i in entry.parts if i <= len(verdict.parts)]
        outcome = combined_outcome(parts) if parts else verdict.verdict  # type: ignore[arg-type]  # of theory
        return {"text": entry.text, "verdict": outcome, "id": verdict.id}

    return [
        {
            "title": table.title,
            "columns": table.columns,
            "rows": [
                {"name": name, "cells": [settle_entry(e) for e in entries]} for name, entries in table.rows.items()
            ],
        }
        for table in spec.layout
    ]


def printed_tables(spec: Spec, verdicts: Sequence[Verdict]) -> list[Row]:
    """One entry for each claim that is a printed table: rows are values of its axis, columns are grouped by arm."""
    by_claim = {v.id.split("#")[1]: v for v in verdicts}
    entries = []
    for claim in spec.claims:
        verdict = by_claim.get(claim.id)
        for index, part in enumerate(spec.parts(claim)):
            if part.printed_entries() and verdict is not None and verdict.numbers.points:
                entries.append(_printed_entry(part, index, claim.where, verdict))
    return entries


def _printed_entry(part: MeasuredClaimKind, index: int, where: str, verdict: Verdict) -> Row:
    mine = [p for p in verdict.numbers.points if p.expectation == index]
    printed = part.printed_entries()
    axis = printed[0].axis
    cells: dict[tuple[int, float], Row] = {}
    for entry, point in zip(entries_of_points(part, mine), mine, strict=False):
        difference = point.left - point.right
        whole = abs(point.right) >= 2 or _is_whole(point.left)
        cells[entry.row, entry.level] = {
            "measured": _format_number(point.left),
            "printed": _format_number(point.right),
            "difference": f"{difference:+.0f}" if whole else f"{difference:+.2f}",
            "within": abs(difference) <= entry.tolerance,
        }
    curves = list({entry.row: entry.curve for entry in printed}.values())
    levels = sorted({level for _, level in cells})
    return {
        "title": where,
        "id": verdict.id,
        "verdict": verdict.verdict,
        "along": "ε" if axis == "epsilon" else axis,
        "groups": [{"arm": arm, "span": len(list(of))} for arm, of in groupby(curve.arm for curve in curves)],
        "columns": [HEADINGS.get(curve.metric, curve.metric) for curve in curves],
        "rows": [{"epsilon": e, "cells": [cells.get((c, e)) for c in range(len(curves))]} for e in levels],
        "entries": len(cells),
        "within": sum(cell["within"] for cell in cells.values()),
    }


def _is_whole(value: float) -> bool:
    return value == int(value)


def _format_number(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 2 and not _is_whole(value) else f"{value:.0f}"


def exposed_rows(table: pd.DataFrame) -> list[Row]:
    """Members exposed at each rate by arm and epsilon: in one run on average, in some run, and in every run."""
    joint = table[table["metric"].str.startswith((EVERY, SOME))]
    if joint.empty:
        return []
    averages = table.groupby(["arm", "epsilon", "attack", "metric"])["value"].mean()
    means: dict[object, float] = {key: float(value) for key, value in averages.items()}
    members = float(table.loc[table["metric"] == "count_members", "value"].iloc[0])
    rows = []
    for (arm, epsilon, attack), group in joint.groupby(["arm", "epsilon", "attack"]):
        runs = round(float(group["n"].iloc[0]) / members)
        for level in EXPOSURE_LEVELS:
            one = means[arm, epsilon, attack, f"tpr_at_{level}_fpr"] * members
            every, some = (means[arm, epsilon, attack, f"{how}_at_{level}_fpr"] for how in (EVERY, SOME))
            rows.append(
                {
                    "arm": arm,
                    "epsilon": epsilon,
                    "attack": attack,
                    "rate": level.replace("pct", "%"),
                    "one": round(one, 1),
                    "some": round(some),
                    "every": round(every),
                    "runs": runs,
                    "guess": members * (one / members) ** runs,
                }
            )
    return rows


def outcome_rows(table: pd.DataFrame) -> list[Row]:
    """Where a split draws one of a few outcomes: mean advantage in each, by arm, attack and epsilon."""
    drawn = outcomes_by_arm(table)
    sizes = table[table["metric"] == "count_owner_set"].drop_duplicates(["arm", "repeat"])
    owner_set = {(a, r): f"{v:,.0f}" for a, r, v in zip(sizes["arm"], sizes["repeat"], sizes["value"], strict=True)}
    groups = list(groups_by_outcome(table, "advantage"))
    epsilons = sorted({epsilon for _, _, _, epsilon, _ in groups})
    rows: dict[tuple[str, str, int], Row] = {}
    for arm, attack, outcome, epsilon, part in groups:
        sets = ", ".join(sorted({owner_set[arm, r] for r in part["repeat"]}))
        row = rows.setdefault(
            (arm, attack, outcome),
            {
                "arm": arm,
                "attack": attack,
                "owner_set": sets,
                "chance": f"1 in {drawn[arm][1]}",
                "repeats": 0,
                "epsilons": epsilons,
                "values": [""] * len(epsilons),
            },
        )
        row["values"][epsilons.index(epsilon)] = f"{part['value'].mean():.3f}"
        row["repeats"] = max(row["repeats"], len(part))
    return [rows[key] for key in sorted(rows)]
