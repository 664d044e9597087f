"""`harness status`: which verdicts there are, and what is missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import AsJson, ProfileName, context_for, load_decided, print_json
from harness.commands.tables import print_table, print_text

if TYPE_CHECKING:
    from harness.claims.verdict import Verdict
    from harness.verdicts.costs import CostToDecide
    from harness.verdicts.counts import Count, Group

CHEAPEST = 10
"""Open claims that are shown without --all."""
OTHER_GROUPS: Mapping[Group, str] = {
    "papers elsewhere": "other data",
    "corrected": "corrected",
    "ours": "ours",
    "checks": "checks",
}
"""The columns beside the papers' claims on their own data."""


def status(
    profile: ProfileName = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List every open claim, and those that no number of models decides.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say how things stand under a profile: verdicts by paper, and what would decide the open claims, at what cost."""
    from harness.pipeline.judging import has_verdicts, read_verdicts
    from harness.verdicts.costs import cost_to_decide
    from harness.verdicts.counts import count

    context = context_for(profile, None, True)
    runs = [context.resolve(one) for one in load_decided(context, None, alternatives=False)]
    there = [one for one in runs if has_verdicts(one)]
    verdicts = [v for one in there for v in read_verdicts(one).verdicts]
    not_judged = [one.id for one in runs if one not in there]
    papers = dict.fromkeys(v.paper for v in verdicts)
    counted = {paper: count([v for v in verdicts if v.paper == paper]) for paper in papers}
    costs = [(v, cost_to_decide(v.would_decide)) for v in verdicts if v.verdict == "inconclusive"]
    if as_json:
        listed = [
            {
                "id": v.id,
                "would_decide": v.would_decide,
                "models": None if cost is None else cost.models,
                "seconds": None if cost is None else cost.seconds,
            }
            for v, cost in costs
        ]
        by_paper = {paper: {c.group: c.by_word for c in counts} for paper, counts in counted.items()}
        print_json({"profile": context.profile_name, "papers": by_paper, "open": listed, "not_judged": not_judged})
        return
    theirs = sum(v.claim.origin == "paper" for v in verdicts)
    print_text(
        f"profile {context.profile_name}: {len(verdicts)} claims, {theirs} of them the papers' own; {len(costs)} open"
    )
    _print_counts({**counted, "all": count(verdicts)})
    _print_open(costs, f"harness status -p {context.profile_name} --all", everything)
    if not_judged:
        listing = f": {', '.join(not_judged)}" if everything else ""
        print_text(f"Specs that are not judged yet: {len(not_judged)}{listing}")


def _print_counts(counted: Mapping[str, Sequence[Count]]) -> None:
    """Print a row a paper: its claims on its own data by verdict, then how many other claims there are."""
    from harness.claims.words import Word
    from harness.verdicts.counts import GROUPS

    by_group = {paper: {c.group: c for c in counts} for paper, counts in counted.items()}
    total = by_group["all"]
    # Of a paper whose quotations nobody compared with its text, these are its claims; a column of theirs finds no room.
    own: dict[str, Counter[Word]] = {}
    for paper, of in by_group.items():
        own[paper] = sum((Counter(of[g].by_word) for g in ("papers", "not compared") if g in of), Counter())
    told_elsewhere = {word for word in (Word.AGREES, Word.DIFFERS, Word.BESIDE) if own["all"][word]}
    elsewhere = {paper: sum(counts[word] for word in told_elsewhere) for paper, counts in own.items()}
    words = [word for word in Word if own["all"][word] and word not in told_elsewhere]
    others = [group for group in OTHER_GROUPS if group in total or (group == "papers elsewhere" and elsewhere["all"])]

    def shown(paper: str, group: Group) -> int:
        of = by_group[paper]
        return (of[group].total if group in of else 0) + (elsewhere[paper] if group == "papers elsewhere" else 0)

    print_text("")
    print_table(
        ("paper", *words, *(OTHER_GROUPS[group] for group in others)),
        [
            (
                paper,
                *(str(own[paper][word]) for word in words),
                *(str(shown(paper, group)) for group in others),
            )
            for paper in by_group
        ],
    )
    if words:
        and_others = f", and {GROUPS['not compared']}" if "not compared" in total else ""
        print_text(f"Columns of verdicts: {GROUPS['papers']}{and_others}.")
    if elsewhere["all"]:
        told = ", ".join(f"{own['all'][word]} {word.counted}" for word in Word if word in told_elsewhere)
        print_text(f"Under {OTHER_GROUPS['papers elsewhere']} also of the latter: {told}.")
    for group in (group for group in others if group in total):
        print_text(f"{GROUPS[group][:1].upper()}{GROUPS[group][1:]}: {total[group].text}.")


def _print_open(costs: Sequence[tuple[Verdict, CostToDecide | None]], command_for_all: str, everything: bool) -> None:
    """Print the open claims with what deciding them costs, the cheapest first; then those without a cost, or how many
    these are."""
    by_cost = sorted(
        ((v, cost) for v, cost in costs if cost is not None),
        key=lambda one: (math.inf if one[1].seconds is None else one[1].seconds, one[1].models),
    )
    without_cost = [v for v, cost in costs if cost is None]
    shown = by_cost if everything else by_cost[:CHEAPEST]
    if shown:
        print_text("")
        title = "Open claims" if len(shown) == len(by_cost) else f"The {len(shown)} open claims that cost least"
        print_text(f"{title}, with what would decide them if effects stay as they are:")
        columns = ("claim", "time on one core", "models")
        rows = [(v.id, cost.time, f"{cost.models:,}") for v, cost in shown]
        if everything:
            limits = ["past the limit of repeats or of models" if cost.is_past_limit else "" for _, cost in shown]
            print_table((*columns, "note"), [(*row, note) for row, note in zip(rows, limits, strict=True)])
        else:
            print_table(columns, rows)
    if everything and without_cost:
        print_text("")
        print_text("Open claims that no known number of models decides:")
        print_table(
            ("claim", "what would decide it, or why it is open"),
            [(v.id, v.would_decide or v.reason) for v in without_cost],
        )
    more = len(costs) - len(shown)
    if more and not everything:
        print_text("")
        print_text(
            f"{more} more claims are open; `{command_for_all}` lists them, and says why {len(without_cost)} of them "
            "are decided by no known number of models."
        )
