"""The command line. Exit codes: 0 fine, 1 a verdict differs from what was asked to hold, 2 bad input."""

from __future__ import annotations

import sys

import typer

from harness.commands.accountants import accountants
from harness.commands.audit import audit
from harness.commands.common import Root, state
from harness.commands.data import data_app
from harness.commands.judging import bundle, check, report, site
from harness.commands.multiverse import multiverse
from harness.commands.new import new
from harness.commands.pipeline import pipeline, resolve
from harness.commands.run import plan, run
from harness.commands.specs import list_specs, schema, validate
from harness.commands.store import store_app
from harness.commands.telling import demo, explain, status
from harness.commands.verify import verify
from harness.errors import HarnessError
from harness.progress import hush

TRAINS = frozenset(("distributed", "dvc", "keras", "mlflow", "tensorflow", "tensorflow_privacy"))
"""Packages of the extra `train`: all but these are there with `pip install .`."""
app = typer.Typer(
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
* `harness new spec mine` a working spec to start from; `new attack`, `dataset`, `formula`, `claim` begin a package
* `harness ls` what there is
* `harness plan humphries2020/fig3` what a run would do and take
* `harness run humphries2020/fig3 --profile quick` do it
* `harness run my-table.yaml` a spec of your own, as it is declared, onto a page of its own
* `harness check --require reproduced` exit 1 unless every claim is reproduced
* `harness verify` exit 1 unless every verdict is what the committed baseline says
* `harness audit fast` is DP-SGD here as private as it claims? `harness audit mine.py:train` asks it of yours
""",
)
app.add_typer(data_app, name="data")
app.add_typer(store_app, name="store")
app.command("ls")(list_specs)
for command in (
    validate,
    schema,
    plan,
    run,
    check,
    report,
    site,
    bundle,
    verify,
    explain,
    status,
    demo,
    new,
    multiverse,
    accountants,
    audit,
    resolve,
    pipeline,
):
    app.command()(command)


@app.callback()
def _global(project: Root = None) -> None:
    state["root"] = project


def main() -> None:
    """Entry point: one clear line and exit 2 for bad input, never a traceback."""
    hush()
    try:
        app()
    except ModuleNotFoundError as error:
        if str(error.name).split(".")[0].replace("-", "_") not in TRAINS:
            raise
        needs = (
            ""
            if sys.version_info < (3, 12)
            else ", on Python 3.11 (TensorFlow Privacy's last release runs on no later)"
        )
        print(f"harness: this needs {error.name}: pip install 'mi-dp-harness[train]'{needs}", file=sys.stderr)
        sys.exit(2)
    except HarnessError as error:
        for line in str(error).splitlines():
            print(f"harness: {line}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"harness: {where}{error.strerror or error}; nothing half-written was left", file=sys.stderr)
        sys.exit(2)
