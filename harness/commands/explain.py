"""`harness explain`: what was found of a claim, in words, on a terminal."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.common import (
    STATES,
    AsJson,
    ProfileName,
    print_json,
    resolve_specs,
    runs_on_page,
)
from harness.commands.tables import Cell, print_table, print_text
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.claims.verdict import Verdict
    from harness.pipeline.context import Context, Run
    from harness.report.claim_record import ClaimRecord
    from harness.spec.model import Spec

SHOWN = 12
"""Points of a claim that `explain` lists."""
ClaimName = Annotated[str, typer.Argument(metavar="SPEC#CLAIM", help="Such as `humphries2020/fig6#logloss-cap`.")]


def find_claim(claim: str, profile: str | None) -> tuple[Run, str]:
    """The spec of a claim, and the claim's own name. Raises HarnessError where it names none."""
    spec, mark, name = claim.partition("#")
    if not (spec and mark and name):
        raise HarnessError(f"{claim!r} names no claim; write SPEC#CLAIM, such as humphries2020/fig6#logloss-cap")
    matches = [one for _, runs in resolve_specs([spec], profile, None, True) for one in runs]
    if len(matches) > 1:
        ids = ", ".join(one.id for one in matches)
        raise HarnessError(f"{claim!r}: {spec} has several specs; name one of: {ids}")
    return matches[0], name


def verdicts_of_page(run: Run) -> tuple[list[Verdict], dict[str, Spec]]:
    """Every verdict on the page that a spec is part of, corrected for one another as on that page, and their specs."""
    from harness.pipeline.judging import has_verdicts, read_verdicts
    from harness.verdicts.multiplicity import correct_for_all_claims

    judged = [one for one in runs_on_page(run.context, [run]) if has_verdicts(one)]
    verdicts = correct_for_all_claims([v for one in judged for v in read_verdicts(one).verdicts])
    return list(verdicts), {one.id: one.spec for one in judged}


def other_verdict(context: Context, claim: str) -> tuple[str, str] | None:
    """The flagship's name and its verdict on a claim; None where this is the flagship, or it has none."""
    from harness.report.build import flagship_verdicts

    name, verdicts = flagship_verdicts(context, [claim])
    return (name, verdicts[claim].verdict) if name and claim in verdicts else None


def explain(claim: ClaimName, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Say what was found of a claim: the verdict in one sentence, how sure it is, its weakest points, what it rests on.

    Reads the verdict that `judge` wrote; judges nothing.
    """
    from harness.claims.verdict import in_json
    from harness.pipeline.judging import read_verdict
    from harness.report.claim_record import claim_records

    run, name = find_claim(claim, profile)
    read_verdict(run, name)  # says what is missing
    verdicts, specs = verdicts_of_page(run)
    verdict = next(v for v in verdicts if v.id == f"{run.id}#{name}")
    record = claim_records(verdicts, specs)[verdict.id]
    if as_json:
        certainty_texts = _certainty_texts(verdict)
        print_json(
            {**in_json(verdict), **dataclasses.asdict(record), "sentence": record.finding, "how_sure": certainty_texts}
        )
        return
    other = other_verdict(run.context, verdict.id)
    decides = "" if other is None else f"; the deciding run (-p {other[0]}) says: {other[1]}"
    print_text(f"profile {run.context.profile_name}{decides}")
    again = run.command("judge")
    if _says_otherwise(verdict, run.spec):
        print_text(f"The claim's inequality has changed since this verdict; {again} judges it as it is now.", "bold")
    print_explanation(verdict, record, specs[run.id])
    print_text(f"\n{again}   judges it again")


def _says_otherwise(verdict: Verdict, spec: Spec) -> bool:
    """Whether a claim says something else by now than what its verdict is on."""
    from harness.verdicts.check import trees_of

    claim = next((one for one in spec.claims if f"{spec.id}#{one.id}" == verdict.id), None)
    return claim is not None and tuple(tree.text() for tree in trees_of(claim, spec)) != verdict.claim.inequality


def print_explanation(verdict: Verdict, record: ClaimRecord, spec: Spec) -> None:
    """Print what is said of one claim of `spec`, from its verdict and its record."""
    from harness.report.tex import untex
    from harness.report.vocabulary import letter

    of = f"{verdict.paper}, {verdict.claim.where}" + (
        f"; {record.certainty_with_runs}" if record.certainty_with_runs else ""
    )
    print_text(f"{record.sign} {record.verdict}", verdict.verdict.colour, f"  {of}")
    print_text(record.heading, "bold")
    for quote in verdict.claim.quotes:
        print_text(f'  "{untex(quote.text)}" ({quote.section})')
    print_text(f"{record.whose}; on {record.data}.\n")
    print_text(record.finding + "\n")
    if record.would_decide:
        print_text(f"To decide it: {record.would_decide}.\n")
    for tree in verdict.claim.expressions:
        print_text(f"  {tree.text(letter)}")
    certainty_texts = _certainty_texts(verdict)
    for title, lines in (("How sure", certainty_texts), ("What it rests on", _assumptions(verdict))):
        if lines:
            print_text(f"\n{title}", "bold")
            for line in lines:
                print_text(f"- {line}")
    _print_points(verdict, spec)


def _certainty_texts(verdict: Verdict) -> list[str]:
    """How sure a verdict is, and how severe a test it was put to, in sentences."""
    from harness.report.certainty import certainty_sentences, severity_sentence
    from harness.report.prose import deciding_point

    severity = severity_sentence(verdict)
    return [*certainty_sentences(verdict, deciding_point(verdict)), *([severity] if severity else [])]


def _assumptions(verdict: Verdict) -> list[str]:
    from harness.report.contents import NO_PAPERS

    reduced = [f"Smaller than in the paper: {'; '.join(verdict.rests_on.smaller)}."] if verdict.rests_on.smaller else []
    reduced += (
        [f"Less than the spec declares: {'; '.join(verdict.rests_on.reductions)}."]
        if verdict.rests_on.reductions
        else []
    )
    start = "" if verdict.paper in NO_PAPERS else "Differs from the paper: "
    differs = [f"{start}{text}" for text in verdict.rests_on.deviations]
    read = [f"Read otherwise ({r.field} = {r.value}): {r.verdict}." for r in verdict.rests_on.readings]
    return [*reduced, *verdict.rests_on.flags, *differs, *read]


def _print_points(verdict: Verdict, spec: Spec) -> None:
    from harness.report.forest import forests, intervals_by, points_by_basis

    claim = next(c for c in spec.claims if verdict.id == f"{spec.id}#{c.id}")
    points = points_by_basis(verdict)
    weakest = sorted(points, key=lambda p: -p.p_support)[:SHOWN]
    kept = [p for p in points if p in weakest]
    drawn, _ = forests(kept, spec.parts(claim) if not claim.theory else (), spec, verdict.numbers.alpha)
    for forest in drawn:
        print_text(f"\n{forest.of}" if forest.of else "", "bold")
        print_table(
            ("where", forest.axis, "95%", "line", "holds in"),
            [(r.place, Cell(r.value, STATES[r.state]), r.interval, r.needed, r.runs) for r in forest.rows],
        )
    if drawn:
        print_text(f"95% intervals {intervals_by(verdict)}.")
    if len(verdict.numbers.points) > SHOWN:
        print_text(f"The {SHOWN} weakest of {len(verdict.numbers.points)} points.")
