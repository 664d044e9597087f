"""Claims about what audits of DP-SGD find: lower bounds on epsilon from canaries, against what is claimed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import scipy
from pydantic import Field, model_validator

from harness.auditing import AUDITORS, Auditor, Trials, canary_records, many_runs
from harness.auditing.trials import score_of
from harness.claims.expectation import CLAIM_KINDS, TheoryClaimKind, TheoryResult
from harness.claims.expression import Expression, Name, Numeral, chain, level, listing, numeral, phrase
from harness.claims.reasons import reason_in_words
from harness.config import Config
from harness.hashing import derive_seed
from harness.theory.kinds.packages import PACKAGES

if TYPE_CHECKING:
    from harness.auditing.planted import Trained

    AnyAuditor = Auditor
else:
    AnyAuditor = AUDITORS.union()

BY_CHANCE = 0.01
"""The chance below which it is no accident that audits are wrong more often than their level allows."""
Sees = Literal["final", "all-steps", "spread-of-steps"]
"""The parts of a training that an audit may see."""


class Audited(Config):
    """DP-SGD on a linear model, as `harness.auditing.planted` trains it, and the epsilon that is claimed of it."""

    epsilon: float = Field(gt=0)
    delta: float = Field(default=1e-5, gt=0, lt=1)
    bug: Literal["none", "noise-over-batch", "batch-clipping", "layer-unclipped", "noise-reused", "wrong-rate"] = "none"
    records: int = Field(default=64, ge=4)
    batch_size: int = Field(default=64, ge=1)
    epochs: int = Field(default=10, ge=1)

    @model_validator(mode="after")
    def _check_steps(self) -> Audited:
        if self.batch_size > self.records:
            raise ValueError(f"a batch of {self.batch_size} from {self.records} records makes no whole step")
        return self


@CLAIM_KINDS.register
class Audit(TheoryClaimKind):
    """Several audits of one training algorithm, each with trainings of its own.

    `<=`: no more of them find epsilon above `right` than their level allows. `>`: more do. `below`: they find less than
    audits of the same trainings that see more, by a sign test.
    """

    kind: Literal["audit"] = "audit"
    on_toy: ClassVar[bool] = True
    packages: ClassVar[tuple[str, ...]] = PACKAGES
    of: Audited
    sees: Sees = "final"
    """An audit sees the final model; the gradients of all steps by their likelihood ratio; or how much these vary."""
    auditor: AnyAuditor
    relation: Literal["<=", ">", "below"]
    right: float | Literal["claimed", "final", "all-steps", "spread-of-steps"]
    """The right side: a number or what is claimed; for `below`, what the other audits see."""
    runs: int = Field(default=400, ge=20, le=100_000)
    """The number of trainings of one audit, half of them with the canary."""
    audits: int = Field(default=10, ge=1, le=1000)
    seed: int = Field(default=0, ge=0)
    level: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """The level of each audit's bound."""

    @model_validator(mode="after")
    def _check_consistency(self) -> Audit:
        other = self.right in ("final", "all-steps", "spread-of-steps")
        if (self.relation == "below") != other:
            raise ValueError(
                f"relation {self.relation!r} does not go with right {self.right!r}: a number or `claimed` "
                "goes with <= and >, what other audits see with `below`"
            )
        if self.auditor.sees != "many runs":
            raise ValueError(f"auditor {self.auditor.plugin_name()!r} looks at one run, these are audits of many")
        fewest = 7 if other else 2
        if self.audits < fewest:
            raise ValueError(f"{self.audits} audits decide nothing; at least {fewest} are needed here")
        return self

    def tree(self) -> Expression:
        bug = [] if self.of.bug == "none" else [Name(name=self.of.bug)]
        trained = Name(name="DP-SGD", of=(numeral(self.of.epsilon), numeral(self.of.delta), *bug))
        audit = phrase(Name(name=self.auditor.plugin_name()), "on", Name(name=self.sees), "of", trained)
        many = phrase(Numeral(number=self.audits), "audits of", Numeral(number=self.runs), "trainings")
        return listing([chain(self.relation, audit, level(self.right)), many])

    def definitions(self) -> dict[str, str]:
        """The meaning of each name in the claim's text."""
        from harness.auditing.planted import BUGS

        meanings = {self.auditor.plugin_name(): f"an auditor: {self.auditor.summary}"}
        return meanings if self.of.bug == "none" else {**meanings, self.of.bug: f"a planted bug: {BUGS[self.of.bug]}"}

    def judge(self) -> TheoryResult:
        """The result of training, auditing and counting the audits that find more, or less, than is said."""
        pairs = [self._bounds(i) for i in range(self.audits)]
        how = f"{self.audits} audits of {self.runs} trainings, each at {self.level:.0%}"
        if self.relation == "below":
            less = sum(own < other for own, other in pairs)
            more = sum(own > other for own, other in pairs)
            outcome = self._by_sign(less, more)
            mean = [sum(pair[i] for pair in pairs) / self.audits for i in (0, 1)]
            means = f"mean {mean[0]:.3g} and {mean[1]:.3g}"
            reason = reason_in_words(
                f"the bound on epsilon is smaller in {less} of {self.audits} pairs of audits, larger in {more}; {means}"
            )
            how += f"; sign test at {BY_CHANCE:g}"
            return TheoryResult(outcome, reason, (less - more) / self.audits, None, how, "simulated")
        right = self.of.epsilon if self.right == "claimed" else float(self.right)
        bounds = sorted(own for own, _ in pairs)
        above = sum(bound > right for bound in bounds)
        exposed = float(scipy.stats.binom.sf(above - 1, self.audits, 1 - self.level)) <= BY_CHANCE
        reason = reason_in_words(
            f"{above} of {self.audits} audits find an epsilon of more than {right:g}; their lower bounds are "
            f"{bounds[0]:.3g} to {bounds[-1]:.3g}"
        )
        middle = bounds[len(bounds) // 2]
        if self.relation == "<=":
            at = {"left": middle, "right": right} if exposed else None
            return TheoryResult("violated" if exposed else "reproduced", reason, right - middle, at, how, "simulated")
        return TheoryResult("reproduced" if exposed else "inconclusive", reason, middle - right, None, how, "simulated")

    def _by_sign(self, less: int, more: int) -> Literal["reproduced", "violated", "inconclusive"]:
        """The outcome of a sign test in either direction."""
        for count, outcome in ((less, "reproduced"), (more, "violated")):
            if float(scipy.stats.binom.sf(count - 1, self.audits, 0.5)) <= BY_CHANCE:
                return outcome  # type: ignore[return-value]
        return "inconclusive"

    def _bounds(self, number: int) -> tuple[float, float]:
        """The bound that the audit with this number finds, and the one of an audit that sees what `right` names."""
        from harness.auditing.engines import Question
        from harness.auditing.planted import likelihood_of_steps, planted_training, spread_of_steps

        of = self.of
        question = Question(of.epsilon, of.delta, of.records, of.batch_size, of.epochs, "rdp")
        records, seed = canary_records(self.of.records), derive_seed(self.seed, "audit claim", number)
        scores: dict[str, Callable[[Trained], float]] = {
            "final": lambda model: score_of(model, records, "weights"),
            "all-steps": lambda model: likelihood_of_steps(model, records, question),
            "spread-of-steps": lambda model: spread_of_steps(model, records),
        }
        wanted = [self.sees, *([str(self.right)] if self.relation == "below" else [])]
        kept: list[list[float]] = []

        def score_every(model: Trained) -> float:
            kept.append([scores[name](model) for name in wanted])
            return kept[-1][0]

        trials = many_runs(planted_training(question, self.of.bug), records, self.runs, seed, score_every)
        own = self.auditor.bound(trials, self.of.delta, self.level).epsilon
        if self.relation != "below":
            return own, 0.0
        other = [row[1] for row in kept]  # runs with the canary and without take turns
        others = Trials(np.array(other[::2]), np.array(other[1::2]))
        return own, self.auditor.bound(others, self.of.delta, self.level).epsilon
