"""The stage that judges: from a spec's table of measurements to its verdicts. Starts without TensorFlow."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from pydantic import ValidationError

from harness.bounds import read_text
from harness.claims.verdict import Controls, Verdict, VerdictFile, dump
from harness.errors import HarnessError, first_fault
from harness.execution.table import read_table
from harness.files import sha256_file, write_text
from harness.pipeline.context import Context, Run
from harness.pipeline.parallel import Task, compute_side_by_side
from harness.pipeline.sources import experiment_digest, source_of_run
from harness.spec.document import locate
from harness.spec.profile import load_params
from harness.spec.readings import Reading, readings
from harness.verdicts.check import judge_spec
from harness.verdicts.evidence import Evidence
from harness.verdicts.groups import independent_claims
from harness.verdicts.judge import CLAIMS, judge_claims
from harness.verdicts.measured import ClaimError
from harness.verdicts.publish import is_about_counts, reading_matters
from harness.verdicts.severity import known_controls

BYTES_A_PROOF = 20_000
"""Size of a table of measurements whose claims take about as long to judge as one proof."""


def judge_all(context: Context, runs: Sequence[Run]) -> list[list[Verdict]]:
    """Judge each spec by `judge`, on several cores. Groups of claims that share no table are judged side by side."""
    pieces = [
        Task(judge, (one, some), one.id, _judging_cost(one, some))
        for one in runs
        for some in independent_claims(one.declared.spec)
    ]
    by_spec: dict[str, list[Verdict]] = {one.id: [] for one in runs}
    for piece, verdicts in zip(pieces, compute_side_by_side(pieces, context, "judging"), strict=True):
        by_spec[piece.name] += verdicts
    places = {f"{one.id}#{claim.id}": n for one in runs for n, claim in enumerate(one.spec.claims)}
    return [sorted(by_spec[one.id], key=lambda v: places[v.id]) for one in runs]


def _judging_cost(run: Run, claims: Collection[str]) -> float:
    """Estimated time to judge some claims of a spec, in units of one proof: all claims on measurements take as long as
    there are measurements."""
    proofs = sum(len(claim.theory) for claim in run.spec.claims if claim.id in claims)
    path = run.measurements_file
    return proofs + (path.stat().st_size / BYTES_A_PROOF if path.is_file() else 0.0)


def judge(run: Run, claims: Collection[str] | None = None) -> list[Verdict]:
    """Judge all claims of a spec, or some, and publish their verdicts.

    Reads the measurements of the spec and of those of its readings that were run; a verdict follows from all of them.
    """
    own = _read_evidence(run)
    others = [(reading, partial(_read_reading, variant)) for reading, variant in other_readings(run)]
    with locate_claim_faults(run):
        return judge_claims(own, others, claims, _controls_before(run))


def _controls_before(run: Run) -> dict[str, Controls]:
    """What controls said of the claims when their verdicts were last written; nothing where these cannot be read."""
    with contextlib.suppress(HarnessError):
        return known_controls(read_verdicts(run).verdicts)
    return {}


def _read_evidence(run: Run) -> Evidence:
    """What the claims of a spec, or of a reading of it, are judged on."""
    source = source_of_run(run)
    table, why_not = source.read(run)
    digest = "" if table is None else sha256_file(source.file(run))
    return Evidence(run.scaled, run.declared.spec, run.declared.sha256, table, why_not, digest)


def _read_reading(variant: Run, claims: Collection[str]) -> tuple[Evidence, Collection[str]] | None:
    """What `claims` are judged on in a reading, and which of them; None where the reading was not run.

    A reading that this profile did not run is judged from the tables of the profile that `readings_of` names.
    """
    if not variant.measurements_file.is_file():
        elsewhere = _context_of_readings(variant.context)
        if elsewhere is None:
            return None
        variant = elsewhere.resolve(variant.declared)
        if not variant.measurements_file.is_file():
            return None
    return _read_evidence(variant), claims


def _context_of_readings(context: Context) -> Context | None:
    """The context of the profile whose tables of other readings count; None where there is none."""
    name = context.profile.readings_of
    if name is None:
        return None
    profile, options = load_params(context.project).profiles[name], replace(context.options, max_repeats=None)
    return replace(context, profile_name=name, profile=profile, options=options)


def other_readings(run: Run) -> list[tuple[Reading, Run]]:
    """The readings of a spec whose experiment or attacks, under the profile, are not those of the spec itself."""
    own = experiment_digest(run.scaled)
    variants = [(r, run.of_reading(r)) for r in readings(run.declared.spec, run.declared.raw)]
    if (claims := run.declared.claims) is not None:
        variants = [(r, v.for_claims(claims)) for r, v in variants]
    return [(r, v) for r, v in variants if experiment_digest(v.scaled) != own]


def readings_needed(run: Run) -> list[tuple[Reading, Run]]:
    """The readings that have to be run before a claim that is violated as declared may be called so.

    Readings that were not run come first, since one that says otherwise is enough to leave a claim open. Each is
    restricted to the claims that need it and those that it was run for before; a reading that was run for all claims
    stays unrestricted.
    """
    spec = run.spec
    own = _read_evidence(run)
    with locate_claim_faults(run):
        as_declared = judge_spec(own.scaled, own.spec_sha256, own.table, own.why_not)
    violated = {v.id.split("#")[1] for v in as_declared if v.verdict == "violated"}
    waiting = {claim.id: spec.parts(claim) for claim in spec.claims if claim.id in violated and not claim.theory}
    needed = []
    for reading, variant in other_readings(run):
        ids = {
            name
            for name, parts in waiting.items()
            if reading_matters(reading, parts, spec) and not is_about_counts(parts)
        }
        if ids:
            path = variant.measurements_file
            before = read_table(path).attrs.get(CLAIMS) if path.is_file() else ()
            restricted = variant if before is None else variant.for_claims({*ids, *before})
            needed.append((reading, restricted))
    return sorted(needed, key=lambda one: one[1].measurements_file.is_file())


def index_readings(run: Run) -> None:
    """Write `readings/index.json`: every reading of a spec with its folder and the claims that it was run for.

    The claims are "all", a list, or null where the reading was not run. The file is the output of the stage that runs
    readings, also where it has none to run.
    """
    rows = []
    for reading, variant in other_readings(run):
        path = variant.measurements_file
        claims = read_table(path).attrs.get(CLAIMS, "all") if path.is_file() else None
        rows.append({"reading": reading.text, "folder": path.parent.name, "claims": claims})
    text = json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(run.folder / "readings" / "index.json", text + "\n")


@contextlib.contextmanager
def locate_claim_faults(run: Run) -> Iterator[None]:
    """Context manager: turn a ClaimError into a HarnessError with file, line and field of the claim."""
    try:
        yield
    except ClaimError as error:
        keys = ("claims", error.index, "expect")
        where = f"{locate(run.declared.document, keys)}: claims.{error.index}.expect"
        raise HarnessError(f"{where}: {error}") from None


def write_verdicts(run: Run) -> list[Verdict]:
    """Judge a spec's claims and write its verdicts."""
    return write_all_verdicts(run.context, [run])[0]


def write_all_verdicts(context: Context, runs: Sequence[Run]) -> list[list[Verdict]]:
    """Judge the claims of each spec and write its verdicts, on as many cores as there are."""
    judged = judge_all(context, runs)
    for one, verdicts in zip(runs, judged, strict=True):
        source_of_run(one).write_table(one)
        _write_file(one, verdicts)
    return judged


def _write_file(run: Run, verdicts: list[Verdict]) -> None:
    file = VerdictFile(profile=run.context.profile_name, alpha=run.spec.level, verdicts=tuple(verdicts))
    write_text(run.verdicts_file, dump(file))


def has_verdicts(run: Run) -> bool:
    """Whether a spec was judged under the profile."""
    return run.verdicts_file.is_file()


def read_verdicts(run: Run) -> VerdictFile:
    """Read the verdicts on a spec's claims, without those on claims that the spec no longer has.

    Raises HarnessError where the file is missing or malformed.
    """
    path = run.verdicts_file
    declared = {f"{run.id}#{claim.id}" for claim in run.spec.claims}
    try:
        file = VerdictFile.model_validate_json(read_text(path))
        kept = tuple(v for v in file.verdicts if v.id in declared)
        return file.model_copy(update={"verdicts": kept})
    except FileNotFoundError:
        raise HarnessError(f"{path}: no verdicts; run `{run.command('judge')}` first") from None
    except ValidationError as error:
        again = run.command("judge")
        raise HarnessError(f"{path}: not a verdict file: {first_fault(error)}; `{again}` writes it anew") from None
    except (ValueError, OSError) as error:
        raise HarnessError(f"{path}: not a verdict file: {error}; delete it") from None


def read_verdict(run: Run, claim: str) -> Verdict:
    """The verdict on a claim, named as in its spec. Raises HarnessError where there is none."""
    every = {v.id.partition("#")[2]: v for v in read_verdicts(run).verdicts}
    if claim not in every:
        profile = run.context.profile_name
        whose = "it has" if run.declared.claims is None else f"of those that {profile!r} decides it has"
        raise HarnessError(f"{run.id}: no claim {claim!r}; {whose} {', '.join(every) or 'none that is judged'}")
    return every[claim]
