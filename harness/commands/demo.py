"""`harness demo`: a claim is judged, its table changed, and judged again, on a copy."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.common import project_here
from harness.commands.tables import print_text
from harness.errors import HarnessError
from harness.paths import Project
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.claims.verdict import Verdict
    from harness.pipeline.context import Run

DEMO = "humphries2020/fig6"
DEMO_CLAIM = "logloss-cap-corrected"


def demo() -> None:
    """Show in ten seconds what is checked: judge a committed claim, then change one number, and see what catches it.

    Works on a copy in a temporary folder; nothing of the checkout changes. Needs no network and no TensorFlow.
    """
    from harness.spec.profile import load_params

    project = project_here()
    profile = load_params(project).flagship
    source = None if profile is None else project.reports / profile
    if profile is None or source is None or not (source / DEMO / "measurements.parquet").is_file():
        raise HarnessError(f"demo: needs the committed tables of {DEMO}; run it in a clone of the project")
    with tempfile.TemporaryDirectory() as folder:
        copy = Project(Path(folder))
        _copy(project, copy, profile)
        verdicts = _judge_copy(copy, profile)
        print_text(f"1. {DEMO}#{DEMO_CLAIM}, from its committed table of measurements:")
        _print_verdict(verdicts, copy, profile)
        print_text(f"   {_compare_copy(copy, profile, verdicts)}\n")
        print_text("2. The same with one measurement changed (an advantage of one run at ε = 5, lowered by 0.2):")
        _change_table(copy.reports / profile / DEMO / "measurements.parquet")
        print_text(f"   {_compare_copy(copy, profile)}\n")
        shutil.copy(source / DEMO / "measurements.parquet", copy.reports / profile / DEMO)
        print_text("3. The same with the claim changed (capped at 0.9 instead of 0.95):")
        spec = copy.specs / f"{DEMO}.yaml"
        text = spec.read_text(encoding="utf-8")
        text = text.replace("right: {value: 0.95}, margin: 0.005", "right: {value: 0.9}, margin: 0.005", 1)
        spec.write_text(text, encoding="utf-8")
        print_text(f"   {_compare_copy(copy, profile)}\n")
        print_text("Each verdict carries hashes of its spec and its table, and `harness compare` compares all of them.")


def _copy(project: Project, copy: Project, profile: str) -> None:
    readings = project.reports / profile / DEMO / "readings"
    if readings.is_dir():
        shutil.copytree(readings, copy.reports / profile / DEMO / "readings")
    (copy.reports / profile / DEMO).mkdir(parents=True, exist_ok=True)
    (copy.specs / DEMO).parent.mkdir(parents=True)
    shutil.copy(project.params, copy.params)
    for name in ("papers.yaml", "quotations.json", "declared.json"):
        if (project.specs / name).is_file():
            shutil.copy(project.specs / name, copy.specs)
    for path in (project.specs / DEMO).parent.glob("_*.yaml"):
        shutil.copy(path, copy.specs / DEMO.split("/")[0])
    shutil.copy(project.specs / f"{DEMO}.yaml", copy.specs / f"{DEMO}.yaml")
    shutil.copy(project.reports / profile / DEMO / "measurements.parquet", copy.reports / profile / DEMO)
    shutil.copy(project.reports / profile / "baseline.json", copy.reports / profile)


def _load_copy(copy: Project, profile: str) -> Run:
    from harness.pipeline.context import Context
    from harness.spec.load import load_specs
    from harness.spec.profile import load_params

    context = Context(copy, profile, load_params(copy).profiles[profile], 1, Progress(quiet=True))
    return context.resolve(load_specs(copy, [DEMO])[0])


def _judge_copy(copy: Project, profile: str) -> list[Verdict]:
    from harness.pipeline.judging import judge

    return judge(_load_copy(copy, profile))


def _print_verdict(verdicts: list[Verdict], copy: Project, profile: str) -> None:
    from harness.report.prose import sentence

    run = _load_copy(copy, profile)
    verdict = next(v for v in verdicts if v.id == f"{DEMO}#{DEMO_CLAIM}")
    print_text(f'   "{verdict.claim.statement}"')
    print_text(f"   {verdict.verdict.sign} {verdict.verdict}. {sentence(verdict, run.spec)}")


def _compare_copy(copy: Project, profile: str, judged: list[Verdict] | None = None) -> str:
    """What `compare` says of the copy, which is judged anew where `judged` does not say how it was."""
    from harness.verdicts import baseline

    run = _load_copy(copy, profile)
    accepted = baseline.read(run.context.page / "baseline.json")
    accepted = accepted.model_copy(update={"specs": {DEMO: accepted.specs[DEMO]}})
    judged = _judge_copy(copy, profile) if judged is None else judged
    now = baseline.gather(profile, [(run.declared, run.measurements_file, judged)])
    differences = [f"{d.where}: {d.what}" for d in baseline.compare(accepted, now)]
    return "compare: as accepted" if not differences else "compare: " + "\n            ".join(differences)


def _change_table(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from harness.execution.table import read_measurements

    table = pq.read_table(path)
    frame = read_measurements(path)
    rows = frame[(frame["metric"] == "advantage") & (frame["epsilon"] == 5.0) & (frame["attack"] == "logloss")]
    values = table.column("value").to_pandas().copy()
    values.loc[rows.index[0]] -= 0.2
    where = table.schema.get_field_index("value")
    pq.write_table(table.set_column(where, table.schema.field(where), pa.array(values)), path)
