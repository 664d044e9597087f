"""The command line. Exit codes: 0 fine, 1 a verdict differs from what was asked to hold, 2 bad input, 130 Ctrl-C."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import typer

from harness import reference_engine
from harness.addresses import hide_secrets
from harness.commands.accountants import accountants
from harness.commands.alternatives import alternatives
from harness.commands.common import Root, print_json, state
from harness.commands.compare import compare
from harness.commands.data import data_app
from harness.commands.declare import declare
from harness.commands.demo import demo
from harness.commands.explain import explain
from harness.commands.extensions import ExtensibleGroup
from harness.commands.interrupts import heed_one_interrupt
from harness.commands.judging import judge, report, site
from harness.commands.listing import list_things
from harness.commands.new import new
from harness.commands.pipeline import pipeline, resolve
from harness.commands.run import plan, run
from harness.commands.specs import schema, validate
from harness.commands.status import status
from harness.commands.store import store_app
from harness.commands.version import Version
from harness.commands.what_is_in import what_is_in
from harness.entry_points import first_malformed_line
from harness.errors import HarnessError
from harness.escaping import visible_line
from harness.processes import protect_processes
from harness.progress import silence_accountant_warnings
from harness.streams import reserve_stdout

TRAINING_PACKAGES = frozenset(("distributed", "dvc", "keras", "mlflow", "tensorflow", reference_engine.PACKAGE))
"""Packages of the extra `train`: all but these are there with `pip install .`."""
MOST_SHOWN = 60
"""Characters of a value that a message repeats."""


class CommandGroup(ExtensibleGroup):
    """The commands, which also answer to Ctrl-C."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the options before the command, for which Typer imports Pydantic. Ctrl-C is answered in one line."""
        with _say_stopped():
            return super().make_context(*arguments, **options)

    def invoke(self, context: Any) -> Any:
        """Run the command. Ctrl-C that no command has answered is answered in one line."""
        with _say_stopped():
            return super().invoke(context)


@contextlib.contextmanager
def _say_stopped() -> Iterator[None]:
    """Context manager: on Ctrl-C print a line, and exit with 130.

    NumPy and others answer one that comes while they are imported with an ImportError.
    """
    try:
        yield
    except (KeyboardInterrupt, ImportError) as error:
        if isinstance(error, ImportError) and not state.get("was_interrupted", bool)():
            raise
        print("harness: stopped", file=sys.stderr)
        raise typer.Exit(130) from None


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""
Check what papers claim about membership inference and differential privacy.

A **spec** (`specs/<paper>/<figure>.yaml`) declares an experiment and the claims made on it. `run` trains,
attacks, judges and reports; each finished piece is kept, so a run that stops goes on where it was.

Examples:

* `harness demo` ten seconds: a claim judged, one number changed, and what catches it
* `harness status --profile sequential` how things stand; `harness explain humphries2020/fig6#logloss-cap` one claim
* `harness new project study` a folder to work in, with an example that runs in seconds
* `harness new paper lira2022` the claims of a paper: citation, list of what can be checked, a first claim
* `harness new spec mine` a working spec to start from; `new attack`, `dataset`, `formula`, `claim` begin a package
* `harness new results runs.csv` a spec on results from elsewhere, saying what it guessed of their columns
* `harness list` what there is; `harness list metrics` (attacks, formulas, ...) what a spec may name
* `harness declare` put claims on record before anything is measured of them
* `harness plan humphries2020/fig3` what a run would do and take
* `harness run humphries2020/fig3 --profile quick` do it
* `harness run my-table.yaml` a spec of your own, as it is declared, onto a page of its own
* `harness judge --require reproduced` exit 1 unless every claim is reproduced
* `harness compare` exit 1 unless every verdict is what the committed baseline says
* `harness what-is-in reports/own/mine/site` what files hold of records, before you give them away
* `harness survey my-table.csv --label outcome` which choice of members would a model give away?
* `harness audit fast` is DP-SGD here as private as it claims? `harness audit mine.py:train` asks it of yours
* `harness audit mine.py:predict --members in.csv --nonmembers out.csv --label y` which records does a model give away?
""",
)
app.add_typer(data_app, name="data")
app.add_typer(store_app, name="store")
app.command("list")(list_things)
for command in (
    validate,
    declare,
    schema,
    plan,
    run,
    judge,
    report,
    site,
    compare,
    explain,
    status,
    demo,
    new,
    alternatives,
    accountants,
    resolve,
    pipeline,
    what_is_in,
):
    app.command()(command)


@app.callback()
def _global(project: Root = None, version: Version = False) -> None:
    state["root"] = project


def main() -> None:
    """Run the command line: one clear line and exit 2 for bad input (130 for Ctrl-C), never a traceback.

    With `--json`, standard output has exactly one document, an error's too; what else is printed goes to standard
    error. HARNESS_TRACEBACK=1 shows where an error came from.
    """
    protect_processes()
    silence_accountant_warnings()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with heed_one_interrupt() as was_interrupted:
        state["was_interrupted"] = was_interrupted
        if "--json" not in sys.argv[1:]:
            sys.exit(_run_command())
        with reserve_stdout() as document:
            state["document"] = document
            try:
                code = _run_command()
            finally:
                del state["document"]
        sys.exit(code)


def _run_command() -> int:
    """Run the command that was typed. Returns the exit code."""
    try:
        return app(standalone_mode=False) or 0
    except ModuleNotFoundError as error:
        package = str(error.name).split(".")[0].replace("_", "-")
        if package not in TRAINING_PACKAGES:
            raise
        if package == reference_engine.PACKAGE:
            return _report_error(error, f"this needs {reference_engine.MISSING}; or train with engine: fast")
        return _report_error(error, f"this needs {error.name}: pip install 'mi-dp-harness[train]'")
    except HarnessError as error:
        return _report_error(error, *error.lines)
    except OSError as error:
        where = f"{error.filename2 or error.filename}: " if error.filename else ""
        return _report_error(error, f"{where}{error.strerror or error}; nothing half-written was left")
    except MemoryError as error:
        return _report_error(error, f"out of memory{_detail(error)}; give it less, or run it where there is more")
    except RecursionError as error:
        return _report_error(error, f"an input is nested too deeply{_detail(error)}; make it flatter")
    except typer.Abort as error:
        return _report_error(error, "stopped")
    except Exception as error:
        if not hasattr(error, "format_message"):
            if (fault := first_malformed_line()) is not None:
                return _report_error(error, fault)
            raise
        return _report_usage_error(error)


def _report_error(error: Exception, *faults: str) -> int:
    """Print faults, a line each whatever stands in it. Returns the exit code."""
    if os.environ.get("HARNESS_TRACEBACK"):
        print(hide_secrets("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    lines = [visible_line(hide_secrets(fault.strip())) for fault in faults]
    for line in lines:
        print(f"harness: {line}", file=sys.stderr)
    if "document" in state:
        print_json({"errors": lines})
    return 2


def _detail(error: Exception) -> str:
    """What an error says beyond its name, on one line."""
    text = " ".join(str(error).split())
    return f" ({text})" if text else ""


def _report_usage_error(error: Any) -> int:
    """Print what does not fit the command, and what would. Returns the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return 2
    context, names = error.ctx, list[str]()
    while context is not None and context.parent is not None:
        names.insert(0, context.info_name)
        context = context.parent
    text = " ".join(error.format_message().split()).rstrip(".").replace(": Value error, ", ": ")
    given = _typed_value(getattr(error, "param", None))
    if given is not None and len(given) > MOST_SHOWN:
        text, given = text.replace(given, f"{given[:MOST_SHOWN]}..."), f"{given[:MOST_SHOWN]}..."
    clause = f", found {given!r}" if given is not None and repr(given) not in text else ""
    asked = "".join(f"{name} " for name in names)
    return _report_error(error, f"{asked.rstrip() + ': ' if asked else ''}{text}{clause}; see `harness {asked}--help`")


def _typed_value(param: Any) -> str | None:
    """The value that was typed for an option; None where it cannot be told."""
    typed = None
    for word, following in zip(sys.argv[1:], [*sys.argv[2:], None], strict=True):
        name, equals, value = word.partition("=")
        if name in getattr(param, "opts", ()) and name.startswith("-"):
            typed = value if equals else following
    return typed
