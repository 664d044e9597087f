"""`harness status`: which verdicts there are, and what is missing."""

from __future__ import annotations

from harness.commands.common import AsJson, ProfileName, console, context_for, load_decided, print_json, table_of


def status(profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Say how things stand under a profile: verdicts by paper, what is open, what would decide it."""
    from harness.pipeline.judging import has_verdicts, read_verdicts
    from harness.verdicts.counts import GROUPS, count

    context = context_for(profile, None, True)
    loaded = load_decided(context, None)
    there = [one for one in loaded if has_verdicts(context, one)]
    verdicts = [v for one in there for v in read_verdicts(context, one).verdicts]
    not_judged = [one.spec.id for one in loaded if one not in there]
    papers = dict.fromkeys(v.paper for v in verdicts)
    counted = {paper: count([v for v in verdicts if v.paper == paper]) for paper in papers}
    undecided = [v for v in verdicts if v.verdict == "inconclusive"]
    if as_json:
        listed = [{"id": v.id, "would_decide": v.would_decide} for v in undecided]
        by_paper = {paper: {c.group: c.by_word for c in counts} for paper, counts in counted.items()}
        print_json({"profile": context.profile_name, "papers": by_paper, "open": listed, "not_judged": not_judged})
        return
    table = table_of("paper", "whose, on what", "claims", "")
    for paper, counts in [*counted.items(), ("all", count(verdicts))]:
        for row in counts:
            table.add_row(paper, GROUPS[row.group], str(row.total), row.text)
    console.print(f"profile {context.profile_name}")
    console.print(table)
    if undecided:
        console.print("\n[bold]Open[/], and what would decide it:")
        for v in undecided:
            console.print(f"  {v.id}: {v.would_decide or v.reason}", highlight=False, markup=False)
    if not_judged:
        console.print(f"\nNot judged yet: {', '.join(not_judged)}")
    console.print(f"\nharness site -p {context.profile_name}   builds the site of it", highlight=False)
