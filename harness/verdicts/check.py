"""From a spec and its measurements to verdicts with their provenance."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from harness.claims.allocation import repeats_of
from harness.claims.expectation import ClaimKind, MeasuredClaimKind
from harness.claims.expression import Expression, over_axes
from harness.claims.judgement import JudgeClaim, Judgement, basis_of, cells_used, judge_on_basis
from harness.claims.results import PartResult
from harness.claims.testing import Look
from harness.claims.verdict import Outcome, Verdict
from harness.claims.whole import index_of, number_reasons, reason_text, shown_part
from harness.coordinates import Attacked
from harness.errors import HarnessError
from harness.formulas import FORMULAS
from harness.inference.shares import rarity_bound
from harness.spec.claim import Claim
from harness.spec.model import Spec
from harness.spec.profile import Scaled, as_run, note_early_stop
from harness.verdicts.evidence import look_at
from harness.verdicts.flags import describe_assumptions
from harness.verdicts.measured import ClaimError, judge_of, repeats_wanted
from harness.verdicts.partial import seconds_a_model, tally_points, would_decide
from harness.verdicts.points import points_of
from harness.verdicts.provenance import judging_code, provenance_fields
from harness.verdicts.rates import describe_rates, describe_turned_scores
from harness.verdicts.theory import theory_fields


@dataclass(frozen=True)
class _SpentSoFar:
    """What a spec's measurements took so far, and which claims would have more."""

    repeats: Mapping[Attacked, int] = field(default_factory=dict)
    """By cell and attack."""
    seconds: float | None = None
    """Core-seconds a model; None: not known."""
    open_claims: Collection[str] | None = None
    """Claims for which a run would go on; None: not asked."""


@dataclass(frozen=True)
class _Case:
    """What all claims of a spec are judged by and on."""

    scaled: Scaled
    alpha: float
    look: Look | None
    """All repeats of the table; None: there is none."""
    why_not: str
    common: Mapping[str, object]
    """Fields that all verdicts have."""
    spent: _SpentSoFar


def judge_spec(
    scaled: Scaled,
    sha256: str,
    table: pd.DataFrame | None,
    why_not: str = "",
    alpha: float | None = None,
    only: Collection[str] | None = None,
    reading: bool = False,
) -> list[Verdict]:
    """Judge the claims of a spec, all or `only` some.

    Without a table, claims on measurements are *not run* for the reason `why_not`. Of a `reading` the verdicts say no
    more than their outcome, its reason and what would decide it. Raises ClaimError for a claim that cannot be judged.
    """
    spec = scaled.spec
    alpha = spec.level if alpha is None else alpha
    look, judges, open_claims = None, dict[str, JudgeClaim](), None
    if table is not None and spec.experiment is not None:
        look = look_at(scaled, table)
        if look.method.name == "fixed":
            scaled = as_run(scaled, look.samples.table.repeats)
        elif not reading:
            open_claims = repeats_wanted(scaled, table, alpha, look, judges).keys()
            scaled = note_early_stop(scaled, len(open_claims)) if open_claims else scaled
    common: dict[str, object] = {
        "paper": spec.paper,
        "spec": spec.id,
        "profile": scaled.profile,
        "alpha": alpha,
        **provenance_fields(scaled, sha256, table),
    }
    spent = _SpentSoFar()
    if table is not None and spec.own_experiment is not None:
        axes = spec.own_experiment.coordinates
        spent = _SpentSoFar(repeats_of(table, axes), seconds_a_model(table, axes), open_claims)
    case, verdicts = _Case(scaled, alpha, look, why_not, common, spent), []
    for index, claim in enumerate(spec.claims):
        if only is not None and claim.id not in only:
            continue
        try:
            judgement = None
            if look is not None and not claim.theory:
                judge_claim = judges.get(claim.id) or judge_of(claim, spec, alpha)
                judgement = judge_on_basis(judge_claim, look, alpha, findings_only=reading)
            verdicts.append(_record(claim, case, judgement, reading))
        except HarnessError as error:
            raise ClaimError(index, f"claim {claim.id!r}: {error}") from None
    return verdicts


def _record(claim: Claim, case: _Case, judgement: Judgement | None, reading: bool) -> Verdict:
    """The verdict on a claim, as far as its own table goes."""
    parts = [] if claim.theory else case.scaled.spec.parts(claim)
    fields: dict[str, object] = {
        **case.common,
        "id": f"{case.scaled.spec.id}#{claim.id}",
        "catalogue": claim.catalogue,
        "where": claim.where,
        "kind": claim.kind,
        "statement": claim.statement,
        "data": "own",
    }
    if reading:
        fields |= {"inequality": (), "code": ""}
    else:
        fields |= _declared_fields(claim, parts, case)
    if claim.theory:
        fields |= theory_fields(claim.theory, claim.example)
    elif judgement is None:
        fields |= {"verdict": "not run", "reason": case.why_not, "test": "none", "correction": "none"}
    else:
        fields |= _outcome_fields(claim, case, judgement)
        if not reading:
            fields |= _evidence_fields(parts, case, judgement)
    return Verdict.model_validate(fields)


def _declared_fields(claim: Claim, parts: Sequence[MeasuredClaimKind], case: _Case) -> dict[str, object]:
    """What a claim says, and what its verdict rests on, whatever was measured."""
    scaled = case.scaled
    kinds: Sequence[ClaimKind] = claim.theory or parts
    trees = tuple(_inequality_tree(part, scaled.spec) for part in kinds)
    fields: dict[str, object] = {
        "inequality": tuple(tree.text() for tree in trees),
        "expressions": trees,
        "note": claim.note,
        "code": judging_code(kinds),
    }
    if claim.theory:
        return fields
    return {
        **fields,
        "definitions": _definitions(parts),
        "reductions": scaled.reductions,
        "deviations": scaled.deviations,
        "flags": describe_assumptions(scaled.spec, parts),
        "ambiguities": tuple(a.model_dump(mode="json") for a in scaled.spec.ambiguities),
    }


def _outcome_fields(claim: Claim, case: _Case, judgement: Judgement) -> dict[str, object]:
    """How a claim on measurements came out, why, and what would decide it."""
    findings = judgement.findings
    outcome, shown = shown_part(findings)
    fields: dict[str, object] = {
        "verdict": outcome,
        "reason": reason_text(findings, outcome, shown),
        "test": shown.test,
        "correction": shown.correction,
    }
    experiment, spent = case.scaled.spec.own_experiment, case.spent
    if outcome == "inconclusive" and experiment is not None and judgement.is_sequential:
        allowed = spent.open_claims is None or claim.id in spent.open_claims
        usual = experiment.repeats
        fields["would_decide"] = would_decide(findings, spent.repeats, spent.seconds, case.alpha, usual, allowed)
    return fields


def _evidence_fields(parts: Sequence[MeasuredClaimKind], case: _Case, judgement: Judgement) -> dict[str, object]:
    """The numbers of a claim on measurements, point by point and of the one that decides."""
    findings, alpha, look = judgement.findings, case.alpha, case.look
    assert look is not None
    outcome, shown = shown_part(findings)
    points, reasons = points_of(judgement, look, alpha), number_reasons(findings)
    basis, repeats = basis_of(judgement, outcome)
    turned = describe_turned_scores(parts, look) if case.scaled.spec.results is not None else ()
    fields: dict[str, object] = {
        "reasons": reasons,
        "because": [index_of(shown, findings)],
        "parts": [f.outcome for f in findings],
        "hangs_on": [f.why.unless for f in findings if f.why.unless and outcome == "inconclusive"],
        "flags": (*describe_assumptions(case.scaled.spec, parts), *describe_rates(parts, look.samples.table), *turned),
        "tally": tally_points(judgement, parts, alpha),
        "points": [p.model_dump() for p in points],
        "p_value": _p_value(findings, outcome),
        "basis": basis,
        "rarest": math.floor(rarity_bound(repeats, alpha / 2)) if basis == "t-test" else None,
        "e_value": judgement.e_value,
    }
    if (experiment := case.scaled.spec.own_experiment) is not None and judgement.is_sequential:
        models, cells = cells_used(findings)
        fields |= {"design": "sequential", "stopped": judgement.decided_at, "models": models}
        fields["models_fixed"] = cells * experiment.repeats
    if (deciding := shown.deciding) is not None:
        place = reasons[index_of(shown, findings)].point
        fields |= {
            "effect": deciding.effect,
            "interval": None if shown.is_exact else (deciding.low, deciding.high),
            "bound_value": None if place is None else points[place].bound,
            "repeats": None if shown.is_exact else deciding.repeats,
        }
    return fields


def _inequality_tree(part: ClaimKind, spec: Spec) -> Expression:
    """The inequality of a part; for results without an epsilon, over the axes that it leaves open."""
    if spec.results is None or "epsilon" in spec.axes or not isinstance(part, MeasuredClaimKind):
        return part.tree()
    closed = {axis for operand in part.operands() for axis in (*operand.fixed_axes, *operand.mean_over)}
    closed.add(getattr(part, "along", ""))
    return over_axes(part.tree(), [axis for axis in spec.axes if axis not in closed])


def _definitions(parts: Sequence[MeasuredClaimKind]) -> dict[str, str]:
    names = dict.fromkeys(formula.formula for part in parts for formula in part.formulas())
    return {name: f"{FORMULAS[name].text} [{FORMULAS[name].source}]" for name in names}


def _p_value(findings: list[PartResult], outcome: Outcome) -> float | None:
    """Two-sided p-value of a verdict: the weakest part's where all must hold, the clearest's where one fails."""
    known = [f.p_value for f in findings if f.outcome == outcome and f.p_value is not None]
    if not known or outcome not in ("reproduced", "violated"):
        return None
    return max(known) if outcome == "reproduced" else min(known)
