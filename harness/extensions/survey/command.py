"""`harness survey`: every way in which the rows of a table could have become members, ranked by what attacks find."""

from __future__ import annotations

import dataclasses
import math
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import (
    MOST_SEED,
    AsJson,
    Minutes,
    Quiet,
    Workers,
    check_delta,
    check_epsilon,
    check_writable_file,
    deadline_in,
    print_json,
    project_here,
    resolve_specs,
)
from harness.commands.tables import print_table, print_text
from harness.data.steps import LEAST_SHOWN
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.data.dataset import TableDataset
    from harness.data.split import Sizes
    from harness.extensions.survey.member_sets import LeftOut, MemberSet
    from harness.extensions.survey.ranking import SetResult

MOST_ROWS = 100_000_000
MOST_SETS = 10_000
"""Ranges of a column, and clusters."""
MOST_REPEATS = 1_000_000
MOST_MEMBERS = 1000
SHARE = 8
"""A member set has at most this part of a table's rows by default."""
SHOWN = 20
"""Rows of the ranking that are printed."""


def survey(
    table: Annotated[
        str, typer.Argument(metavar="FILE.csv|DATASET", help="A table of yours, or a data set of the harness.")
    ],
    label: Annotated[str | None, typer.Option(help="The column to predict (of a file).")] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="A column of numbers that are categories; may be repeated.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="A column to leave out, such as an identifier; may be repeated.")
    ] = None,
    members: Annotated[
        int | None,
        typer.Option(
            min=20,
            max=MOST_ROWS,
            help="Members of a model; default: 1,000, or an eighth of the rows where that is less.",
        ),
    ] = None,
    epsilon: Annotated[
        list[float] | None,
        typer.Option(help="Epsilon of DP-SGD; may be repeated. Default: 0.1 and 1. Models without noise come on top."),
    ] = None,
    delta: Annotated[float, typer.Option(help="The delta of DP-SGD.")] = 1e-5,
    ranges: Annotated[int, typer.Option(min=2, max=MOST_SETS, help="Ranges that a column of numbers is cut into.")] = 4,
    clusters: Annotated[int, typer.Option(min=0, max=MOST_SETS, help="Clusters of the table; 0: none.")] = 5,
    repeats: Annotated[
        int, typer.Option(min=2, max=MOST_REPEATS, help="Repeats that an open claim may ask for at first.")
    ] = 12,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Root of every random choice.")] = 1,
    least_shown: Annotated[
        int,
        typer.Option(
            min=LEAST_SHOWN,
            max=MOST_ROWS,
            help="Of a file: rows that have to share a value for it to be named anywhere (10 or more).",
        ),
    ] = LEAST_SHOWN,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE.yaml", help="The spec; default: <table>-survey.yaml.")
    ] = None,
    only_list: Annotated[
        bool, typer.Option("--list", help="List the member sets and write the spec; train nothing.")
    ] = False,
    minutes: Minutes = None,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Which choice of members makes a model give them away? Trains on every value, range and cluster of a table.

    Members share a value of a column, a range of a number or a cluster; the rest of the table are non-members. Of
    each, DP-SGD models and models without noise are trained until it is decided whether the loss attack exceeds the
    bound of humphries2020, whether it is turned round (members are harder to predict), whether it finds more than on a
    random split, and whether a blind attack tells members without any model. All claims together have a false
    discovery rate of at most 5%.

    It writes a spec, which `harness run` takes too, and a page with all splits ranked. The same command goes on after
    a stop. See docs/survey.md.

    Examples: `harness survey patients.csv --label worse --ignore id`; `harness survey adult --list`
    """
    from harness.data.fetch import fetch, read_table
    from harness.data.split import Sizes
    from harness.extensions.survey.declaration import SurveyPlan, write_declaration
    from harness.progress import Progress

    deadline = deadline_in(minutes)
    epsilons = _epsilons(epsilon)
    check_delta(delta)
    dataset, written = _dataset(table, label, categorical or [], ignore or [])
    if dataset.is_public() and least_shown != LEAST_SHOWN:
        raise HarnessError(f"--least-shown {least_shown}: is for a file; {table} is a data set that anybody can have")
    stem = re.sub(r"[^a-z0-9]+", "-", dataset.name.removeprefix("csv-").lower()).strip("-") or "table"
    path = out or Path(f"{stem}-survey.yaml")
    check_writable_file(path, "--out", ".yaml")
    project = project_here()
    fetch(project, dataset, Progress(quiet))
    fetched = read_table(project, dataset)
    size = members or min(MOST_MEMBERS, max(20, len(fetched.frame) // SHARE))
    sizes = Sizes(members=size, test=max(2, size // 4), nonmembers=size)
    sets, left = _member_sets(dataset, sizes, ranges, clusters, 1 if dataset.is_public() else least_shown)
    if not sets:
        raise HarnessError(f"{table}: no value, range or cluster has {size + size // 4:,} rows; give fewer --members")
    plan = SurveyPlan(Path(table).name, written, sizes, len(fetched.frame), epsilons, delta, repeats=repeats, seed=seed)
    plan = dataclasses.replace(plan, least_shown=least_shown)
    _write_spec(path, write_declaration(plan, sets))
    if only_list:
        _print_sets(sets, left, path, as_json)
        return
    results, page = _run(path, workers, quiet, deadline, sets, left, plan.title)
    if as_json:
        print_json({"spec": str(path), "page": str(page), "splits": [dataclasses.asdict(one) for one in results]})
    else:
        _print_ranking(results, page)


def _epsilons(given: list[float] | None) -> tuple[float, ...]:
    """Rising, the last infinite. Raises HarnessError for one that is not above 0."""
    for epsilon in given or ():
        check_epsilon(epsilon, or_infinite=True)
    return (*sorted({e for e in given or (0.1, 1.0) if math.isfinite(e)}), math.inf)


def _dataset(
    table: str, label: str | None, categorical: list[str], ignore: list[str]
) -> tuple[TableDataset, dict[str, object]]:
    """The data set that the user names, and how a spec writes it."""
    from harness.data.dataset import DATASETS, TableDataset
    from harness.data.datasets.csv_table import CsvTable
    from harness.data.raw_files import check_own_table
    from harness.spec import model  # noqa: F401  (registers all that there are)

    tables = {name: cls for name, cls in DATASETS if issubclass(cls, TableDataset) and cls is not CsvTable}
    if table in tables:
        if label is not None or categorical or ignore:
            raise HarnessError(f"{table} is a data set of the harness; --label, --categorical, --ignore are for a file")
        return tables[table](), {"kind": table}
    if not Path(table).is_file():
        raise HarnessError(f"{table}: neither a file nor a data set; there are: {', '.join(sorted(tables))}")
    if label is None:
        raise HarnessError("--label: say which column is to be predicted, such as --label outcome")
    written: dict[str, object] = {"kind": "csv", "path": _path_in_spec(Path(table)), "label": label}
    written |= {name: given for name, given in (("categorical", categorical), ("ignore", ignore)) if given}
    root = project_here().root
    check_own_table(root / str(written["path"]), table)
    dates = CsvTable.model_validate(written).date_columns(root)
    written |= {"dates": list(dates)} if dates else {}
    return CsvTable.model_validate(written), written


def _path_in_spec(path: Path) -> str:
    """As a spec writes it: relative to the project's root where it lies in it."""
    absolute, root = path.resolve(), project_here().root
    return str(absolute.relative_to(root)) if absolute.is_relative_to(root) else str(absolute)


def _member_sets(
    dataset: TableDataset, sizes: Sizes, ranges: int, clusters: int, least_shown: int
) -> tuple[list[MemberSet], list[LeftOut]]:
    from harness.data.encoding import Preprocessing, encode
    from harness.data.fetch import read_table
    from harness.extensions.survey.member_sets import list_member_sets

    fetched = read_table(project_here(), dataset)
    schema, frame = dataset.schema_of_table(), dataset.select(fetched.frame)
    features = encode(frame, schema, Preprocessing()).features
    dates = getattr(dataset, "dates", ())
    return list_member_sets(frame, schema, sizes, features, ranges, clusters, dates, least_shown)


def _write_spec(path: Path, text: str) -> None:
    """Write the spec. Raises HarnessError where another one is there, whose results would be taken for these."""
    from harness.files import write_text

    if path.is_file() and path.read_text(encoding="utf-8") != text:
        raise HarnessError(
            f"{path}: is there already, and declares another survey; name another file with --out, or remove it"
        )
    write_text(path, text)


def _run(
    path: Path,
    workers: int | None,
    quiet: bool,
    deadline: float | None,
    sets: list[MemberSet],
    left: list[LeftOut],
    title: str,
) -> tuple[list[SetResult], Path]:
    """Run the survey's spec until it is decided; build its site and the ranked page."""
    from harness.commands.run import compute
    from harness.extensions.survey.page import write_survey
    from harness.extensions.survey.ranking import rank
    from harness.pipeline.context import Options
    from harness.pipeline.judging import has_verdicts, read_verdicts
    from harness.report.build import build, front

    options = Options(until_decided=True, deadline=deadline)
    groups = resolve_specs([str(path)], None, workers, quiet, options=options)
    compute(groups)
    context, (run,) = groups[0]
    if not has_verdicts(run):
        raise HarnessError(f"{path}: nothing is measured yet; the same command goes on from here")
    results = rank(sets, read_verdicts(run).verdicts)
    build(context, [run])
    page = write_survey(front(context).parent, run.id, f"Survey of {title}", results, left)
    return results, page


def _print_sets(sets: list[MemberSet], left: list[LeftOut], path: Path, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "spec": str(path),
                "member_sets": [dataclasses.asdict(one) for one in sets],
                "left_out": [dataclasses.asdict(one) for one in left],
            }
        )
        return
    rows = [(one.label, f"{one.rows:,}", str(one.split["kind"])) for one in sets]
    print_table(("members", "rows", "split"), rows)
    print_text(
        f"{len(sets)} member sets and a random split; {len(left)} more have too few rows or no features of their own"
    )
    print_text(f"next: harness plan {shlex.quote(str(path))}, then the same command without --list")


def _print_ranking(results: list[SetResult], page: Path) -> None:
    from harness.extensions.survey.page import WORDS
    from harness.report.vocabulary import figure

    epsilons = sorted({one.epsilon for result in results for one in result.advantages})
    names = ["no noise" if math.isinf(epsilon) else f"ε = {epsilon:g}" for epsilon in epsilons]
    rows = []
    for result in results[:SHOWN]:
        at = {one.epsilon: figure(one.mean) for one in result.advantages}
        blind = "" if math.isnan(result.blind) else figure(result.blind)
        discovered = "; ".join(dict.fromkeys(WORDS[one.what] for one in result.discoveries))
        rows.append((result.member_set.label, *(at.get(epsilon, "") for epsilon in epsilons), blind, discovered))
    print_table(("members", *names, "blind", "discovered"), rows)
    more = f"; {len(results) - SHOWN} more splits and all intervals" if len(results) > SHOWN else "; all intervals"
    print_text(f"advantage of the loss attack, means over repeats{more}: {page.relative_to(project_here().root)}")
