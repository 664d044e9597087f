"""`harness audit --members`: which of its training records a model that exists gives away."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.commands.common import check_writable_folder, print_json
from harness.commands.tables import print_table, print_text
from harness.errors import HarnessError
from harness.escaping import visible_line
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.extensions.audit.model import ModelAudit, Question

PANEL = "A model that exists"
Members = Annotated[
    Path | None,
    typer.Option(metavar="FILE", rich_help_panel=PANEL, help="Records that it was trained on: CSV, or .npz."),
]
Nonmembers = Annotated[
    Path | None,
    typer.Option(metavar="FILE", rich_help_panel=PANEL, help="Records of the same sort that it was not trained on."),
]
Reference = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=PANEL,
        help="More non-members, for attacks to learn from; default: a third of the others.",
    ),
]
Label = Annotated[str | None, typer.Option(rich_help_panel=PANEL, help="The column to predict (CSV).")]
Ignore = Annotated[
    list[str] | None,
    typer.Option(rich_help_panel=PANEL, help="A column that is no feature, such as an identifier; may be repeated."),
]
Classes = Annotated[
    list[str] | None,
    typer.Option(
        rich_help_panel=PANEL,
        help="The label of each column, repeated; `0..9` stands for ten numbers. Default: the "
        "model's classes_, else labels in order.",
    ),
]
Logits = Annotated[bool, typer.Option("--logits", rich_help_panel=PANEL, help="The function gives logits.")]
Train = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.py:FUNCTION",
        rich_help_panel=PANEL,
        help="Trains such a model, for attacks by a pool (LiRA, RMIA).",
    ),
]
Models = Annotated[int, typer.Option(rich_help_panel=PANEL, help="Models of the pool, an even number from 12 on.")]
Fpr = Annotated[
    list[float] | None,
    typer.Option(rich_help_panel=PANEL, help="A false-positive rate; may be repeated. Default: 0.1, 0.01 and 0.001."),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", rich_help_panel=PANEL, help="For page, numbers and scores; default: NAME-audit."),
]
FailAbove = Annotated[
    float | None,
    typer.Option(
        metavar="AUC",
        rich_help_panel=PANEL,
        help="Exit 1 where an attack on the model has an AUC above this, for CI; 0.5 is chance.",
    ),
]
FailBy = Annotated[
    Literal["shown", "estimate", "possible"] | None,
    typer.Option(
        rich_help_panel=PANEL,
        help="What has to be above it: `shown`, the lower end of the interval (default); `estimate`, the number; "
        "`possible`, the upper end, so that too few records stop a model, too.",
    ),
]
OF_MODEL = (
    "nonmembers", "reference", "label", "ignore", "classes", "logits", "train", "models", "fpr", "out", "fail_above",
    "fail_by",
)  # fmt: skip
OF_TRAINING = (
    "epsilon", "delta", "runs", "score", "canary", "neighbours", "hidden", "records", "batch_size", "epochs",
    "accountant", "plot",
)  # fmt: skip
"""Options of either audit alone."""


def check_mode(context: typer.Context, of_model: bool) -> None:
    """Raises HarnessError for options of an audit of training in one of a model, and the other way round."""
    sources = {name: context.get_parameter_source(name) for name in (OF_TRAINING if of_model else OF_MODEL)}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if given:
        option = "--" + given[0].replace("_", "-")
        if of_model:
            raise HarnessError(
                f"{option}: is for an audit of training; with --members a model is audited, leave it out"
            )
        raise HarnessError(f"{option}: is for a model that exists; name its training records too, with --members FILE")


@dataclass(frozen=True)
class Limit:
    """What a model may give away before the command fails."""

    auc: float
    by: Literal["shown", "estimate", "possible"]

    @classmethod
    def of(cls, auc: float | None, by: Literal["shown", "estimate", "possible"] | None) -> Limit | None:
        """None where no limit is given. Raises HarnessError for an AUC that is none, and for one option without the
        other."""
        if auc is None:
            if by is not None:
                raise HarnessError(f"--fail-by {by}: is for --fail-above; give that too, such as --fail-above 0.6")
            return None
        if not 0 <= auc < 1:
            raise HarnessError(f"--fail-above {auc:g}: an AUC from 0 up to 1 is needed, such as 0.6")
        return cls(auc, by or "shown")

    def fault(self, audit: ModelAudit) -> str:
        """Which attack on the model is above it, in a line; empty where none is.

        An end of an interval is at the level that holds for all attacks together. Columns that do not seem to be those
        of the labels are a fault, too: what attacks find with them says nothing.
        """
        from harness.extensions.audit.model.findings import find_leaks, name_attack
        from harness.extensions.audit.model.intervals import auc_interval

        if audit.columns.out_of_order:
            return "columns and labels do not seem to fit, so that nothing is known of the model"
        level = find_leaks(audit).level
        ends = {one.name: auc_interval(one.answers, level) for one in audit.attacks[1:]}
        read = {"shown": "low", "estimate": "value", "possible": "high"}[self.by]
        name, highest = max(((name, getattr(end, read)) for name, end in ends.items()), key=lambda pair: pair[1])
        if highest <= self.auc:
            return ""
        what = {"shown": "is shown to be", "estimate": "is", "possible": "may be"}[self.by]
        return f"the AUC of {name_attack(name)} {what} {highest:.3g}, above {self.auc:g}"


def audit_existing_model(
    function: str,
    options: Mapping[str, object],
    out: Path | None,
    quiet: bool,
    as_json: bool,
    limit: Limit | None = None,
) -> None:
    """Audit, write the page, and say what was found; exit 1 where the model gives away more than the limit."""
    from harness.extensions.audit.functions import TRAINING, named_function
    from harness.extensions.audit.model import Question, audit_model
    from harness.extensions.audit.model.asking import PREDICTION
    from harness.extensions.audit.model_page import write_audit

    if ".py" not in function:
        raise HarnessError(
            f"audit: {function!r}: with --members, name the function that asks the model, as in mine.py:predict"
        )
    if options["nonmembers"] is None:
        raise HarnessError("--nonmembers: name the file of records that the model was not trained on")
    named_function(function, PREDICTION)
    if options["train"] is not None:
        named_function(str(options["train"]), TRAINING)
    question = Question(predict=function, **options)  # type: ignore[arg-type]
    folder = out or Path(f"{_stem(question)}-audit")
    if out is None and folder.is_symlink():
        raise HarnessError(f"{folder}: is a link; name the folder that it leads to with --out")
    check_writable_folder(folder, f"--out {folder}")
    audit = audit_model(question, Progress(quiet))
    page = write_audit(folder, audit)
    if as_json:
        from harness.extensions.audit.model.document import describe_audit

        print_json({**describe_audit(audit), "page": str(page)})
    else:
        _show(audit, page)
    if limit is not None and (fault := limit.fault(audit)):
        print(visible_line(f"harness: audit: {fault}"), file=sys.stderr)
        raise typer.Exit(1)


def _stem(question: Question) -> str:
    path, _, name = question.predict.rpartition(":")
    return re.sub(r"[^A-Za-z0-9]+", "-", f"{Path(path).stem}-{name}").strip("-").lower()


def _show(audit: ModelAudit, page: Path) -> None:
    from harness.extensions.audit.model.findings import WORDS, answer_question, find_leaks
    from harness.extensions.audit.model.intervals import Interval

    def interval(one: Interval) -> str:
        return f"{one.value:.2f} [{one.low:.2f},{one.high:.2f}]"

    rates = [f"TPR at FPR {fpr:g}" for fpr in audit.question.fprs]
    rows = []
    for one in audit.attacks:
        shown = [f"{interval(rate.tpr)}{'' if rate.visible else '*'}" for rate in one.rates]
        rows.append((WORDS[one.name], interval(one.advantage), interval(one.auc), *shown))
    print_table(("attack", "advantage", "AUC", *rates), rows)
    if not all(rate.visible for rate in audit.blind.rates):
        highest = audit.blind.rates[-1].fpr.high
        print_text(
            f"* less than one of {audit.records.nonmembers:,} non-members: at a threshold above them all, where the "
            f"FPR may be up to {highest:.2g}"
        )
    print_text(answer_question(audit, find_leaks(audit)))
    print_text(f"all intervals, single records, what to do: {page}")
