"""From a spec and its measurements to verdicts with their provenance."""

from __future__ import annotations

import math
import platform
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from harness.bounds import BOUNDS
from harness.claims.design import design_of
from harness.claims.evidence import Evidence
from harness.claims.expectation import Expectation, bounds_named, measured_operands
from harness.claims.judge import Cell, Finding, judge
from harness.claims.sequential import CEILING, SHARE, cells_used, first_verdict, wanted
from harness.claims.verdict import Fidelity, Outcome, Verdict
from harness.errors import HarnessError
from harness.hashing import code_fingerprint, fingerprint
from harness.metrics.exposure import EXPOSURE_METRICS
from harness.metrics.model import RELATIVE_METRICS
from harness.spec.model import Claim, Spec
from harness.spec.profile import Scaled, as_run, stopped_early
from harness.theory.checks import TheoryExpectation

ALPHA = 0.05
PACKAGES = ("tensorflow", "tensorflow-privacy", "dp-accounting", "numpy", "scipy", "scikit-learn", "pandas")
THEORY_PACKAGES = ("python-flint", "scipy", "numpy", "dp-accounting")
JUDGES = (
    "harness.claims.judge", "harness.claims.evidence", "harness.claims.statistics", "harness.claims.expectation",
    "harness.claims.design", "harness.claims.anytime", "harness.claims.sequential", "harness.bounds.advantage",
    "harness.privacy.gaussian",
)  # fmt: skip
THEORY_JUDGES = (
    "harness.theory.checks", "harness.theory.prove", "harness.theory.ball", "harness.theory.term",
    "harness.theory.identity", "harness.theory.quantity", "harness.theory.simulations", "harness.bounds.advantage",
    "harness.theory.quantities.advantage", "harness.theory.quantities.composition", "harness.theory.quantities.games",
    "harness.theory.quantities.gaussian", "harness.theory.quantities.gradients", "harness.theory.quantities.optima",
    "harness.theory.quantities.positive_accuracy", "harness.theory.quantities.randomized_response",
    "harness.privacy.accounting", "harness.privacy.gaussian", "harness.privacy.accountants.accountant",
    "harness.privacy.accountants.exact",
)  # fmt: skip


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


def check_spec(
    scaled: Scaled, sha256: str, table: pd.DataFrame | None, why_not: str = "",
    alpha: float = ALPHA,
) -> list[Verdict]:  # fmt: skip
    """Judge every claim of a spec. Without a table, claims that need measurements are *not run* (`why_not`)."""
    spec = scaled.spec
    evidence = None
    if table is not None and spec.experiment is not None:
        evidence = _evidence(spec, table)
        if evidence.design.name == "fixed":
            scaled = as_run(scaled, evidence.repeats)
        elif still_open := repeats_wanted(scaled, table, alpha):
            scaled = stopped_early(scaled, len(still_open))
    common: dict[str, object] = {
        "paper": spec.paper, "spec": spec.id, "profile": scaled.profile, "alpha": alpha, "spec_sha256": sha256,
        "packages": {name: version(name) for name in PACKAGES},
    }  # fmt: skip
    if spec.experiment is not None:
        common |= {
            "seed": spec.experiment.seed, **_origin(table),
            "mlflow": f"experiment {spec.paper}, parent run {spec.id} ({scaled.profile})",
        }  # fmt: skip
    verdicts = []
    for index, claim in enumerate(spec.claims):
        try:
            verdicts.append(_check_claim(claim, scaled, evidence, why_not, common))
        except HarnessError as error:
            raise ClaimError(index, f"claim {claim.id!r}: {error}") from None
    return verdicts


def _evidence(spec: Spec, table: pd.DataFrame) -> Evidence:
    assert spec.experiment is not None
    experiment = spec.experiment
    shuffled = {
        arm: experiment.training.epochs
        for arm in experiment.arms
        if experiment.training.sampling == "shuffle" and experiment.accounting_of(arm)[1] != "shuffle"
    }
    draws = {name: fingerprint(arm.split.content()) for name, arm in experiment.arms.items()}
    return Evidence(table, experiment.privacy.delta, design_of(table), shuffled, draws, frozenset(_batch_clipped(spec)))


def _batch_clipped(spec: Spec) -> list[str]:
    experiment = spec.experiment
    assert experiment is not None
    return [arm for arm in experiment.arms if experiment.training_of(arm).clipping == "batch"]


def _origin(table: pd.DataFrame | None) -> dict[str, str]:
    """The data and the machine that the measurements come from, as their file remembers them."""
    known = table.attrs if table is not None else {}
    return {"data_sha256": str(known.get("data_sha256", "")), "hardware": str(known.get("hardware", ""))}


def _check_claim(
    claim: Claim, scaled: Scaled, evidence: Evidence | None, why_not: str, common: dict[str, object]
) -> Verdict:
    described: dict[str, object] = {
        "id": f"{scaled.spec.id}#{claim.id}", "catalogue": claim.catalogue, "where": claim.where, "kind": claim.kind,
        "statement": claim.statement, "inequality": tuple(e.text() for e in claim.expectations), "note": claim.note,
    }  # fmt: skip
    theory = [e for e in claim.expectations if isinstance(e, TheoryExpectation)]
    if theory:
        return Verdict.model_validate({
            **common, **described, **_theory(theory), "code": code_fingerprint(*THEORY_JUDGES),
            "packages": {name: version(name) for name in THEORY_PACKAGES},
        })  # fmt: skip
    described["code"] = code_fingerprint(*JUDGES)
    described |= {
        "fidelity": _fidelity(scaled), "reductions": scaled.reductions, "deviations": scaled.deviations,
        "flags": _flags(scaled.spec, claim),
        "unstated": tuple(u.model_dump(mode="json") for u in scaled.spec.unstated),
    }  # fmt: skip
    if evidence is None:
        nothing = {"verdict": "not run", "reason": why_not, "test": "none", "correction": "none"}
        return Verdict.model_validate({**common, **described, **nothing})
    alpha = float(str(common["alpha"]))
    judged = partial(_findings, claim, scaled.spec, alpha)
    if evidence.design.name == "fixed":
        return Verdict.model_validate({**common, **described, **_training(judged(evidence))})
    findings, stopped = first_verdict(judged, evidence)
    models, cells = cells_used(findings)
    assert scaled.spec.experiment is not None
    stop = {
        "design": "sequential", "stopped": stopped, "models": models,
        "models_fixed": cells * scaled.spec.experiment.repeats,
    }  # fmt: skip
    return Verdict.model_validate({**common, **described, **_training(findings), **stop})


def _findings(claim: Claim, spec: Spec, alpha: float, evidence: Evidence) -> list[Finding]:
    parts = claim.expectations
    return [
        _left_out(e, spec) or judge(e, evidence, alpha, i, len(parts))  # type: ignore[arg-type]
        for i, e in enumerate(parts)
    ]


def repeats_wanted(scaled: Scaled, table: pd.DataFrame, alpha: float = ALPHA) -> dict[str, dict[Cell, int]]:
    """By claim that is still open: the repeats that each cell needs next. Claims that need none are left out.

    Repeats past the spec's are only asked for where no claim asks for any within it, and where all models together
    would stay within a share of the fixed design's. Raises ClaimError for a claim that cannot be judged.
    """
    experiment = scaled.spec.experiment
    assert experiment is not None
    usual = experiment.repeats
    found = _findings_of_all(scaled, table, alpha)
    within = {claim: wanted(findings, alpha, usual) for claim, findings in found.items()}
    if any(within.values()):
        return {claim: needs for claim, needs in within.items() if needs}
    allowed = SHARE * usual * len(experiment.arms) * len(experiment.privacy.epsilons)
    past = {claim: wanted(findings, alpha, usual, CEILING * usual, whole=True) for claim, findings in found.items()}
    chosen: dict[str, dict[Cell, int]] = {}
    for claim in sorted(past, key=lambda claim: _models_with(table, [past[claim]])):
        reserved = [*(past[other] for other in chosen), past[claim]]
        if past[claim] and _models_with(table, reserved) <= allowed:
            chosen[claim] = wanted(found[claim], alpha, usual, CEILING * usual)
    return chosen


def _models_with(table: pd.DataFrame, needs: list[dict[Cell, int]]) -> int:
    """Trained models of the table once it has these repeats."""
    counts = table.groupby(["arm", "epsilon"])["repeat"].nunique()
    repeats: dict[Cell, int] = dict(zip(counts.index, counts, strict=True))
    for cell, target in (item for cells in needs for item in cells.items()):
        repeats[cell] = max(repeats.get(cell, 0), target)
    return sum(repeats.values())


def _findings_of_all(scaled: Scaled, table: pd.DataFrame, alpha: float) -> dict[str, list[Finding]]:
    evidence = _evidence(scaled.spec, table)
    found = {}
    for index, claim in enumerate(scaled.spec.claims):
        if any(isinstance(e, TheoryExpectation) for e in claim.expectations):
            continue
        try:
            findings, _ = first_verdict(partial(_findings, claim, scaled.spec, alpha), evidence)
        except HarnessError as error:
            raise ClaimError(index, f"claim {claim.id!r}: {error}") from None
        found[claim.id] = findings
    return found


def _left_out(part: Expectation, spec: Spec) -> Finding | None:
    """A part that speaks of an attack that the profile leaves out is not run."""
    operands = measured_operands(part)
    metrics = {m for o in operands for m in (o.metric, o.minus) if m is not None}
    missing = sorted({o.attack for o in operands if o.attack is not None} - set(spec.attacks))
    assert spec.experiment is not None
    why = None
    if missing:
        why = f"the profile leaves out the attack {', '.join(missing)}"
    elif metrics & set(RELATIVE_METRICS) and math.inf not in spec.experiment.privacy.epsilons:
        why = "the profile leaves out the model without noise, which accuracy loss is relative to"
    elif metrics & set(EXPOSURE_METRICS) and spec.experiment.repeats < 2:
        why = "the profile runs one repeat, and members exposed in every run need two"
    return None if why is None else Finding("not run", why, (), None, "none", "none")


def _fidelity(scaled: Scaled) -> Fidelity:
    if scaled.substitution is not None:
        return "substituted"
    return "scaled" if scaled.reductions else "exact"


def together(outcomes: list[Outcome]) -> Outcome:
    """Outcome of a claim all of whose parts must hold."""
    order: tuple[Outcome, ...] = ("violated", "not run", "inconclusive")
    return next((o for o in order if o in outcomes), "reproduced")


def _theory(parts: list[TheoryExpectation]) -> dict[str, object]:
    findings = [e.judge() for e in parts]
    outcome = together([f.outcome for f in findings])
    deciding = [f for f in findings if f.outcome == outcome]
    shown = min(deciding, key=lambda f: f.worst)
    many = len(findings) > 1
    reasons = [f"part {findings.index(f) + 1} of {len(findings)}: {f.reason}" if many else f.reason for f in deciding]
    return {
        "definitions": {name: text for e in parts for name, text in e.definitions().items()},
        "verdict": outcome, "reason": "; ".join(reasons), "parts": [f.outcome for f in findings],
        "fidelity": "exact", "effect": shown.worst if math.isfinite(shown.worst) else None,
        "counterexample": shown.counterexample, "test": "; ".join(dict.fromkeys(f.test for f in findings)),
        "correction": "none",
    }  # fmt: skip


def _training(findings: list[Finding]) -> dict[str, object]:
    outcome = together([f.outcome for f in findings])
    shown = next(f for f in findings if f.outcome == outcome)
    if outcome == "reproduced":
        shown = max(findings, key=lambda f: f.deciding.p_support if f.deciding else 0.0)
    decided = shown.deciding
    points = tuple(p for f in findings for p in f.points)
    many = len(findings) > 1
    prefix = f"part {findings.index(shown) + 1} of {len(findings)}: " if many and outcome != "reproduced" else ""
    found: dict[str, object] = {
        "verdict": outcome, "reason": prefix + shown.reason, "parts": [f.outcome for f in findings],
        "points": [p.model_dump() for p in points], "test": shown.test, "correction": shown.correction,
        "p_value": _p_value(findings, outcome),
    }  # fmt: skip
    if decided is not None:
        found |= {
            "effect": decided.effect, "interval": (decided.low, decided.high), "bound_value": decided.bound,
            "repeats": min(p.repeats for p in points),
        }  # fmt: skip
        if shown.test == "exact count":
            found |= {"interval": None, "repeats": None}
    return found


def _p_value(findings: list[Finding], outcome: Outcome) -> float | None:
    """Two-sided p-value of a claim's verdict: the weakest part where all must hold, the clearest where one fails."""
    known = [f.p_value for f in findings if f.outcome == outcome and f.p_value is not None]
    if not known or outcome not in ("reproduced", "violated"):
        return None
    return max(known) if outcome == "reproduced" else min(known)


def _flags(spec: Spec, claim: Claim) -> tuple[str, ...]:
    """Where bound, accountant and training speak of different things."""
    if spec.experiment is None:
        return ()
    privacy, training = spec.experiment.privacy, spec.experiment.training
    flags = []
    for name in dict.fromkeys(b for e in claim.expectations for b in bounds_named(e)):
        bound = BOUNDS[name]
        if bound.adjacency != privacy.adjacency:
            flags.append(
                f"bound {name} is proved for {bound.adjacency} neighbours, epsilon is accounted for "
                f"{privacy.adjacency}: each point also gives the bound at (2 epsilon, (1 + e^epsilon) delta)"
            )
        if bound.pure_only and privacy.delta > 0:
            flags.append(f"bound {name} is proved for delta = 0, delta is {privacy.delta:g}")
    arms = dict.fromkeys(o.arm for e in claim.expectations if bounds_named(e) for o in measured_operands(e))
    for accountant, sampling in dict.fromkeys(spec.experiment.accounting_of(arm) for arm in arms):
        if sampling == training.sampling:
            continue
        flags.append(
            f"the accountant {accountant} assumes {sampling} sampling, training uses {training.sampling}: "
            "epsilons are nominal"
            + ("; each point also gives the epsilon and the bound as trained" if training.sampling == "shuffle" else "")
        )
    named = {o.arm for e in claim.expectations for o in measured_operands(e)}
    clipped = [arm for arm in _batch_clipped(spec) if arm in named]
    if clipped:
        flags.append(
            f"{', '.join(clipped)}: the mean of a batch is clipped, which one record moves by up to twice the clipping "
            "norm; the accountants assume once: epsilons are nominal"
        )
    return tuple(flags)
