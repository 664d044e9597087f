"""From a spec and its measurements to verdicts with their provenance."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from harness.claims.expectation import ClaimKind, MeasuredClaimKind
from harness.claims.expression import Expression, over_axes
from harness.claims.judgement import JudgeClaim, Judgement, basis_of, cells_used, judge_on_basis
from harness.claims.results import PartResult
from harness.claims.testing import Look
from harness.claims.verdict import Outcome, Verdict
from harness.claims.whole import combined_outcome, index_of, number_reasons, reason_text, shown_part
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
from harness.verdicts.partial import repeats_of, seconds_a_model, tally_points, would_decide
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
    verdicts = []
    for index, claim in enumerate(spec.claims):
        if only is not None and claim.id not in only:
            continue
        try:
            judge_claim = judges.get(claim.id) or judge_of(claim, spec, alpha)
            if reading and look is not None and not claim.theory:
                verdicts.append(_judge_reading(claim, scaled, look, common, spent, judge_claim))
            else:
                verdicts.append(_judge_claim(claim, scaled, look, why_not, common, spent, judge_claim))
        except HarnessError as error:
            raise ClaimError(index, f"claim {claim.id!r}: {error}") from None
    return verdicts


def _judge_reading(
    claim: Claim,
    scaled: Scaled,
    look: Look,
    common: dict[str, object],
    spent: _SpentSoFar,
    judge_claim: JudgeClaim,
) -> Verdict:
    """What is said of a claim in a reading: the outcome, why, and what would decide it."""
    alpha = float(str(common["alpha"]))
    judgement = judge_on_basis(judge_claim, look, alpha, findings_only=True)
    outcome, shown = shown_part(judgement.findings)
    fields: dict[str, object] = {
        "id": f"{scaled.spec.id}#{claim.id}",
        "catalogue": claim.catalogue,
        "where": claim.where,
        "kind": claim.kind,
        "statement": claim.statement,
        "inequality": (),
        "data": "own",
        "verdict": outcome,
        "reason": reason_text(judgement.findings, outcome, shown),
        "test": shown.test,
        "correction": shown.correction,
        "code": "",
    }
    if look.method.name == "sequential" and outcome == "inconclusive":
        fields["would_decide"] = _would_decide(judgement, scaled, spent, alpha, claim)
    return Verdict.model_validate({**common, **fields})


def _judge_claim(
    claim: Claim,
    scaled: Scaled,
    look: Look | None,
    why_not: str,
    common: dict[str, object],
    spent: _SpentSoFar,
    judge_claim: JudgeClaim,
) -> Verdict:
    parts = scaled.spec.parts(claim)
    kinds: Sequence[ClaimKind] = claim.theory or parts
    trees = tuple(_inequality_tree(part, scaled.spec) for part in kinds)
    fields: dict[str, object] = {
        "id": f"{scaled.spec.id}#{claim.id}",
        "catalogue": claim.catalogue,
        "where": claim.where,
        "kind": claim.kind,
        "statement": claim.statement,
        "inequality": tuple(tree.text() for tree in trees),
        "expressions": trees,
        "note": claim.note,
        "code": judging_code(kinds),
    }
    if claim.theory:
        return Verdict.model_validate({**common, **fields, **theory_fields(claim.theory, claim.example)})
    fields |= {
        "definitions": _definitions(parts),
        "data": "own",
        "reductions": scaled.reductions,
        "deviations": scaled.deviations,
        "flags": describe_assumptions(scaled.spec, parts),
        "ambiguities": tuple(a.model_dump(mode="json") for a in scaled.spec.ambiguities),
    }
    if look is None:
        nothing = {"verdict": "not run", "reason": why_not, "test": "none", "correction": "none"}
        return Verdict.model_validate({**common, **fields, **nothing})
    alpha = float(str(common["alpha"]))
    judgement = judge_on_basis(judge_claim, look, alpha)
    if look.method.name == "sequential":
        models, cells = cells_used(judgement.findings)
        assert scaled.spec.own_experiment is not None
        fields |= {
            "design": "sequential",
            "stopped": judgement.decided_at,
            "models": models,
            "models_fixed": cells * scaled.spec.own_experiment.repeats,
        }
        if combined_outcome([f.outcome for f in judgement.findings]) == "inconclusive":
            fields["would_decide"] = _would_decide(judgement, scaled, spent, alpha, claim)
    turned = describe_turned_scores(parts, look) if scaled.spec.results is not None else ()
    fields["flags"] = (*describe_assumptions(scaled.spec, parts), *describe_rates(parts, look.samples.table), *turned)
    tally = {"tally": tally_points(judgement, parts, alpha)}
    return Verdict.model_validate({**common, **fields, **_measured_fields(judgement, look, alpha), **tally})


def _would_decide(judgement: Judgement, scaled: Scaled, spent: _SpentSoFar, alpha: float, claim: Claim) -> str:
    assert scaled.spec.own_experiment is not None
    allowed = spent.open_claims is None or claim.id in spent.open_claims
    usual = scaled.spec.own_experiment.repeats
    return would_decide(judgement.findings, spent.repeats, spent.seconds, alpha, usual, allowed)


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


def _measured_fields(judgement: Judgement, look: Look, alpha: float) -> dict[str, object]:
    findings = judgement.findings
    outcome, shown = shown_part(findings)
    deciding = shown.deciding
    points = points_of(judgement, look, alpha)
    basis, repeats = basis_of(judgement, outcome)
    reasons = number_reasons(findings)
    fields: dict[str, object] = {
        "verdict": outcome,
        "reason": reason_text(findings, outcome, shown),
        "reasons": reasons,
        "because": [index_of(shown, findings)],
        "parts": [f.outcome for f in findings],
        "hangs_on": [f.why.unless for f in findings if f.why.unless and outcome == "inconclusive"],
        "points": [p.model_dump() for p in points],
        "test": shown.test,
        "correction": shown.correction,
        "p_value": _p_value(findings, outcome),
        "basis": basis,
        "rarest": math.floor(rarity_bound(repeats, alpha / 2)) if basis == "t-test" else None,
        "e_value": judgement.e_value,
    }
    if deciding is not None:
        place = reasons[index_of(shown, findings)].point
        fields |= {
            "effect": deciding.effect,
            "interval": (deciding.low, deciding.high),
            "bound_value": None if place is None else points[place].bound,
            "repeats": deciding.repeats,
        }
        if shown.is_exact:
            fields |= {"interval": None, "repeats": None}
    return fields


def _p_value(findings: list[PartResult], outcome: Outcome) -> float | None:
    """Two-sided p-value of a verdict: the weakest part's where all must hold, the clearest's where one fails."""
    known = [f.p_value for f in findings if f.outcome == outcome and f.p_value is not None]
    if not known or outcome not in ("reproduced", "violated"):
        return None
    return max(known) if outcome == "reproduced" else min(known)
