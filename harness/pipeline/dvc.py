"""`dvc.yaml`, from the specs and the profile that `params.yaml` selects; `flagship/dvc.yaml`, of its flagship.

A spec is named by its file alone. Specs that the profile leaves out have no stages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.data.dataset import TableDataset
from harness.data.datasets.csv_table import CsvTable
from harness.imports import closure
from harness.pipeline.code import STAGES, paths_of
from harness.pipeline.compute import datasets
from harness.pipeline.context import Context
from harness.pipeline.judging import left_out
from harness.spec.load import Loaded

HEAD = """\
# Written by `harness pipeline` from specs/, params.yaml and what the code imports; `make repro` does so before it runs
# it. Do not edit.
#
# fetch ──► resolve ─┬─► train ─► attack ─► check ─► report
#                    └─► theory ───────────────────►
#
# Each stage is of all specs of the profile that params.yaml selects, since DVC runs one after another: within a stage
# all cores are used, and TensorFlow is started once. A stage depends on the part of the specs and of the code that it
# uses: an edited claim re-runs no training and no attack, an edited attack never retrains. `resolve` writes those
# parts, as they are under the profile, into files of their own.
# The cells themselves are kept in .harness/store, a cache outside DVC, so a stage that runs again computes only what
# is new.
"""
FETCH = """\
  fetch:
    desc: Bring data from the first source that has them, verified
    cmd: harness data fetch --or-mark-missing {names}
    deps:
{code}    outs:
{data}
"""
RESOLVE = """\
  resolve:
{wdir}    desc: What each spec comes to under the profile, and the data that it is about
    cmd: harness resolve --profile ${{profile}}
    params:
      - params.yaml: ["profiles.${{profile}}"]
    deps:
      - specs
{code}{data}    outs:
"""
STAGE = """
  {name}:
    desc: {desc}
    cmd: >-
      harness {command} --profile ${{profile}}
{specs}    deps:
{resolved}{code}    outs:
{outs}"""
CHECK_EACH = """
  check:
    foreach: *measured
    do:
      wdir: ..
      desc: Judge the claims of ${{item}}
      cmd: harness check --profile ${{profile}} ${{item}}
      deps:
        - flagship/resolved/${{item}}/claims.json
        - reports/${{profile}}/${{item}}/measurements.parquet
        - reports/${{profile}}/${{item}}/readings
{code}      outs:
        - reports/${{profile}}/${{item}}/verdicts.json:
            cache: false
"""
THEORY_EACH = """
  theory:
    foreach:
{specs}    do:
      wdir: ..
      desc: Judge the claims of ${{item}}, which need no measurements
      cmd: harness check --profile ${{profile}} ${{item}}
      deps:
        - flagship/resolved/${{item}}/claims.json
{code}      outs:
        - reports/${{profile}}/${{item}}/verdicts.json:
            cache: false
"""
REPORT = """
  report:
{wdir}    desc: All verdicts of the profile, the summary and the site
    cmd: harness report --profile ${{profile}}
    deps:
      - specs
{code}{folders}    outs:
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
# Written by `harness pipeline` from specs/, params.yaml and what the code imports. Do not edit.
#
# resolve ─┬─► measure ─► readings ─► check ─► report
#          └─► theory ───────────────────────►
#
# The flagship: everything that it is made of and everything that it makes is in git, so `dvc status flagship/dvc.yaml`
# says in a fresh clone whether the committed results follow from specs and code, and `dvc repro flagship/dvc.yaml` goes
# on where they stop. `measure` takes what its table holds as done, by whichever code it was measured (the verdicts say
# by which), and measures the rest until each claim is decided or out of reach. `readings` runs what the paper leaves
# open in its other readings, for claims that would be violated. Data are brought as they are needed.
"""
MEASURE_EACH = """
  measure:
    foreach: &measured
{specs}    do:
      wdir: ..
      desc: Measure what the table of ${{item}} lacks
      cmd: harness run --stage attack --profile ${{profile}} ${{item}}
      deps:
        - flagship/resolved/${{item}}/experiment.json
        - flagship/resolved/${{item}}/attacks.json
{code}      outs:
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
READINGS_EACH = """
  readings:
    foreach: *measured
    do:
      wdir: ..
      desc: Run the readings that a claim of ${{item}} waits for
      cmd: harness alternatives --where-violated --until-decided --measure-only --profile ${{profile}} ${{item}}
      deps:
        - flagship/resolved/${{item}}/claims.json
        - reports/${{profile}}/${{item}}/measurements.parquet
{code}      outs:
        - reports/${{profile}}/${{item}}/readings:
            cache: false
            persist: true
"""


def pipeline_text(context: Context, specs: Sequence[Loaded]) -> str:
    """`dvc.yaml`, for all specs of the checkout."""
    kept = [one for one in specs if not left_out(context, one)]
    measured, theory = _kinds(context, specs)
    fetched = {d.name: type(d) for one in kept for d in datasets(one, context) if _is_fetched(d)}
    text = HEAD + "vars:\n  - params.yaml\n\nstages:\n"
    if fetched:
        modules = closure(*(type(d).__module__ for one in kept for d in datasets(one, context) if _is_fetched(d)))
        modules = tuple(m for m in modules if m.partition(".")[0] == "harness")  # others lie outside of the checkout
        text += FETCH.format(
            names=" ".join(sorted(fetched)),
            code=_items(paths_of((*STAGES["fetch"].modules(), *modules)), 6),
            data=_items((f"data/{name}" for name in sorted(fetched)), 6),
        )
    data = [*(f"data/{name}" for name in sorted(fetched)), *_own_tables(context, kept)]
    text += RESOLVE.format(wdir="", code=_code("resolve", 6), data=_items(data, 6))
    text += "      - models/${profile}/resolved\n"
    tables = [f"reports/${{profile}}/{one}/measurements.parquet" for one in measured]
    models = [f"models/${{profile}}/{one}.parquet" for one in measured]
    if measured:
        text += _stage("train", measured, _resolved_files(measured, "experiment"), _items(models, 6))
        text += _stage("attack", measured, [*_resolved_files(measured, "attacks"), *models], _uncached_outputs(tables))
        text += "    plots:\n" + "".join(_plot(one) for one in measured)
        text += _stage(
            "check", measured, [*_resolved_files(measured, "claims"), *tables], _uncached_outputs(_verdicts(measured))
        )
    if theory:
        text += _stage("theory", theory, _resolved_files(theory, "claims"), _uncached_outputs(_verdicts(theory)))
    return text + _report(context, (*measured, *theory), "")


def flagship_text(context: Context, specs: Sequence[Loaded]) -> str:
    """`flagship/dvc.yaml`: the flagship, whose tables and resolved specs are in git; a stage for each spec, since some
    take hours."""
    measured, theory = _kinds(context, specs)
    text = FLAGSHIP_HEAD + f"vars:\n  - profile: {context.profile_name}\n\nstages:\n"
    text += RESOLVE.format(wdir="    wdir: ..\n", code=_code("resolve", 6), data=_items(_own_tables(context, specs), 6))
    text += "      - flagship/resolved:\n          cache: false\n"
    if measured:
        text += MEASURE_EACH.format(specs=_items(measured, 6), code=_code("measure", 8))
        text += READINGS_EACH.format(code=_code("readings", 8))
        text += CHECK_EACH.format(code=_code("check", 8))
    if theory:
        text += THEORY_EACH.format(specs=_items(theory, 6), code=_code("theory", 8))
    return text + _report(context, (*measured, *theory), "    wdir: ..\n")


COMMANDS = {
    "train": ("run --stage train", "Train the target and shadow models"),
    "attack": ("run --stage attack", "Attack the models and gather the measurements"),
    "check": ("check", "Judge the claims on what was measured"),
    "theory": ("check", "Judge the claims that need no measurements"),
}
"""By stage of all specs: what is run, and what for."""


def _stage(name: str, specs: Sequence[str], deps: Iterable[str], outs: str) -> str:
    command, desc = COMMANDS[name]
    words = "".join(f"      {one}\n" for one in specs)  # on lines of their own, in a command that YAML folds into one
    code, given = _code(name, 6), _items(deps, 6)
    return STAGE.format(name=name, desc=desc, command=command, specs=words, resolved=given, code=code, outs=outs)


def _resolved_files(specs: Sequence[str], part: str) -> list[str]:
    return [f"models/${{profile}}/resolved/{one}/{part}.json" for one in specs]


def _verdicts(specs: Sequence[str]) -> list[str]:
    return [f"reports/${{profile}}/{one}/verdicts.json" for one in specs]


def _kinds(context: Context, specs: Sequence[Loaded]) -> tuple[list[str], list[str]]:
    """Ids of those that are measured, and of those about theory."""
    kept = [one for one in specs if not left_out(context, one)]
    return (
        [one.spec.id for one in kept if one.spec.experiment is not None],
        [one.spec.id for one in kept if one.spec.experiment is None],
    )


def _report(context: Context, ids: Sequence[str], wdir: str) -> str:
    """The last stage. It shows the documentation too, where there is any."""
    folders = [f"reports/${{profile}}/{paper}" for paper in dict.fromkeys(one.split("/")[0] for one in ids)]
    docs = ["docs"] if (context.project.root / "docs").is_dir() else []
    return REPORT.format(wdir=wdir, code=_code("report", 6), folders=_items([*docs, *folders], 6))


def _own_tables(context: Context, specs: Sequence[Loaded]) -> list[str]:
    """Paths of one's own tables."""
    return sorted({d.path for one in specs for d in datasets(one, context) if isinstance(d, CsvTable)})


def _is_fetched(dataset: object) -> bool:
    return isinstance(dataset, TableDataset) and not isinstance(dataset, CsvTable)


def _code(stage: str, indent: int) -> str:
    return _items(paths_of(STAGES[stage].modules()), indent)


def _items(items: Iterable[str], indent: int) -> str:
    return "".join(f"{' ' * indent}- {item}\n" for item in items)


def _uncached_outputs(paths: Iterable[str]) -> str:
    """Outputs that DVC hashes and does not keep."""
    return "".join(f"      - {path}:\n          cache: false\n" for path in paths)


def _plot(spec: str) -> str:
    path = f"reports/${{profile}}/{spec}/advantage.csv"
    axes = f"          x: epsilon\n          y: advantage\n          title: {spec} (${{profile}})\n"
    return f"      - {path}:\n          cache: false\n{axes}"
