"""`harness explain`, `status`, `demo`: what was found, in words, on a terminal."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import (
    COLOURS,
    STATES,
    AsJson,
    ProfileName,
    console,
    context_for,
    contexts,
    print_json,
    table_of,
)
from harness.errors import HarnessError
from harness.paths import Project

if TYPE_CHECKING:
    from harness.claims.verdict import Verdict
    from harness.pipeline import Context
    from harness.spec.load import Loaded

SHOWN = 12
"""Points of a claim that `explain` lists."""
ClaimName = Annotated[str, typer.Argument(metavar="SPEC#CLAIM", help="Such as `humphries2020/fig6#logloss-cap`.")]


def named(claim: str, profile: str | None) -> tuple[Context, Loaded, str]:
    """The spec of a claim, and the claim's own name. Raises HarnessError where it names none."""
    spec, mark, name = claim.partition("#")
    if not (spec and mark and name):
        raise HarnessError(f"{claim!r} names no claim; write SPEC#CLAIM, such as humphries2020/fig6#logloss-cap")
    found = [(context, one) for context, loaded in contexts([spec], profile, None, True) for one in loaded]
    if len(found) > 1:
        ids = ", ".join(one.spec.id for _, one in found)
        raise HarnessError(f"{claim!r}: {spec} has several specs; name one of: {ids}")
    return *found[0], name


def explain(claim: ClaimName, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Say what was found of a claim: the verdict in one sentence, how sure it is, its weakest points, what it rests on.

    Reads the verdict that `check` wrote; judges nothing.
    """
    from harness.claims.verdict import in_json
    from harness.pipeline import read_verdicts
    from harness.report.tex import untex
    from harness.report.words import (
        DATA,
        ORIGINS,
        SAID,
        SIGNS,
        certainty_words,
        deciding,
        how_sure,
        letters,
        sentence,
    )

    context, loaded, name = named(claim, profile)
    every = {v.id.partition("#")[2]: v for v in read_verdicts(context, loaded).verdicts}
    if name not in every:
        raise HarnessError(f"{loaded.spec.id}: no claim {name!r}; it has {', '.join(every) or 'none that is judged'}")
    verdict = every[name]
    spec = context.scaled(loaded).spec
    said, sure = sentence(verdict, spec), how_sure(verdict, deciding(verdict))
    if as_json:
        print_json({**in_json(verdict), "sentence": said, "how_sure": sure})
        return
    colour = COLOURS[verdict.verdict]
    word, sure_words = SAID.get(verdict.verdict, verdict.verdict), certainty_words(verdict)
    of = f"{verdict.paper}, {verdict.where}" + (f"; {sure_words}" if sure_words else "")
    console.print(f"[{colour}]{SIGNS[verdict.verdict]} {word}[/]  {of}")
    console.print(f"[bold]{letters(verdict.statement)}[/]", highlight=False)
    for quote in verdict.quotes:
        console.print(f'  "{untex(quote.text)}" ({quote.section})', highlight=False, markup=False)
    console.print(f"{ORIGINS[verdict.origin]}; on {DATA[verdict.data]}.\n", highlight=False)
    console.print(said + "\n", highlight=False)
    for text in (letters(text) for text in verdict.inequality):
        console.print(f"  {text}", highlight=False, markup=False)
    for title, lines in (("How sure", sure), ("What it rests on", _rests(verdict))):
        if lines:
            console.print(f"\n[bold]{title}[/]")
            for line in lines:
                console.print(f"- {line}", highlight=False, markup=False)
    _print_points(context, loaded, verdict)
    again = context.command("check", loaded)
    console.print(f"\n{again}   judges it again", highlight=False, markup=False, soft_wrap=True)


def _rests(verdict: Verdict) -> list[str]:
    reduced = [f"Smaller than in the paper: {'; '.join(verdict.smaller)}."] if verdict.smaller else []
    reduced += [f"Less than the spec declares: {'; '.join(verdict.reductions)}."] if verdict.reductions else []
    differs = [f"Differs from the paper: {text}" for text in verdict.deviations]
    read = [f"Read otherwise ({r.field} = {r.value}): {r.verdict}." for r in verdict.readings]
    return [*reduced, *verdict.flags, *differs, *read]


def _print_points(context: Context, loaded: Loaded, verdict: Verdict) -> None:
    from harness.report.forest import forests

    spec = context.scaled(loaded).spec
    claim = next(c for c in spec.claims if verdict.id == f"{spec.id}#{c.id}")
    weakest = sorted(verdict.points, key=lambda p: -p.p_support)[:SHOWN]
    kept = [p for p in verdict.points if p in weakest]
    drawn, _ = forests(kept, spec.parts(claim) if not claim.theory else (), spec, verdict.alpha)
    for forest in drawn:
        table = table_of("where", forest.axis, "95%", "line", "holds in")
        for row in forest.rows:
            state = f"[{STATES[row.state]}]{row.value}[/]"
            table.add_row(row.place, state, row.interval, row.needed, row.runs)
        console.print(f"\n[bold]{forest.of}[/]")
        console.print(table)
    if len(verdict.points) > SHOWN:
        console.print(f"The {SHOWN} weakest of {len(verdict.points)} points.")


def status(profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Say how things stand under a profile: verdicts by paper, what is open, what would decide it."""
    from harness.commands.common import load
    from harness.pipeline import has_verdicts, read_verdicts
    from harness.verdicts.counts import GROUPS, count

    context = context_for(profile, None, True)
    loaded = load(context.project, None)
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


DEMO = "humphries2020/fig6"
DEMO_CLAIM = "logloss-cap-corrected"


def demo() -> None:
    """Show in ten seconds what is checked: judge a committed claim, then change one number, and see what catches it.

    Works on a copy in a temporary folder; nothing of the checkout changes. Needs no network and no TensorFlow.
    """
    from harness.commands.common import project_here
    from harness.spec.profile import load_params

    project = project_here()
    profile = load_params(project).flagship
    source = None if profile is None else project.reports / profile
    if profile is None or source is None or not (source / DEMO / "measurements.parquet").is_file():
        raise HarnessError(f"demo: needs the committed tables of {DEMO}; run it in a clone of the project")
    with tempfile.TemporaryDirectory() as folder:
        copy = Project(Path(folder))
        _copy(project, copy, profile)
        found = _judged(copy, profile)
        print(f"1. {DEMO}#{DEMO_CLAIM}, from its committed table of measurements:")
        _say(found, copy, profile)
        print(f"   {_compared(copy, profile)}\n")
        print("2. The same with one measurement changed (an advantage of one run at ε = 5, lowered by 0.2):")
        _change_table(copy.reports / profile / DEMO / "measurements.parquet")
        print(f"   {_compared(copy, profile)}\n")
        shutil.copy(source / DEMO / "measurements.parquet", copy.reports / profile / DEMO)
        print("3. The same with the claim changed (capped at 0.9 instead of 0.95):")
        spec = copy.specs / f"{DEMO}.yaml"
        text = spec.read_text(encoding="utf-8")
        text = text.replace("right: {value: 0.95}, margin: 0.005", "right: {value: 0.9}, margin: 0.005", 1)
        spec.write_text(text, encoding="utf-8")
        print(f"   {_compared(copy, profile)}\n")
        print("Each verdict carries hashes of its spec and its table, and `harness verify` compares all of them.")


def _copy(project: Project, copy: Project, profile: str) -> None:
    readings = project.reports / profile / DEMO / "readings"
    if readings.is_dir():
        shutil.copytree(readings, copy.reports / profile / DEMO / "readings")
    (copy.reports / profile / DEMO).mkdir(parents=True, exist_ok=True)
    (copy.specs / DEMO).parent.mkdir(parents=True)
    shutil.copy(project.params, copy.params)
    shutil.copy(project.specs / "papers.yaml", copy.specs)
    for path in (project.specs / DEMO).parent.glob("_*.yaml"):
        shutil.copy(path, copy.specs / DEMO.split("/")[0])
    shutil.copy(project.specs / f"{DEMO}.yaml", copy.specs / f"{DEMO}.yaml")
    shutil.copy(project.reports / profile / DEMO / "measurements.parquet", copy.reports / profile / DEMO)
    shutil.copy(project.reports / profile / "baseline.json", copy.reports / profile)


def _at(copy: Project, profile: str) -> tuple[Context, Loaded]:
    from harness.pipeline import Context
    from harness.progress import Progress
    from harness.spec.load import load_specs
    from harness.spec.profile import load_params

    context = Context(copy, profile, load_params(copy).profiles[profile], 1, Progress(quiet=True))
    return context, load_specs(copy, [DEMO])[0]


def _judged(copy: Project, profile: str) -> list[Verdict]:
    from harness.pipeline import judge

    return judge(*_at(copy, profile))


def _say(verdicts: list[Verdict], copy: Project, profile: str) -> None:
    from harness.report.words import SIGNS, sentence

    context, loaded = _at(copy, profile)
    verdict = next(v for v in verdicts if v.id == f"{DEMO}#{DEMO_CLAIM}")
    print(f'   "{verdict.statement}"')
    print(f"   {SIGNS[verdict.verdict]} {verdict.verdict}. {sentence(verdict, context.scaled(loaded).spec)}")


def _compared(copy: Project, profile: str) -> str:
    """What `verify` says of the copy."""
    from harness.verdicts import baseline

    context, loaded = _at(copy, profile)
    accepted = baseline.read(context.page / "baseline.json")
    accepted = accepted.model_copy(update={"specs": {DEMO: accepted.specs[DEMO]}})
    judged = _judged(copy, profile)
    now = baseline.gather(profile, [(DEMO, loaded.sha256, context.measurements_file(DEMO), judged)])
    found = [f"{d.where}: {d.what}" for d in baseline.compare(accepted, now)]
    return "verify: as accepted" if not found else "verify: " + "\n           ".join(found)


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
