"""What is said of a claim of theory, from what its parts find."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness.claims.expectation import TheoryClaimKind, TheoryResult
from harness.claims.reasons import of_parts
from harness.claims.verdict import Basis, Numbers, RestsOn, Verdict
from harness.claims.whole import combined_outcome
from harness.claims.words import Word
from harness.verdicts.provenance import installed_versions


def record_theory(verdict: Verdict, parts: Sequence[TheoryClaimKind], example: Mapping[str, float]) -> Verdict:
    """The verdict on a claim of theory, judged over its domain and at the example that it gives."""
    findings = [e.refute_at(example, e.judge()) for e in parts]
    outcome = combined_outcome([f.outcome for f in findings])
    deciding = [f for f in findings if f.outcome == outcome]
    shown = min(deciding, key=lambda f: (outcome == "violated" and f.basis == "simulated", f.worst))
    reasons = [f.why.model_copy(update={"part": index}) for index, f in enumerate(findings)]
    because = [index for index, f in enumerate(findings) if f.outcome == outcome]
    numbers = Numbers(
        test="; ".join(dict.fromkeys(f.test for f in findings)),
        correction="none",
        alpha=verdict.numbers.alpha,
        effect=shown.worst if math.isfinite(shown.worst) else None,
        counterexample=shown.counterexample,
    )
    basis = _shared_basis(deciding) if outcome in ("reproduced", "violated") else None
    definitions = {name: text for e in parts for name, text in e.definitions().items()}
    packages = installed_versions(name for e in parts for name in e.packages)
    return verdict.model_copy(
        update={
            "verdict": Word(outcome),
            "reason": of_parts([reasons[index] for index in because], len(findings)),
            "reasons": tuple(reasons),
            "because": tuple(because),
            "parts": tuple(Word(f.outcome) for f in findings),
            "claim": verdict.claim.model_copy(update={"definitions": definitions}),
            "numbers": numbers,
            "rests_on": RestsOn(data="none", basis=basis),
            "provenance": verdict.provenance.model_copy(update={"packages": packages}),
        }
    )


def _shared_basis(findings: Sequence[TheoryResult]) -> Basis:
    """The basis of several findings: the weakest where all are needed, the strongest of those that refute."""
    order: tuple[Basis, ...] = ("simulated", "computed", "proof")
    choose = max if findings[0].outcome == "violated" else min
    return choose((f.basis for f in findings), key=order.index)
