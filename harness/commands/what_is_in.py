"""`harness what-is-in`: what files hold of records, before they are given away."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import AsJson, print_json
from harness.commands.tables import print_table, print_text

if TYPE_CHECKING:
    from harness.report.holdings import Holding


def what_is_in(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE|FOLDER...", help="A table, a page or site, a bundle, the store, an audit."),
    ],
    as_json: AsJson = False,
) -> None:
    """List what files hold of records: row numbers, log-probabilities, scores, values, and whether to give them away.

    Each file is opened and looked at, archives too; nothing is changed. Files of one kind are one line. What is said to
    be given away may still be of few people, such as numbers of a model that was trained on twenty: see docs/survey.md.

    Examples: `harness what-is-in reports/own/mine/site claim.zip`; `harness what-is-in .harness/store --json`
    """
    from harness.report.holdings import list_holdings

    holdings = [(path, one) for path in paths for one in list_holdings(path)]
    if as_json:
        documents = [{"in": str(path), **dataclasses.asdict(one), "advice": one.advice} for path, one in holdings]
        print_json({"files": documents, "advice": {str(path): _advice_on(holdings, path) for path in paths}})
        return
    for path in dict.fromkeys(paths):
        rows = _rows(one for where, one in holdings if where == path)
        print_text(f"{path}: {_advice_on(holdings, path)}")
        print_table(("file", "what it is", "records", "holds", "advice"), rows)


def _advice_on(holdings: list[tuple[Path, Holding]], path: Path) -> str:
    """The strictest advice on files in a folder."""
    from harness.report.holdings import GIVE, KEEP, LOOK

    given = {one.advice for where, one in holdings if where == path}
    return next((advice for advice in (KEEP, LOOK) if advice in given), GIVE)


def _rows(holdings: Iterable[Holding]) -> list[tuple[str, ...]]:
    """A row for each kind of file, with what holds records first."""
    groups: dict[tuple[str, tuple[str, ...], str], list[Holding]] = {}
    for one in holdings:
        kind = one.kind.partition(",")[0]
        groups.setdefault((kind, one.holds, one.advice), []).append(one)
    rows: list[tuple[str, ...]] = []
    for (kind, holds, advice), those in sorted(groups.items(), key=lambda group: -sum(one.records for one in group[1])):
        file = those[0].file if len(those) == 1 else f"{len(those):,} files, such as {those[0].file}"
        records = sum(one.records for one in those)
        words = those[0].kind if len(those) == 1 else kind
        rows.append((file, words, f"{records:,}" if records else "none", ", ".join(holds) or "nothing", advice))
    return rows
