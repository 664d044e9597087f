"""`dvc.yaml`, from the specs and the profile that `params.yaml` selects; `flagship/dvc.yaml`, of its flagship.

A spec is named by its file alone. Specs that the profile leaves out have no stages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.data.dataset import TableDataset
from harness.data.datasets.csv_table import CsvTable
from harness.pipeline.compute import datasets
from harness.pipeline.context import Context
from harness.pipeline.judging import left_out
from harness.spec.load import Loaded

HEAD = """\
# Written by `harness pipeline` from specs/ and params.yaml; `make repro` does so before it runs it. Do not edit.
#
# fetch ──► resolve ─┬─► train ─► attack ─► check ─► report
#                    └─► theory ───────────────────►
#
# One train, attack and check stage a spec, for the profile that params.yaml selects. Each depends on the part of the
# spec and of the code that it uses: an edited claim re-runs no training and no attack, an edited attack never retrains.
# `resolve` writes those parts, as they are under the profile, into files of their own.
# The cells themselves are kept in .harness/store, a cache outside DVC, so a stage that runs again computes only what
# is new.
"""
DATA = """\
  fetch:
    foreach:
{datasets}
    do:
      desc: Bring ${{key}} from the first source that has it, verified
      cmd: harness data fetch --or-mark-missing ${{key}}
      deps:
        - ${{item}}
        - harness/data/fetch.py
      outs:
        - data/${{key}}

"""
RESOLVE = """\
  resolve:
    desc: What each spec comes to under the profile, and the data that it is about
    cmd: harness resolve --profile ${{profile}}
    params:
      - params.yaml: ["profiles.${{profile}}"]
    deps:
      - specs
      - harness/experiment
      - harness/spec
{data}    outs:
      - models/${{profile}}/resolved
"""
MEASURED = """
  train:
    foreach: &measured
{specs}
    do:
      desc: Train the target and shadow models of ${{item}}
      cmd: harness run --stage train --profile ${{profile}} ${{item}}
      deps:
        - models/${{profile}}/resolved/${{item}}/experiment.json
        - harness/data/encoding.py
        - harness/data/split.py
        - harness/data/splits
        - harness/privacy
        - harness/training
        - harness/execution/materialize.py
        - harness/execution/train_cell.py
        - harness/execution/plan.py
        - harness/execution/planner.py
      outs:
        - models/${{profile}}/${{item}}.parquet

  attack:
    foreach: *measured
    do:
      desc: Attack the models of ${{item}} and gather the measurements
      cmd: harness run --stage attack --profile ${{profile}} ${{item}}
      deps:
        - models/${{profile}}/resolved/${{item}}/attacks.json
        - models/${{profile}}/${{item}}.parquet
        - harness/attacks
        - harness/defences
        - harness/metrics
        - harness/execution/attack_cell.py
        - harness/execution/curves.py
        - harness/execution/table.py
        - harness/pipeline/compute.py
      outs:
        - reports/${{profile}}/${{item}}/measurements.parquet:
            cache: false
      plots:
        - reports/${{profile}}/${{item}}/advantage.csv:
            cache: false
            x: epsilon
            y: advantage
            title: ${{item}} (${{profile}})
"""
CHECK = """
  check:
    foreach: *measured
    do:
{wdir}      desc: Judge the claims of ${{item}}
      cmd: harness check --profile ${{profile}} ${{item}}
      deps:
        - {resolved}/${{item}}/claims.json
        - reports/${{profile}}/${{item}}/measurements.parquet
        - harness/claims
        - harness/formulas
        - harness/verdicts/basis.py
        - harness/verdicts/check.py
        - harness/verdicts/findings.py
        - harness/verdicts/halves.py
      outs:
        - reports/${{profile}}/${{item}}/verdicts.json:
            cache: false
"""
THEORY = """
  theory:
    foreach:
{specs}
    do:
{wdir}      desc: Judge the claims of ${{item}}, which need no measurements
      cmd: harness check --profile ${{profile}} ${{item}}
      deps:
        - {resolved}/${{item}}/claims.json
        - harness/auditing
        - harness/claims/expectation.py
        - harness/claims/verdict.py
        - harness/formulas
        - harness/privacy
        - harness/theory
        - harness/verdicts/basis.py
        - harness/verdicts/check.py
        - harness/verdicts/findings.py
        - harness/verdicts/halves.py
      outs:
        - reports/${{profile}}/${{item}}/verdicts.json:
            cache: false
"""
REPORT = """
  report:
{wdir}    desc: All verdicts of the profile, the summary and the site
    cmd: harness report --profile ${{profile}}
    deps:
      - specs
      - harness/claims/verdict.py
      - harness/report
      - harness/verdicts/catalogue.py
{folders}
    outs:
      - reports/${{profile}}/claims.csv:
          cache: false
      - reports/${{profile}}/summary.md:
          cache: false
      - reports/${{profile}}/verdicts.json:
          cache: false
    metrics:
      - reports/${{profile}}/metrics.json:
          cache: false
"""


FLAGSHIP_HEAD = """\
# Written by `harness pipeline` from specs/ and params.yaml. Do not edit.
#
# resolve ─┬─► measure ─► check ─► report
#          └─► theory ───────────►
#
# The flagship: everything that it is made of and everything that it makes is in git, so `dvc status flagship/dvc.yaml`
# says in a fresh clone whether the committed results follow from specs and code, and `dvc repro flagship/dvc.yaml` goes
# on where they stop. `measure` takes what its table holds as done, by whichever code it was measured (the verdicts say
# by which), and measures the rest until each claim is decided or out of reach. Data are brought as they are needed.
"""
FLAGSHIP_RESOLVE = """\
  resolve:
    wdir: ..
    desc: What each spec comes to under the profile
    cmd: harness resolve --profile ${{profile}}
    params:
      - params.yaml: ["profiles.${{profile}}"]
    deps:
      - specs
      - harness/experiment
      - harness/spec
{data}    outs:
      - flagship/resolved:
          cache: false
"""
FLAGSHIP_MEASURED = """
  measure:
    foreach: &measured
{specs}
    do:
      wdir: ..
      desc: Measure what the table of ${{item}} lacks
      cmd: harness run --stage attack --profile ${{profile}} ${{item}}
      deps:
        - flagship/resolved/${{item}}/experiment.json
        - flagship/resolved/${{item}}/attacks.json
        - harness/attacks
        - harness/data
        - harness/defences
        - harness/execution/attack_cell.py
        - harness/execution/curves.py
        - harness/execution/materialize.py
        - harness/execution/plan.py
        - harness/execution/planner.py
        - harness/execution/table.py
        - harness/execution/train_cell.py
        - harness/metrics
        - harness/privacy
        - harness/training
      outs:
        - reports/${{profile}}/${{item}}/measurements.parquet:
            cache: false
            persist: true
      plots:
        - reports/${{profile}}/${{item}}/advantage.csv:
            cache: false
            persist: true
            x: epsilon
            y: advantage
            title: ${{item}} (${{profile}})
"""


def flagship_text(context: Context, specs: Sequence[Loaded]) -> str:
    """`flagship/dvc.yaml`: the same of the flagship, whose tables and resolved specs are in git."""
    measured, theory = _kinds(context, specs)
    text = FLAGSHIP_HEAD + f"vars:\n  - profile: {context.profile_name}\n\nstages:\n"
    text += FLAGSHIP_RESOLVE.format(data=_listed(_own_tables(context, specs), 6))
    if measured:
        text += FLAGSHIP_MEASURED.format(specs=_listed(measured, 6).rstrip())
    return text + _judged(context, measured, theory, "      wdir: ..\n", "flagship/resolved")


def _kinds(context: Context, specs: Sequence[Loaded]) -> tuple[list[str], list[str]]:
    """Ids of those that are measured, and of those about theory."""
    kept = [one for one in specs if not left_out(context, one)]
    return (
        [one.spec.id for one in kept if one.spec.experiment is not None],
        [one.spec.id for one in kept if one.spec.experiment is None],
    )


def _judged(context: Context, measured: Sequence[str], theory: Sequence[str], wdir: str, resolved: str) -> str:
    """The stages from measurements to the page."""
    text = CHECK.format(wdir=wdir, resolved=resolved) if measured else ""
    if theory:
        text += THEORY.format(specs=_listed(theory, 6).rstrip(), wdir=wdir, resolved=resolved)
    folders = dict.fromkeys(f"reports/${{profile}}/{name.split('/')[0]}" for name in (*measured, *theory))
    return text + REPORT.format(folders=_listed(folders, 6).rstrip(), wdir=wdir[2:])


def pipeline_text(context: Context, specs: Sequence[Loaded]) -> str:
    """The file's content, for all specs of the checkout."""
    kept = [one for one in specs if not left_out(context, one)]
    measured, theory = _kinds(context, specs)
    tables = {d.name: type(d) for one in kept for d in datasets(one, context) if _fetched(d)}
    data = [*(f"data/{name}" for name in sorted(tables)), *_own_tables(context, kept)]
    text = HEAD + "vars:\n  - params.yaml\n\nstages:\n"
    if tables:
        listed = [f"      {name}: {_module_path(context, tables[name])}" for name in sorted(tables)]
        text += DATA.format(datasets="\n".join(listed))
    text += RESOLVE.format(data=_listed(data, 6))
    if measured:
        text += MEASURED.format(specs=_listed(measured, 6).rstrip())
    return text + _judged(context, measured, theory, "", "models/${profile}/resolved")


def _own_tables(context: Context, specs: Sequence[Loaded]) -> list[str]:
    """Paths of one's own tables."""
    return sorted({d.path for one in specs for d in datasets(one, context) if isinstance(d, CsvTable)})


def _fetched(dataset: object) -> bool:
    return isinstance(dataset, TableDataset) and not isinstance(dataset, CsvTable)


def _module_path(context: Context, kind: type) -> str:
    """The file of a dataset's code, where the checkout has it; else one of this package's that stands for it."""
    path = Path(*kind.__module__.split(".")).with_suffix(".py")
    return path.as_posix() if (context.project.root / path).is_file() else "harness/data/dataset.py"


def _listed(items: Iterable[str], indent: int) -> str:
    return "".join(f"{' ' * indent}- {item}\n" for item in items)
