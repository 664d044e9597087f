"""From a spec and its measurements to verdicts with their provenance."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pandas as pd

from harness.claims.design import Bounded, Design, design_of
from harness.claims.evidence import ArmFacts, Evidence, of_runs
from harness.claims.expectation import Expectation, MeasuredExpectation, TheoryExpectation
from harness.claims.judge import Finding, Part
from harness.claims.sequential import CEILING, SHARE, by_cell, cells_used, decided, first_verdict, wanted
from harness.claims.statistics import FEWEST, rarest
from harness.claims.verdict import Fidelity, Outcome, Verdict
from harness.errors import HarnessError
from harness.formulas import FORMULAS
from harness.hashing import code_fingerprint, fingerprint, own_modules
from harness.metrics import METRICS
from harness.places import Attacked, Cell, Place, place
from harness.spec.model import Claim, Spec
from harness.spec.profile import Scaled, as_run, stopped_early
from harness.verdicts.basis import Judged, on_its_basis, points_of, rests_on, together
from harness.verdicts.halves import halves, parts_text, repeats_of, seconds_a_model, would_decide

ALPHA = 0.05
PACKAGES = ("tensorflow", "tensorflow-privacy", "dp-accounting", "numpy", "scipy", "scikit-learn", "pandas")
CODE_OF = ("harness.claims", "harness.theory", "harness.auditing", "harness.formulas", "harness.privacy")
"""Packages whose modules decide a verdict, as far as its kind of claim and its formulas use them."""


class ClaimError(HarnessError):
    """A claim that cannot be judged as it is declared, by its place in the spec."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


@cache
def hardware() -> str:
    """Processor and operating system, as far as they are known."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{name}, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def installed(names: Iterable[str]) -> dict[str, str]:
    """Versions of packages, of those that are there: whoever only judges has no TensorFlow."""
    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def check_spec(
    scaled: Scaled, sha256: str, table: pd.DataFrame | None, why_not: str = "", alpha: float = ALPHA
) -> list[Verdict]:
    """Judge every claim of a spec. Without a table, claims that need measurements are *not run* (`why_not`)."""
    spec = scaled.spec
    evidence, judges = None, dict[str, Judge]()
    if table is not None and spec.experiment is not None:
        evidence = evidence_of(spec, table)
        if evidence.design.name == "fixed":
            scaled = as_run(scaled, evidence.repeats)
        elif still_open := repeats_wanted(scaled, table, alpha, evidence, judges):
            scaled = stopped_early(scaled, len(still_open))
    common: dict[str, object] = {
        "paper": spec.paper,
        "spec": spec.id,
        "profile": scaled.profile,
        "alpha": alpha,
        "spec_sha256": sha256,
        "packages": installed(PACKAGES),
    }
    if spec.experiment is not None:
        mlflow = f"experiment {spec.paper}, parent run {spec.id} ({scaled.profile})"
        common |= {"seed": spec.experiment.seed, **_origin(table), "mlflow": mlflow}
    spent: tuple[dict[Cell, int], float | None] = {}, None
    if table is not None and spec.experiment is not None:
        axes = spec.experiment.coordinates
        spent = repeats_of(table, axes), seconds_a_model(table, axes)
    verdicts = []
    for index, claim in enumerate(spec.claims):
        try:
            judged = judges.get(claim.id) or _judge(claim, spec, alpha)
            verdicts.append(_check_claim(claim, scaled, evidence, why_not, common, spent, judged))
        except HarnessError as error:
            raise ClaimError(index, f"claim {claim.id!r}: {error}") from None
    return verdicts


def evidence_of(spec: Spec, table: pd.DataFrame) -> Evidence:
    """A spec's measurements, with what claims need to know of its arms."""
    experiment = spec.experiment
    assert experiment is not None
    arms, places = {}, dict[str, dict[Place, dict[str, float]]]()
    for variant in experiment.variants() if experiment.axes else ():
        known = {"delta": variant.setup.privacy.delta, "prior": variant.setup.prior}
        places.setdefault(variant.arm, {})[place(variant.place)] = known
    for name, arm in experiment.arms.items():
        shuffled = arm.training.sampling == "shuffle" and arm.privacy.sampling != "shuffle"
        drawn = [arm.dataset.content(), arm.preprocessing.model_dump(mode="json"), arm.sizes.model_dump(mode="json")]
        arms[name] = ArmFacts(
            delta=arm.privacy.delta,
            prior=arm.prior,
            at=places.get(name, {}),
            shuffled_epochs=arm.training.epochs if shuffled else None,
            batch_clipped=arm.training.clipping == "batch",
            draws=fingerprint([*drawn, arm.split.content()]),
        )
    return Evidence(table, arms, design_of(table), spec.axes, experiment.coordinates)


def _origin(table: pd.DataFrame | None) -> dict[str, object]:
    """The data, the machine and the code that the measurements come from, as their file remembers them."""
    known = table.attrs if table is not None else {}
    commits = known.get("commits", {})
    return {
        "data_sha256": str(known.get("data_sha256", "")),
        "hardware": str(known.get("hardware", "")),
        "measured_by": tuple(f"code {code} (commit {commits[code][:12]})" for code in sorted(commits)),
    }


def _check_claim(
    claim: Claim,
    scaled: Scaled,
    evidence: Evidence | None,
    why_not: str,
    common: dict[str, object],
    spent: tuple[dict[Cell, int], float | None],
    judged: Judge,
) -> Verdict:
    repeats, seconds = spent
    parts = scaled.spec.parts(claim)
    every: Sequence[Expectation] = claim.theory or parts
    described: dict[str, object] = {
        "id": f"{scaled.spec.id}#{claim.id}",
        "catalogue": claim.catalogue,
        "where": claim.where,
        "kind": claim.kind,
        "statement": claim.statement,
        "inequality": tuple(e.text() for e in every),
        "note": claim.note,
        "code": _code(every),
    }
    if claim.theory:
        packages = installed(name for e in claim.theory for name in e.packages)
        return Verdict.model_validate({**common, **described, **_theory(claim.theory), "packages": packages})
    described |= {
        "definitions": _definitions(parts),
        "fidelity": _fidelity(scaled),
        "reductions": scaled.reductions,
        "deviations": scaled.deviations,
        "flags": _flags(scaled.spec, parts),
        "unstated": tuple(u.model_dump(mode="json") for u in scaled.spec.unstated),
    }
    if evidence is None:
        nothing = {"verdict": "not run", "reason": why_not, "test": "none", "correction": "none"}
        return Verdict.model_validate({**common, **described, **nothing})
    alpha = float(str(common["alpha"]))
    found = on_its_basis(judged, evidence, alpha)
    if evidence.design.name == "sequential":
        models, cells = cells_used(found.findings)
        assert scaled.spec.experiment is not None
        described |= {
            "design": "sequential",
            "stopped": found.looked,
            "models": models,
            "models_fixed": cells * scaled.spec.experiment.repeats,
        }
        if together([f.outcome for f in found.findings]) == "inconclusive":
            usual = scaled.spec.experiment.repeats
            described["would_decide"] = would_decide(found.findings, repeats, seconds, alpha, usual)
    halved = {"halves": halves(found, parts, alpha)}
    return Verdict.model_validate({**common, **described, **_training(found, evidence, alpha), **halved})


def _code(parts: Sequence[Expectation]) -> str:
    """Hash of the code that judges these: their kinds', and their formulas'."""
    modules = {type(part).__module__ for part in parts}
    for part in parts:
        for name in _formulas_of(part):
            modules.add(FORMULAS[name].function.__module__)
    theory = all(isinstance(part, TheoryExpectation) for part in parts)
    within = [package for package in CODE_OF if not (theory and package == "harness.claims")]
    found = {m for module in modules for m in own_modules(module, *within, module.rpartition(".")[0])}
    return code_fingerprint(*found)


def _formulas_of(part: Expectation) -> Iterable[str]:
    if isinstance(part, MeasuredExpectation):
        return [formula.formula for formula in part.formulas()]
    assert isinstance(part, TheoryExpectation)
    return [name for name in part.definitions() if name in FORMULAS]


def _definitions(parts: Sequence[MeasuredExpectation]) -> dict[str, str]:
    names = dict.fromkeys(formula.formula for part in parts for formula in part.formulas())
    return {name: f"{FORMULAS[name].text} [{FORMULAS[name].source}]" for name in names}


Judge = Callable[[Evidence], list[Finding]]


def _judge(claim: Claim, spec: Spec, alpha: float) -> Judge:
    """What judges a claim; it remembers what it found in the evidence of one table, by design and repeats."""
    parts = spec.parts(claim)
    known: dict[tuple[Design, int | None], list[Finding]] = {}

    def judged(evidence: Evidence) -> list[Finding]:
        key = (evidence.design, evidence.first)
        if key not in known:
            known[key] = _findings(parts, spec, alpha, evidence)
        return known[key]

    return judged


def _findings(parts: Sequence[MeasuredExpectation], spec: Spec, alpha: float, evidence: Evidence) -> list[Finding]:
    fewest = evidence.design.fewest
    found = []
    for index, part in enumerate(parts):
        finding = _left_out(part, spec, evidence) or part.judge(evidence, Part(index, len(parts), alpha / 2, fewest))
        attacks = dict.fromkeys(attack for operand in part.operands() for attack in operand.attack or ("",))
        found.append(replace(finding, attacks=tuple(attacks) or ("",)))
    return found


def repeats_wanted(
    scaled: Scaled,
    table: pd.DataFrame,
    alpha: float = ALPHA,
    evidence: Evidence | None = None,
    judges: dict[str, Judge] | None = None,
) -> dict[str, dict[Attacked, int]]:
    """By claim that is still open: the repeats that each cell and attack needs next; none of claims that need none.

    Repeats past the spec's are only asked for where no claim asks for any within it, and where all models together
    would stay within a share of the fixed design's. Once none asks for any, and where the profile asks for verdicts
    that are distribution-free, so do the decided claims that are not yet. Raises ClaimError for a claim that
    cannot be judged. `evidence` is the table's, where it is at hand; what judges of it is put into `judges`, by claim.
    """
    experiment = scaled.spec.experiment
    assert experiment is not None
    usual, axes = experiment.repeats, experiment.coordinates
    evidence = evidence or evidence_of(scaled.spec, table)
    judges = {} if judges is None else judges
    judges |= {claim.id: _judge(claim, scaled.spec, alpha) for claim in scaled.spec.claims if not claim.theory}
    found = _findings_of_all(scaled, evidence, judges)
    most = scaled.most
    within = {claim: wanted(findings, alpha, usual, reach=most) for claim, findings in found.items()}
    if any(within.values()):
        return {claim: needs for claim, needs in within.items() if needs}
    cells = experiment.models() / usual
    allowed = cells * max(SHARE * usual, 2 * FEWEST, SHARE * most if most > CEILING * usual else 0)
    past = {claim: wanted(findings, alpha, usual, most, whole=True) for claim, findings in found.items()}
    chosen: dict[str, dict[Attacked, int]] = {}
    for claim in sorted(past, key=lambda claim: _models_with(table, axes, [past[claim]])):
        reserved = [*(past[other] for other in chosen), past[claim]]
        if past[claim] and _models_with(table, axes, reserved) <= allowed:
            chosen[claim] = wanted(found[claim], alpha, usual, most)
    if chosen or scaled.basis != "distribution-free":
        return chosen
    settled = {claim for claim, findings in found.items() if decided(findings)}
    free = _findings_of_all(scaled, evidence, judges, Bounded())
    on = {claim: wanted(free[claim], alpha, usual, CEILING * usual, likely=True) for claim in settled}
    return {claim: needs for claim, needs in on.items() if needs}


def _models_with(table: pd.DataFrame, axes: Sequence[str], needs: list[dict[Attacked, int]]) -> int:
    """Trained models of the table once it has these repeats."""
    repeats = repeats_of(table, axes)
    for cell, target in (item for asked in needs for item in by_cell(asked).items()):
        repeats[cell] = max(repeats.get(cell, 0), target)
    return sum(repeats.values())


def _findings_of_all(
    scaled: Scaled, evidence: Evidence, judges: Mapping[str, Judge], design: Design | None = None
) -> dict[str, list[Finding]]:
    """By claim on measurements: the findings of the first look that decides it; those of all repeats with a
    `design`."""
    found = {}
    for index, claim in enumerate(scaled.spec.claims):
        if claim.theory:
            continue
        try:
            judged = judges[claim.id]
            findings = first_verdict(judged, evidence)[0] if design is None else judged(evidence.by(design))
        except HarnessError as error:
            raise ClaimError(index, f"claim {claim.id!r}: {error}") from None
        found[claim.id] = findings
    return found


def _left_out(part: MeasuredExpectation, spec: Spec, evidence: Evidence) -> Finding | None:
    """A part that speaks of something that the profile leaves out, or that is not measured yet, is not run."""
    operands = part.operands()
    metrics = {m for o in operands for m in (*o.metric, o.minus) if m is not None}
    attacks = {attack for o in operands for attack in o.attack}
    missing, not_yet = sorted(attacks - set(spec.attacks)), sorted(attacks - evidence.attacks)
    assert spec.experiment is not None
    relative = any(m in METRICS and METRICS[m].of == "baseline" for m in metrics)
    grids = [levels.get("epsilon", ()) for levels in map(spec.experiment.levels, part.arms())]
    why = None
    if missing:
        why = f"the profile leaves out the attack {', '.join(missing)}"
    elif not_yet:
        why = f"the attack {', '.join(not_yet)} is not measured yet"
    elif relative and any(math.inf not in grid for grid in grids):
        why = "the profile leaves out the model without noise, which accuracy loss is relative to"
    elif any(map(of_runs, metrics)) and spec.experiment.repeats < 2:
        why = "the profile runs one repeat, and members exposed in every run need two"
    return None if why is None else Finding("not run", why, (), None, "none", "none")


def _fidelity(scaled: Scaled) -> Fidelity:
    if scaled.substitution is not None:
        return "substituted"
    return "scaled" if scaled.reductions else "exact"


def _theory(parts: Sequence[TheoryExpectation]) -> dict[str, object]:
    findings = [e.judge() for e in parts]
    outcome = together([f.outcome for f in findings])
    deciding = [f for f in findings if f.outcome == outcome]
    shown = min(deciding, key=lambda f: f.worst)
    many = len(findings) > 1
    reasons = [f"part {findings.index(f) + 1} of {len(findings)}: {f.reason}" if many else f.reason for f in deciding]
    return {
        "definitions": {name: text for e in parts for name, text in e.definitions().items()},
        "verdict": outcome,
        "reason": "; ".join(reasons),
        "parts": [f.outcome for f in findings],
        "halves": parts_text([f.outcome for f in findings]),
        "fidelity": "exact",
        "effect": shown.worst if math.isfinite(shown.worst) else None,
        "counterexample": shown.counterexample,
        "test": "; ".join(dict.fromkeys(f.test for f in findings)),
        "correction": "none",
        "basis": "proof" if outcome in ("reproduced", "violated") else None,
    }


def _training(judged: Judged, evidence: Evidence, alpha: float) -> dict[str, object]:
    findings = judged.findings
    outcome = together([f.outcome for f in findings])
    shown = next(f for f in findings if f.outcome == outcome)
    if outcome == "reproduced":
        shown = max(findings, key=lambda f: f.deciding.p_support if f.deciding else 0.0)
    deciding = shown.deciding
    points = points_of(judged, alpha, evidence.design.name == "sequential")
    many = len(findings) > 1
    prefix = f"part {findings.index(shown) + 1} of {len(findings)}: " if many and outcome != "reproduced" else ""
    basis, repeats = rests_on(judged, outcome)
    found: dict[str, object] = {
        "verdict": outcome,
        "reason": prefix + shown.reason,
        "parts": [f.outcome for f in findings],
        "points": [p.model_dump() for p in points],
        "test": shown.test,
        "correction": shown.correction,
        "p_value": _p_value(findings, outcome),
        "basis": basis,
        "rarest": math.floor(rarest(repeats, alpha / 2)) if basis == "shape" else None,
        "e_value": judged.e_value,
    }
    if deciding is not None:
        found |= {
            "effect": deciding.effect,
            "interval": (deciding.low, deciding.high),
            "bound_value": deciding.bound,
            "repeats": min(p.repeats for p in points),
        }
        if shown.test == "exact count":
            found |= {"interval": None, "repeats": None}
    return found


def _p_value(findings: list[Finding], outcome: Outcome) -> float | None:
    """Two-sided p-value of a claim's verdict: the weakest part where all must hold, the clearest where one fails."""
    known = [f.p_value for f in findings if f.outcome == outcome and f.p_value is not None]
    if not known or outcome not in ("reproduced", "violated"):
        return None
    return max(known) if outcome == "reproduced" else min(known)


def _flags(spec: Spec, parts: Sequence[MeasuredExpectation]) -> tuple[str, ...]:
    """Where bound, accountant and training speak of different things."""
    if spec.experiment is None:
        return ()
    arms = spec.experiment.arms
    flags = []
    for name, arm in dict.fromkeys((f.formula, arm) for p in parts for f in p.formulas() for arm in p.arms()):
        bound, privacy = FORMULAS[name], arms[arm].privacy
        if bound.adjacency is not None and bound.adjacency != privacy.adjacency:
            flags.append(
                f"bound {name} is proved for {bound.adjacency} neighbours, epsilon is accounted for "
                f"{privacy.adjacency}: each point also gives the bound at (2 epsilon, (1 + e^epsilon) delta)"
            )
        if bound.pure_only and privacy.delta > 0:
            flags.append(f"bound {name} is proved for delta = 0, delta is {privacy.delta:g}")
    bounded = dict.fromkeys(arm for part in parts if part.formulas() for arm in part.arms())
    for accountant, assumed, trained in dict.fromkeys(
        (arms[arm].privacy.accountant, arms[arm].privacy.sampling, arms[arm].training.sampling) for arm in bounded
    ):
        if assumed != trained:
            more = "; each point also gives the epsilon and the bound as trained" if trained == "shuffle" else ""
            flags.append(
                f"the accountant {accountant} assumes {assumed} sampling, training uses {trained}: epsilons are "
                f"nominal{more}"
            )
    named = dict.fromkeys(arm for part in parts for arm in part.arms())
    clipped = [arm for arm in named if arms[arm].training.clipping == "batch"]
    if clipped:
        flags.append(
            f"{', '.join(clipped)}: the mean of a batch is clipped, which one record moves by up to twice the clipping "
            "norm; the accountants assume once: epsilons are nominal"
        )
    return tuple(dict.fromkeys(flags))
