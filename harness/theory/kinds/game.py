"""Claims about what a simulated game shows, against a term."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from harness.claims.expectation import CLAIM_KINDS, TheoryClaimKind, TheoryResult
from harness.claims.expression import Expression, Name, aside, chain, numeral, phrase
from harness.claims.reasons import Reason
from harness.errors import HarnessError
from harness.hashing import generator
from harness.theory.domain import compute_at, point
from harness.theory.kinds.packages import PACKAGES
from harness.theory.simulations import SIMULATIONS, measure
from harness.theory.term import Term, definitions


@CLAIM_KINDS.register
class Game(TheoryClaimKind):
    """A simulated game shows a number that is compared with a term, by exact (Clopper-Pearson) intervals of rates."""

    kind: Literal["game"] = "game"
    packages: ClassVar[tuple[str, ...]] = PACKAGES
    game: str
    """The name of a registered game."""
    given: dict[str, float] = {}
    """The parameters of the game, all of them."""
    measure: Literal["advantage", "ppv", "npv", "accuracy", "tpr", "fpr", "epsilon"]
    """The number that is compared; `epsilon` is the largest that the rates allow to claim, ln((TPR - delta) / FPR)."""
    delta: float = Field(default=0.0, ge=0, le=1)
    """The delta of the measure `epsilon`."""
    relation: Literal["<=", "=", ">="]
    right: Term
    tolerance: float = Field(gt=0)
    """The slack; for `=` it makes the test one of equivalence."""
    trials: int = Field(default=1_000_000, ge=100, le=100_000_000)
    seed: int = Field(default=0, ge=0)
    level: Annotated[float, Field(gt=0.5, lt=1)] = 0.99
    """The coverage of the interval."""

    @model_validator(mode="after")
    def _check_consistency(self) -> Game:
        if self.game not in SIMULATIONS:
            raise ValueError(f"unknown game {self.game!r}; known: {', '.join(sorted(SIMULATIONS))}")
        wanted = SIMULATIONS[self.game].parameters
        if set(self.given) != set(wanted):
            raise ValueError(
                f"game {self.game!r} takes {', '.join(wanted)}; given: {', '.join(self.given) or 'nothing'}"
            )
        unknown = sorted(self.right.variables() - set(self.given))
        if unknown:
            raise ValueError(f"{', '.join(unknown)} is not a parameter of the game")
        return self

    def tree(self) -> Expression:
        given = tuple(chain("=", Name(name=n), numeral(v), tight=True) for n, v in self.given.items())
        game = phrase(Name(name=self.measure), "of game", Name(name=self.game, of=given))
        return phrase(chain(self.relation, game, self.right.tree()), aside("within", numeral(self.tolerance)))

    def definitions(self) -> dict[str, str]:
        """The meaning of each name in the claim's text."""
        return {self.game: f"a game: {SIMULATIONS[self.game].summary}", **definitions(self.right)}

    def judge(self) -> TheoryResult:
        """The result of playing, counting, and comparing the interval with the term.

        Raises HarnessError where the game cannot be played with its parameters.
        """
        rng = generator(self.seed, "game", self.game, sorted(self.given.items()))
        try:
            with np.errstate(all="ignore"):
                counts = SIMULATIONS[self.game].function(rng, self.trials, **self.given)
        except (ArithmeticError, ValueError) as error:
            raise HarnessError(f"game {self.game} cannot be played with {point(self.given)}: {error}") from None
        value, low, high = measure(counts, self.measure, self.level, self.delta)
        target = compute_at(self.right.evaluate, self.given)
        below, above = target + self.tolerance - high, low - (target - self.tolerance)
        margin = {"<=": below, ">=": above, "=": min(below, above)}[self.relation]
        failing = {"<=": low > target + self.tolerance, ">=": high < target - self.tolerance}
        opposed = any(failing.values()) if self.relation == "=" else failing[self.relation]
        outcome: Literal["reproduced", "violated", "inconclusive"] = (
            "reproduced" if margin >= 0 else "violated" if opposed else "inconclusive"
        )
        how = f"{self.trials:,} simulated games, exact {self.level:.0%} interval"
        reason = Reason(
            found="played", left_name=self.measure, at=dict(self.given), left=value, low=low, high=high, right=target
        )
        at = {**self.given, "left": value, "right": target} if outcome == "violated" else None
        return TheoryResult(outcome, reason, margin, at, how, "simulated")
