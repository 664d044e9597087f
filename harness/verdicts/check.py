"""From a spec and its measurements to verdicts with their provenance."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from harness.claims.allocation import repeats_of
from harness.claims.expectation import ClaimKind, MeasuredClaimKind
from harness.claims.expression import Expression, over_axes
from harness.claims.judgement import JudgeClaim, Judgement, basis_of, judge_on_basis
from harness.claims.results import PartResult
from harness.claims.testing import Look
from harness.claims.verdict import ClaimText, Numbers, Outcome, Provenance, RestsOn, Verdict
from harness.claims.whole import index_of, is_decided, number_reasons, reason_text, shown_part
from harness.claims.words import Word
from harness.coordinates import Attacked
from harness.errors import HarnessError
from harness.formulas import FORMULAS
from harness.spec.claim import Claim
from harness.spec.model import Spec
from harness.spec.profile import Scaled, as_run, note_early_stop
from harness.verdicts.evidence import look_at
from harness.verdicts.flags import describe_assumptions
from harness.verdicts.later import LaterRepeats, is_exact
from harness.verdicts.measured import ClaimError, judges_of
from harness.verdicts.partial import seconds_a_model, tally_points, would_decide
from harness.verdicts.points import points_of
from harness.verdicts.printed import Trial, try_on_printed_numbers
from harness.verdicts.provenance import judging_code, provenance_of
from harness.verdicts.rates import describe_rates, describe_turned_scores
from harness.verdicts.theory import record_theory
from harness.verdicts.wanted import Wanted


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
    provenance: Provenance
    spent: _SpentSoFar
    is_reading: bool
    """Of a reading the verdicts say no more than their outcome, its reason and what would decide it."""
    trials: Mapping[str, Trial]
    """What claims come to on printed numbers, by their ids."""


@dataclass(frozen=True)
class _Judged:
    """A claim judged, and on which repeats."""

    judgement: Judgement
    look: Look
    """The repeats that it was judged on."""
    seen: int = 0
    """The most repeats of a cell that had been measured when it was declared, or last changed."""
    is_exploratory: bool = False
    """Whether it takes those to decide it."""


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
    provenance, spent = provenance_of(scaled, sha256, table), _SpentSoFar()
    look, judges, later = None, dict[str, JudgeClaim](), None
    if table is not None and spec.experiment is not None:
        look, judges = look_at(scaled, table), judges_of(spec, alpha)
        later = None if reading else LaterRepeats(scaled, table, look)
        if (experiment := spec.own_experiment) is not None:
            axes = experiment.coordinates
            spent = _SpentSoFar(repeats_of(table, axes), seconds_a_model(table, axes))
        if look.method.name == "fixed":
            scaled = as_run(scaled, look.samples.table.repeats)
        elif later is not None:
            open_claims = Wanted(scaled, look, later, spent.repeats, judges, alpha).share_out().keys()
            spent = replace(spent, open_claims=open_claims)
            scaled = note_early_stop(scaled, len(open_claims)) if open_claims else scaled
    trials = {} if reading else try_on_printed_numbers(spec)
    case, verdicts = _Case(scaled, alpha, look, why_not, provenance, spent, reading, trials), []
    for index, claim in enumerate(spec.claims):
        if only is not None and claim.id not in only:
            continue
        try:
            judged = None
            if look is not None and not claim.theory:
                judged = _judge(claim, judges[claim.id], look, later, alpha)
            verdicts.append(_record(claim, case, judged))
        except HarnessError as error:
            raise ClaimError(index, f"claim {claim.id!r}: {error}") from None
    return verdicts


def _judge(claim: Claim, judge_claim: JudgeClaim, look: Look, later: LaterRepeats | None, alpha: float) -> _Judged:
    """Judge a claim on the repeats since it was declared, or on all where these do not decide it.

    `look`: all repeats. Without `later`, which a reading has not, its findings are all that is asked for.
    """
    judgement = judge_on_basis(judge_claim, look, alpha, findings_only=later is None)
    seen = 0 if later is None or is_exact(judgement.findings) else later.seen_before(claim)
    if later is None or not seen:
        return _Judged(judgement, look)
    if (since := later.judge(claim, alpha)) is not None:
        return _Judged(*since, seen)
    return _Judged(judgement, look, seen, True) if is_decided(judgement.findings) else _Judged(judgement, look)


def _record(claim: Claim, case: _Case, judged: _Judged | None) -> Verdict:
    """The verdict on a claim, as far as its own table goes."""
    spec = case.scaled.spec
    parts = [] if claim.theory else spec.parts(claim)
    verdict = Verdict(
        id=f"{spec.id}#{claim.id}",
        paper=spec.paper,
        spec=spec.id,
        profile=case.scaled.profile,
        verdict=Word.NOT_RUN,
        reason=case.why_not,
        claim=_text_of(claim, parts, case),
        numbers=Numbers(test="none", correction="none", alpha=case.alpha),
        rests_on=RestsOn(data="own") if claim.theory or case.is_reading else _assumptions_of(parts, case),
        provenance=case.provenance if case.is_reading else _traced(case.provenance, claim.theory or parts),
    )
    if claim.theory:
        return record_theory(verdict, claim.theory, claim.example)
    if judged is None:
        return verdict
    verdict = _record_outcome(verdict, claim, case, judged.judgement)
    return verdict if case.is_reading else _record_numbers(verdict, parts, case, judged)


def trees_of(claim: Claim, spec: Spec) -> tuple[Expression, ...]:
    """What each part of a claim says, as its verdict prints it."""
    kinds: Sequence[ClaimKind] = claim.theory or spec.parts(claim)
    return tuple(_inequality_tree(part, spec) for part in kinds)


def _text_of(claim: Claim, parts: Sequence[MeasuredClaimKind], case: _Case) -> ClaimText:
    """What a claim says; of a reading without its inequality, which is that of the claim as declared."""
    trees = () if case.is_reading else trees_of(claim, case.scaled.spec)
    return ClaimText(
        catalogue=claim.catalogue,
        where=claim.where,
        kind=claim.kind,
        statement=claim.statement,
        origin=claim.origin,
        corrects=claim.corrects,
        quotes=claim.quotes,
        hedge=claim.hedge,
        printed=_printed_text(claim, case.trials.get(claim.id)),
        inequality=tuple(tree.text() for tree in trees),
        expressions=trees,
        definitions={} if case.is_reading else _definitions(parts),
        note=claim.note,
    )


def _printed_text(claim: Claim, trial: Trial | None) -> str:
    against = f" ({claim.against_printed})" if claim.against_printed else ""
    return "" if trial is None else trial.text + against


def _assumptions_of(parts: Sequence[MeasuredClaimKind], case: _Case) -> RestsOn:
    """What a verdict on measurements rests on, whatever was measured."""
    spec = case.scaled.spec
    return RestsOn(
        data="own",
        reductions=case.scaled.reductions,
        deviations=case.scaled.deviations,
        flags=describe_assumptions(spec, parts),
        ambiguities=tuple(a.model_dump(mode="json") for a in spec.ambiguities),
    )


def _traced(provenance: Provenance, kinds: Sequence[ClaimKind]) -> Provenance:
    return provenance.model_copy(update={"code": judging_code(kinds)})


def _record_outcome(verdict: Verdict, claim: Claim, case: _Case, judgement: Judgement) -> Verdict:
    """How a claim on measurements came out, why, and what would decide it."""
    findings = judgement.findings
    outcome, shown = shown_part(findings)
    would = ""
    experiment, spent = case.scaled.spec.own_experiment, case.spent
    if outcome == "inconclusive" and experiment is not None and judgement.is_sequential:
        allowed = spent.open_claims is None or claim.id in spent.open_claims
        usual = experiment.repeats
        would = would_decide(findings, spent.repeats, spent.seconds, case.alpha, usual, allowed)
    return verdict.model_copy(
        update={
            "verdict": Word(outcome),
            "reason": reason_text(findings, outcome, shown),
            "would_decide": would,
            "numbers": Numbers(test=shown.test, correction=shown.correction, alpha=case.alpha),
        }
    )


def _record_numbers(verdict: Verdict, parts: Sequence[MeasuredClaimKind], case: _Case, judged: _Judged) -> Verdict:
    """The numbers of a claim on measurements, point by point and of the one that decides."""
    judgement, look, alpha = judged.judgement, judged.look, case.alpha
    findings = judgement.findings
    outcome, shown = shown_part(findings)
    points, reasons, deciding = points_of(judgement, look, alpha), number_reasons(findings), shown.deciding
    place = None if deciding is None else reasons[index_of(shown, findings)].point
    models, cells = judgement.models
    experiment = case.scaled.spec.own_experiment
    is_sequential = judgement.is_sequential and experiment is not None
    numbers = Numbers(
        test=shown.test,
        correction=shown.correction,
        alpha=alpha,
        repeats=None if deciding is None or shown.is_exact else deciding.repeats,
        effect=None if deciding is None else deciding.effect,
        interval=None if deciding is None or shown.is_exact else (deciding.low, deciding.high),
        bound_value=None if place is None else points[place].bound,
        points=tuple(points),
        p_value=_p_value(findings, outcome),
        e_value=judgement.e_value,
        p_anytime=judgement.p_anytime,
        p_by_bets=judgement.p_by_bets,
        design="sequential" if is_sequential else "fixed",
        stopped=judgement.decided_at if is_sequential else None,
        models=models if is_sequential else None,
        models_fixed=cells * experiment.repeats if is_sequential and experiment is not None else None,
    )
    basis, rarest = basis_of(judgement, outcome)
    turned = describe_turned_scores(parts, look) if case.scaled.spec.results is not None else ()
    rests_on = verdict.rests_on.model_copy(
        update={
            "basis": basis,
            "rarest": rarest,
            "seen": judged.seen,
            "exploratory": judged.is_exploratory,
            "flags": (*verdict.rests_on.flags, *describe_rates(parts, look.samples.table), *turned),
        }
    )
    return verdict.model_copy(
        update={
            "reasons": tuple(reasons),
            "because": (index_of(shown, findings),),
            "parts": tuple(Word(f.outcome) for f in findings),
            "hangs_on": tuple(f.why.unless for f in findings if f.why.unless and outcome == "inconclusive"),
            "tally": tally_points(judgement, parts, alpha),
            "numbers": numbers,
            "rests_on": rests_on,
        }
    )


def _inequality_tree(part: ClaimKind, spec: Spec) -> Expression:
    """The inequality of a part; for results without an epsilon, over the axes that it leaves open."""
    if spec.results is None or "epsilon" in spec.axes or not part.operands():
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
