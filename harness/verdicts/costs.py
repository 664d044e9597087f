"""What deciding an open claim costs, as numbers: so many models, so much time on one core."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from harness.verdicts.partial import time_text

Limit = Literal["about", "at least", "at most"]
SECONDS_A_UNIT = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0}
PAST_THE_LIMIT = "that is past the limit of repeats or of models"
_MODELS = re.compile(r"(?:about|at least) ([\d,]+) (?:more )?models?\b")
_TIME = re.compile(r"(at most )?([\d.,]+) (seconds|minutes|hours) on one core")


@dataclass(frozen=True)
class CostToDecide:
    """What would decide a claim whose effects stay as they are."""

    models: int
    seconds: float | None
    """Core-seconds, as exactly as the sentence says it; None: not known."""
    limit: Limit = "about"
    """Whether the time is a bound."""
    is_past_limit: bool = False
    """Whether the profile's limits leave no room for it."""

    @property
    def time(self) -> str:
        """The time in words, such as `at most 57 minutes`; empty where it is not known."""
        if self.seconds is None:
            return ""
        return ("" if self.limit == "about" else f"{self.limit} ") + time_text(self.seconds)


def cost_to_decide(would_decide: str) -> CostToDecide | None:
    """The cost that a sentence of `Verdict.would_decide` speaks of, summed where it needs several things.

    None where no number of models decides, or one of the things needed has no number. `verdicts.json` has the cost in
    a sentence only (`harness.verdicts.partial.would_decide`, `harness.verdicts.publish`), so it is read back from
    there, to the digits that the sentence gives.
    """
    needed = [clause for clause in would_decide.split("; ") if clause != PAST_THE_LIMIT]
    costs = [_cost_of_clause(clause) for clause in needed]
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs) or not known:
        return None
    times = [cost.seconds for cost in known]
    limits = {cost.limit for cost in known}
    return CostToDecide(
        models=sum(cost.models for cost in known),
        seconds=None if None in times else sum(time for time in times if time is not None),
        limit=limits.pop() if len(limits) == 1 else "about",
        is_past_limit=PAST_THE_LIMIT in would_decide,
    )


def _cost_of_clause(clause: str) -> CostToDecide | None:
    models, time = list(_MODELS.finditer(clause)), _TIME.search(clause)
    if not models:
        return None
    last = models[-1]  # before it may stand the name of a reading
    at_least = last[0].startswith("at least")
    limit: Limit = "at most" if time is not None and time[1] else "at least" if at_least else "about"
    seconds = None if time is None else float(round(float(time[2].replace(",", "")) * SECONDS_A_UNIT[time[3]]))
    return CostToDecide(int(last[1].replace(",", "")), seconds, limit)
