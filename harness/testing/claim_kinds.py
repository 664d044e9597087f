"""The contract of a kind of claim about measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from harness.claims.allocation import allocate_repeats
from harness.claims.arm_facts import ArmFacts
from harness.claims.combine import judge_part
from harness.claims.contrasts import Comparisons, RepeatNumber, leaves_of
from harness.claims.declared import NameScope
from harness.claims.design import Fixed, Sequential
from harness.claims.evidence import Measurements
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.results import Part, PartResult
from harness.claims.samples import Samples
from harness.claims.testing import Look
from harness.hashing import generator
from harness.inference.estimates import FEWEST
from harness.metrics import metrics_of
from harness.testing.nonconformance import check_configuration, require

LEVEL = 0.05
REPEATS = 20


def results(
    means: Mapping[tuple[str, str, str], Mapping[float, float]], repeats: int = REPEATS, spread: float = 0.004
) -> pd.DataFrame:
    """A table of measurements: by arm, attack and metric, at each epsilon, repeats that vary about a mean.

    Args:
        means: for example `{("iid", "logloss", "advantage"): {1.0: 0.1, 10.0: 0.2}}`; an attack of "" is the model.
        spread: the standard deviation of a repeat.
    """
    rows = []
    for number, ((arm, attack, metric), by_epsilon) in enumerate(means.items()):
        for epsilon, mean in by_epsilon.items():
            noise = generator(0, "conformance", number, epsilon).normal(size=repeats)
            noise -= noise.mean()
            rows += [
                (arm, attack, metric, epsilon, r, mean + spread * float(e), spread / 4) for r, e in enumerate(noise)
            ]
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])


def check_claim_kind(claim: MeasuredClaimKind, *, holds: pd.DataFrame, fails: pd.DataFrame) -> None:
    """Whether a kind of claim keeps the contract: its words, names, verdicts, points, and what it asks for.

    Args:
        claim: one of the kind.
        holds: measurements (`results`) that show what it claims.
        fails: measurements that show the opposite.

    Raises NonConformance.
    """
    name = type(claim).plugin_name()
    check_configuration(claim)
    parts = list(claim.parts(_names_in(holds)))
    require(parts, f"{name}: parts() gives no claim")
    for part in parts:
        require(part.text().strip(), f"{name}: tree() gives no words")
        require(
            part.operands(),
            f"{name}: operands() gives nothing; then no name of the claim is checked and its attacks are never run",
        )
        part.check(_names_in(holds))
    _check_outcome(name, parts, holds, "reproduced")
    _check_outcome(name, parts, fails, "violated")
    for index, part in enumerate(parts):
        _check_points(name, part, holds)
        _check_order(name, part, holds)
        _check_asks(name, part, holds, index, len(parts))
        _check_doubled(name, part, holds)


def _names_in(table: pd.DataFrame) -> NameScope:
    """A declaration that has everything that a table has."""
    levels = {"epsilon": tuple(table["epsilon"].unique())}
    attacks = {attack: metrics_of("attack") for attack in table["attack"].unique() if attack}
    return NameScope(dict.fromkeys(table["arm"].unique(), levels), attacks, frozenset(attacks), None, same_records=True)


def _judge(part: MeasuredClaimKind, table: pd.DataFrame, sequential: bool = False, doubled: bool = False) -> PartResult:
    arms = {arm: ArmFacts(delta=1e-5) for arm in table["arm"].unique()}
    known = Measurements(table, arms, Sequential() if sequential else Fixed())
    look = Look(Samples(known), known.design, doubled=doubled)
    return judge_part(part.contrasts(known), look, Part(0, 1, LEVEL / 2, FEWEST))


def _check_outcome(name: str, parts: list[MeasuredClaimKind], table: pd.DataFrame, outcome: str) -> None:
    outcomes = [_judge(part, table).outcome for part in parts]
    enough = outcome in outcomes if outcome == "violated" else set(outcomes) == {outcome}
    given = "holds" if outcome == "reproduced" else "fails"
    require(enough, f"{name}: judged on the table `{given}` it is {', '.join(outcomes)}, and should be {outcome}")


def _check_points(name: str, part: MeasuredClaimKind, table: pd.DataFrame) -> None:
    """Every point names the cells that it stands on, which are of arms that the claim names."""
    result = _judge(part, table)
    if result.is_exact:
        return
    for look in result.point_results:
        require(
            look.cells | look.decided_on, f"{name}: a point without cells, so that more repeats cannot be asked for"
        )
        strangers = {arm for arm, _ in look.cells} - set(part.arms())
        require(
            not strangers, f"{name}: measured on arms that operands() does not give: {', '.join(sorted(strangers))}"
        )


def _check_order(name: str, part: MeasuredClaimKind, table: pd.DataFrame) -> None:
    """Which repeat was which decides nothing in the fixed design, and no order of rows does."""
    rows = table.sample(frac=1.0, random_state=np.random.RandomState(0))
    same = _judge(part, table), _judge(part, rows)
    require(same[0].outcome == same[1].outcome, f"{name}: another order of the table's rows gives another outcome")


def _check_asks(name: str, part: MeasuredClaimKind, table: pd.DataFrame, index: int, parts: int) -> None:
    """After two repeats a sequential design asks for more of the cells that the claim stands on, under its attacks."""
    few = _judge(part, table[table["repeat"] < 2], sequential=True)
    if few.is_exact:
        return
    require(few.outcome == "inconclusive", f"{name}: two repeats decide, where {FEWEST} are the fewest that may")
    asked = allocate_repeats([replace(few, attacks=part.attacks())], LEVEL, REPEATS)
    require(asked, f"{name}: open after two repeats, part {index + 1} of {parts} asks for none")
    attacks = {attack for _, attack in asked}
    named = {attack for of_arm in part.attacks().values() for attack in of_arm}
    require(attacks <= named, f"{name}: asks for attacks that operands() does not give")


def _check_doubled(name: str, part: MeasuredClaimKind, table: pd.DataFrame) -> None:
    """With twice its tolerance what held holds, and it says so just where its contrasts have a tolerance."""
    words, lines = part.doubled_tolerance(), _doubled_lines(part, table)
    require(words is None or words.strip(), f"{name}: doubled_tolerance() does not say what is wider")
    require(
        (words is not None) == bool(lines),
        f"{name}: doubled_tolerance() gives {'words' if words else 'no words'}, and its contrasts "
        f"{'no line with a doubled tolerance' if words else 'have one'}",
    )
    outcome = _judge(part, table, doubled=True).outcome
    require(outcome == "reproduced", f"{name}: with {words} it is {outcome} where it was reproduced before")


def _doubled_lines(part: MeasuredClaimKind, table: pd.DataFrame) -> list[float]:
    """The lines of a claim's contrasts with twice their tolerance."""
    arms = {arm: ArmFacts(delta=1e-5) for arm in table["arm"].unique()}
    compared = part.contrasts(Measurements(table, arms, Fixed()))
    if not isinstance(compared, Comparisons):
        return []
    leaves = (leaf for node in compared.of for leaf in leaves_of(node))
    return [leaf.doubled for leaf in leaves if not isinstance(leaf, RepeatNumber) and leaf.doubled is not None]
