"""`harness audit`: lower bounds on the epsilon of a training algorithm, from canaries, against what is claimed."""

from __future__ import annotations

import dataclasses
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.commands.common import (
    MOST_SEED,
    AsJson,
    Quiet,
    check_delta,
    check_epsilon,
    check_writable_file,
    print_json,
)
from harness.commands.tables import Cell, print_table, print_text
from harness.errors import HarnessError
from harness.extensions.audit.model_command import (
    Classes,
    FailAbove,
    FailBy,
    Fpr,
    Ignore,
    Label,
    Limit,
    Logits,
    Members,
    Models,
    Nonmembers,
    Out,
    Reference,
    Train,
    audit_existing_model,
    check_mode,
)
from harness.files import write_text
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.auditing import Bound
    from harness.auditing.trials import Score
    from harness.formulas.formula import Adjacency

CLAIMS = (1.0, 4.0, 10.0)
MOST_RECORDS = 1_000_000
MOST_RUNS = 10_000_000
MOST_EPOCHS = 1_000_000
MOST_UNITS = 100_000


def audit(
    context: typer.Context,
    what: Annotated[
        str, typer.Argument(metavar="ENGINE|FILE.py:FUNCTION", help="An engine of the harness, or a function of yours.")
    ] = "fast",
    epsilon: Annotated[
        list[float] | None,
        typer.Option(help="Claimed epsilon; may be repeated. Default for engines: 1, 4 and 10."),
    ] = None,
    delta: Annotated[float, typer.Option(help="Claimed delta.")] = 1e-5,
    runs: Annotated[int, typer.Option(min=4, max=MOST_RUNS, help="Trainings, half of them with the canary.")] = 1000,
    score: Annotated[
        Literal["weights", "loss"] | None,
        typer.Option(
            help="What of a model is read: `weights` (linear models; default) or `loss` (of the canary; default where "
            "it is sought and for networks)."
        ),
    ] = None,
    canary: Annotated[
        Literal["column", "sought"],
        typer.Option(
            help="`column`: a record with a column of its own. `sought`: before the audit, half as many trainings seek "
            "the record whose loss tells best whether it was there."
        ),
    ] = "column",
    neighbours: Annotated[
        Literal["add-remove-one", "replace-one"] | None,
        typer.Option(
            help="What the claim is of, where the canary is sought: `add-remove-one` (functions; a run without the "
            "canary has a record fewer) or `replace-one` (another record in its place; engines)."
        ),
    ] = None,
    hidden: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=MOST_UNITS,
            help="Width of a hidden layer (engines); may be repeated. Default: a linear model.",
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence of the bounds.")] = 0.95,
    records: Annotated[int, typer.Option(min=4, max=MOST_RECORDS, help="Training records.")] = 64,
    batch_size: Annotated[
        int, typer.Option(min=1, max=MOST_RECORDS, help="Records in a batch, on average (engines).")
    ] = 64,
    epochs: Annotated[int, typer.Option(min=1, max=MOST_EPOCHS, help="Passes over the records (engines).")] = 10,
    accountant: Annotated[
        str, typer.Option(help="Calibrates the noise of sampled batches (engines); that of full batches is exact.")
    ] = "pld",
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Root of every random choice.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw the lower bounds over what is claimed.")
    ] = None,
    members: Members = None,
    nonmembers: Nonmembers = None,
    reference: Reference = None,
    label: Label = None,
    ignore: Ignore = None,
    classes: Classes = None,
    logits: Logits = False,
    train: Train = None,
    models: Models = 16,
    fpr: Fpr = None,
    out: Out = None,
    fail_above: FailAbove = None,
    fail_by: FailBy = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Is it as private as it claims? Trains with and without a canary, and bounds epsilon from below by what differs.

    With --members, WHAT is a model that exists, a function from features to probabilities: which of its training
    records does it give away? See docs/audit-model.md.

    A bound above the claim refutes it at the given confidence: exit 1. A bound below it proves nothing: the canary or
    the adversary may be too weak. `gaussian` assumes normal scores, as a linear model's weights on a column of its own
    are; the others assume nothing but independent runs.

    A function of yours takes features (n, d), labels (n,) and a seed, and gives a model: arrays of weights, or an
    object with `coef_`, `get_weights()`, `predict_proba` or `predict`. With --score weights every run has to start
    from the same weights. See docs/auditing.md, and examples/audit_output_perturbation.py.

    Examples: `harness audit fast`; `harness audit mine.py:train --epsilon 1 --runs 2000 --score loss`;
    `harness audit fast --hidden 32 --canary sought`; `harness audit mine.py:train --epsilon 1 --canary sought`;
    `harness audit mine.py:predict --members members.csv --nonmembers nonmembers.csv --label y`
    """
    check_mode(context, members is not None)
    if members is not None:
        given = dict(
            members=members, nonmembers=nonmembers, reference=reference, label=label, ignore=tuple(ignore or ()),
            classes=tuple(classes or ()), logits=logits, train=train, models=models, seed=seed, level=level,
            **({"fprs": tuple(dict.fromkeys(fpr))} if fpr else {}),
        )  # fmt: skip
        audit_existing_model(what, given, out, quiet, as_json, Limit.of(fail_above, fail_by))
        return
    from harness.auditing import AUDITORS, canary_records, many_runs
    from harness.auditing.canary_search import Search, seek_canary
    from harness.auditing.engines import EngineTraining, Question
    from harness.config import load_external_plugins
    from harness.extensions.audit.functions import named_function, trials_of_function
    from harness.training.engine import ENGINES

    load_external_plugins()
    is_engine = what in ENGINES.names()
    if not is_engine:
        named_function(what)
    if not is_engine and not epsilon:
        raise HarnessError("--epsilon: say what is claimed of the function, such as --epsilon 1")
    claims = list(dict.fromkeys(epsilon or CLAIMS))
    for claimed in claims:
        check_epsilon(claimed)
    check_delta(delta)
    if not 0 < level < 1:
        raise HarnessError(f"--level {level:g}: it has to lie between 0 and 1, such as 0.95")
    check_writable_file(plot, "--plot", ".svg")
    settings = _settle_settings(is_engine, score, canary, neighbours, hidden)
    records_with_canary = canary_records(records, seed=seed, own_column=canary == "column", dropped=settings.dropped)
    search, progress = Search.for_runs(runs) if canary == "sought" else None, Progress(quiet)
    trials = None
    rows: list[tuple[float, Bound]] = []
    for claimed in claims:
        if is_engine:
            question = Question(claimed, delta, records, batch_size, epochs, accountant, settings.neighbours)
            engine = EngineTraining(what, question, tuple(hidden or ()))
            planted = records_with_canary if search is None else seek_canary(engine, records_with_canary, seed, search)
            trials = many_runs(engine, planted, runs, seed, settings.score, progress)
        elif trials is None:
            trials = trials_of_function(what, records_with_canary, runs, seed, settings.score, progress, search)
        assert trials is not None
        rows += [(claimed, a().bound(trials, delta, level)) for _, a in AUDITORS if a.sees == "many runs"]
    if plot is not None:
        _draw(rows, what, delta, plot)
    exposed = any(bound.epsilon > claimed for claimed, bound in rows)
    if as_json:
        bounds = [{"claimed": claimed, "exposed": b.epsilon > claimed, **dataclasses.asdict(b)} for claimed, b in rows]
        print_json(
            {
                "audited": what,
                "delta": delta,
                "runs": runs,
                "score": settings.score,
                "canary": canary,
                "neighbours": settings.neighbours,
                "exposed": exposed,
                "bounds": bounds,
            }
        )
    else:
        _show(rows, f"{what}, {settings.neighbours} neighbours", delta, runs)
    if exposed:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _AuditSettings:
    """What is audited, once open options are settled."""

    score: Score
    neighbours: Adjacency

    dropped: bool
    """Whether a run without the canary has a record fewer."""


def _settle_settings(
    is_engine: bool, score: Score | None, canary: str, neighbours: Adjacency | None, hidden: list[int] | None
) -> _AuditSettings:
    """The settings of an audit of training. Raises HarnessError for options that do not go together."""
    sought = canary == "sought"
    if hidden and not is_engine:
        raise HarnessError("--hidden: a function of yours has layers of its own; leave it out")
    if score == "weights" and (sought or hidden):
        what = "a canary that is sought has no column of its own" if sought else "a network's weights are no score"
        raise HarnessError(f"--score weights: {what}; use --score loss")
    if neighbours is not None and not sought:
        raise HarnessError(
            "--neighbours: a canary with a column of its own is always audited for add-remove-one; leave it out"
        )
    if sought and is_engine and neighbours == "add-remove-one":
        raise HarnessError(
            "--neighbours add-remove-one: with a record fewer an engine takes other steps; use replace-one"
        )
    relation = neighbours or ("replace-one" if sought and is_engine else "add-remove-one")
    read = score or ("loss" if sought or hidden else "weights")
    return _AuditSettings(read, relation, dropped=sought and relation == "add-remove-one")


def _show(rows: list[tuple[float, Bound]], what: str, delta: float, runs: int) -> None:
    shown = []
    for claimed, bound in rows:
        outcome = Cell("exposed", "red") if bound.epsilon > claimed else Cell("not refuted", "green")
        why = bound.why + (f"; if {bound.assumes}" if bound.assumes else "")
        shown.append((f"{claimed:g}", bound.auditor, f"{bound.epsilon:.3f}", outcome, why))
    print_table(("claimed", "auditor", "at least", "outcome", "from"), shown)
    print_text(f"{what}: epsilon at delta {delta:g}, lower bounds at {rows[0][1].level:.0%}, {runs} runs a claim")


def _draw(rows: list[tuple[float, Bound]], what: str, delta: float, path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    claims = sorted({claimed for claimed, _ in rows})
    reach = [min(claims) / 2, max(claims) * 2]
    axes.plot(reach, reach, color="black", linewidth=1, label="what is claimed")
    names = list(dict.fromkeys(bound.auditor for _, bound in rows))
    for name, marker in zip(names, "osD^v", strict=False):
        points: list[tuple[float, float]] = [(c, b.epsilon) for c, b in rows if b.auditor == name]
        axes.plot(*zip(*points, strict=True), marker=marker, label=name)
    axes.set_xscale("log")
    axes.set_xlabel(f"claimed epsilon, delta {delta:g}")
    axes.set_ylabel(f"lower bound at {rows[0][1].level:.0%} confidence")
    axes.set_title(what)
    axes.legend()
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "audit", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    write_text(path, buffer.getvalue())
