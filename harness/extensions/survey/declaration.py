"""The spec of a survey: one arm a member set, four claims each, at a level that holds for all of them together.

On a table without structure all four are true of every member set, so whatever a survey finds there is an error. The
rows of one value differ from the others by chance even then, and every repeat draws from these same rows: a margin on
each claim is what such chance may explain (`chance_margin`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from harness.data.split import Sizes
from harness.data.steps import LEAST_SHOWN
from harness.extensions.survey.member_sets import RANDOM, MemberSet

RATE = 0.05
"""False discovery rate over all claims of a survey."""
BOUND, DIRECTION, SPLIT, BLIND = "bound", "direction", "split", "blind"
"""What the claims on a member set end in."""
RELATIONS = {
    BOUND: "the bound holds, whichever way round the loss attack is.",
    DIRECTION: "the loss attack is the right way round, members are no harder to predict than non-members.",
    SPLIT: "the loss attack finds no more than on a random split.",
    BLIND: "a blind attack, which never sees the model, finds nothing.",
}
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*( [A-Za-z][A-Za-z0-9_]*)*")
"""Text that YAML takes for text without quotes, unless it is one of `WORDS`."""
WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


@dataclass(frozen=True)
class SurveyPlan:
    """What is trained and measured of each member set."""

    title: str
    dataset: Mapping[str, object]
    """As a spec writes it."""
    sizes: Sizes
    rows: int
    """Of the table."""
    epsilons: tuple[float, ...] = (0.1, 1.0, math.inf)
    """Rising; the last is infinite: the model without noise, whose attack is compared with the blind one."""
    delta: float = 1e-5
    hidden: tuple[int, ...] = (64,)
    """Units of each hidden layer."""
    epochs: int = 20
    batch_size: int = 50
    repeats: int = 12
    """Repeats that a member set may get where a claim about it is open; up to three times as many where they would
    decide it."""
    formula: str = "humphries"
    """The bound that attacks are compared with."""
    seed: int = 1
    least_shown: int = LEAST_SHOWN
    """Rows that share a value that is named."""


def chance_margin(inside: int, outside: int, level: float) -> float:
    """By how much an advantage on a table of so many rows may differ from that on whom they were drawn from.

    An advantage is a share of the rows inside less a share of those outside, each with a standard deviation of at most
    1 / (2 sqrt(rows)); the normal quantile of `level` says how many of them chance may be off by, to one side.
    """
    deviation = 0.5 * math.sqrt(1 / inside + 1 / outside)
    return NormalDist().inv_cdf(1 - level) * deviation


def write_declaration(plan: SurveyPlan, sets: Sequence[MemberSet]) -> str:
    """The YAML text of a survey's spec.

    Its level is the false discovery rate, divided by the number of claims and by two, for a claim may turn out either
    way: a claim that is decided at that level is among the discoveries of e-BH (Wang and Ramdas 2022) whatever the
    others show, so the run may stop there. A claim is violated only beyond twice its margin, so each margin is half of
    `chance_margin` at that level.
    """
    arms = [MemberSet(RANDOM, "random split", 0, {"kind": "random"}), *sets]
    finite = [epsilon for epsilon in plan.epsilons if math.isfinite(epsilon)]
    claims = [(one, name) for one in arms for name in _claim_names(one, finite)]
    level = RATE / (2 * len(claims))
    lines = [
        f"# A survey of {plan.title}, written by `harness survey`: {len(sets)} member sets beside a random split.",
        "paper: own",
        f"title: {_flow(f'Survey of {plan.title}')}",
        "where: survey",
        f"level: {level:.3g}  # {RATE:g} / (2 x {len(claims)} claims)",
        "rarest: 1  # no bound on what so few repeats may show at such a level",
        *([] if plan.least_shown == LEAST_SHOWN else [f"least_shown: {plan.least_shown}"]),
        "",
        "experiment:",
        f"  seed: {plan.seed}",
        f"  dataset: {_flow(plan.dataset)}",
        "  preprocessing: {impute: mean-mode, scaling: min-max}",
        f"  sizes: {_flow(plan.sizes.model_dump())}",
        f"  model: {_flow({'kind': 'mlp', 'hidden': list(plan.hidden), 'activation': 'relu'})}",
        f"  training: {_flow(_training(plan))}",
        f"  privacy: {_flow({'epsilons': list(plan.epsilons), 'delta': plan.delta})}",
        f"  repeats: {plan.repeats}",
        "  arms:",
        *(f"    {one.name}: {_flow({'label': one.label, 'split': dict(one.split)})}" for one in arms),
        "",
        "attacks:",
        "  logloss: {kind: logloss}",
        "  blind: {kind: blind}",
        "",
        "claims:",
        *(line for one, name in claims for line in _claim(plan, one, name, finite, level)),
        "",
        "figure:",
        f"  - {_flow(_panel(plan, finite))}",
    ]
    return "\n".join(lines) + "\n"


def _training(plan: SurveyPlan) -> dict[str, object]:
    batch = min(plan.batch_size, plan.sizes.members)
    return {"engine": "fast", "learning_rate": 0.01, "batch_size": batch, "epochs": plan.epochs}


def _panel(plan: SurveyPlan, finite: Sequence[float]) -> dict[str, object]:
    formulas = {"formulas": [plan.formula]} if finite else {}
    return {"title": "Random split", "metrics": ["advantage"], "arms": [RANDOM], "attacks": ["logloss"], **formulas}


def _claim_names(member_set: MemberSet, finite: Sequence[float]) -> list[str]:
    """Claims on a member set; a bound is for models with noise, and the random split is not compared with itself."""
    on_split = [] if member_set.name == RANDOM else [SPLIT]
    return [*([BOUND] if finite else []), DIRECTION, *on_split, BLIND]


def _claim(plan: SurveyPlan, member_set: MemberSet, name: str, finite: Sequence[float], level: float) -> list[str]:
    inside, outside = member_set.rows, plan.rows - member_set.rows
    half = float(f"{chance_margin(inside, outside, level) / 2:.3g}") if inside and outside else 0.0
    left = {"metric": "advantage", "arm": member_set.name, "attack": "blind" if name == BLIND else "logloss"}
    at: dict[str, object] = {"kind": "compare", "left": left, "at": list(finite) if name == BOUND else [math.inf]}
    expect: dict[str, object] | list[dict[str, object]]
    if name == BOUND:
        expect = [
            {**at, **_at_most({"formula": plan.formula}, half)},
            {**at, **_at_least({"formula": plan.formula, "times": -1}, half)},
        ]
    elif name == DIRECTION:
        expect = {**at, **_at_least({"value": 0}, half)}
    else:
        expect = {**at, **_at_most({"arm": RANDOM} if name == SPLIT else {"value": 0}, half)}
    statement = f"{member_set.label[:1].upper()}{member_set.label[1:]}: {RELATIONS[name]}"
    return [
        f"  - id: {member_set.name}-{name}",
        "    where: survey",
        f"    statement: {_flow(statement)}",
        f"    expect: {_flow(expect)}",
    ]


def _at_most(right: dict[str, object], margin: float) -> dict[str, object]:
    return {"relation": "<=", "right": right, **({"margin": margin} if margin else {})}


def _at_least(right: dict[str, object], margin: float) -> dict[str, object]:
    return {"relation": ">=", "right": right, **({"margin": -margin} if margin else {})}


def _flow(value: object) -> str:
    """A value as YAML on one line; text in quotes wherever it could be taken for something else."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flow(str(key))}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        return ".inf" if value == math.inf else f"{value:.12g}"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    plain = PLAIN.fullmatch(text) is not None and text.lower() not in WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)
