"""What a judged claim looks like; the schema of `verdicts.json` is generated from here."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field

from harness.claims.expression import Expression
from harness.claims.origin import Origin, Quote
from harness.claims.reasons import DIGITS, Reason
from harness.claims.words import Certainty, Word
from harness.config import Config

Outcome = Literal["reproduced", "violated", "inconclusive", "not run"]
"""What a test finds of an inequality."""
Data = Literal["none", "paper", "smaller", "variant", "other", "stand-in", "own", "elsewhere"]
"""What a claim is judged on. `none`: theory. `paper`: the paper's data at its scale. `smaller`: the same, less of
something. `variant`: by a variant of a published attack, or on another kind of model. `other`: another real data set.
`stand-in`: drawn or made in its place. `own`: there is no paper. `elsewhere`: a file of results that nothing here
measured."""
ControlName = Literal["nothing", "guess", "exchanged", "unprotected", "one-side"]
BoundStatus = Literal["held", "broken", "undecided"]
DesignName = Literal["fixed", "sequential"]
StandsBy = Literal["bets", "t-test"]
Basis = Literal["proof", "computed", "simulated", "exact", "distribution-free", "t-test", "record-sampling"]

KEPT_IN_POINTS = {"epsilon", "low", "high"}
"""What is said of each point, even if it is nothing."""


class Point(Config):
    """One place of the grid that a claim looks at."""

    expectation: int
    """Index of the part of the claim, from 0."""
    epsilon: float | None = None
    at: dict[str, float | str | bool] | None = None
    """Values of the other axes, where there are any."""
    chosen: dict[str, tuple[float, ...]] | None = None
    """Of each axis on which a side's place is chosen: the values that are, over all repeats."""
    left: float
    """Mean of the left side over repeats."""
    left_from_below: float | None = None
    """Where the left side is the largest over thresholds, which on average is not too low: the mean of what is not too
    high, at thresholds that other records choose, or the attack's own."""
    right: float
    """Mean of the right side, margin included."""
    effect: float
    """Distance to the claimed side of the inequality; positive: as claimed."""
    low: float | None
    """Lower end of the 95% interval of the effect (none: unbounded)."""
    high: float | None
    """Upper end of the 95% interval of the effect (none: unbounded)."""
    p_support: float
    """p-value against 'the inequality does not hold here'."""
    p_oppose: float
    """p-value against 'the inequality holds here'."""
    repeats: int
    holds: int | None = None
    """In how many of these repeats the inequality holds, each taken by itself."""
    share: float | None = None
    """So it holds in at least this share of all repeats, with confidence 97.5% and whatever their distribution."""
    free_low: float | None = None
    """Lower end of the 95% interval of the effect that uses the metric's range alone."""
    free_high: float | None = None
    bound: float | None = None
    """The theoretical bound at this epsilon, as the paper compares it."""
    bound_status: BoundStatus | None = None
    bound_corrected: float | None = None
    """The bound after converting add/remove-one (epsilon, delta) to the bound's replace-one."""
    bound_corrected_status: BoundStatus | None = None
    epsilon_as_trained: float | None = None
    """Where training shuffles and the accountant assumed otherwise: the epsilon of this noise, for the bound's
    adjacency, without amplification: by one Gaussian mechanism an epoch, a bound for any order of the batches."""
    least_epsilon_as_trained: float | None = None
    """The same from below: no accounting can certify less for batches cut from a permutation."""
    bound_as_trained: float | None = None
    """The bound at that epsilon."""
    bound_as_trained_status: BoundStatus | None = None


class ReadingVerdict(Config):
    """The same claim where the paper's silence is read differently."""

    choice: str
    """What the paper leaves open."""
    field: str
    """What is read otherwise: a field of the spec, or the sentence."""
    value: Any
    verdict: Word
    reason: str
    profile: str = Field(default="", exclude_if=lambda profile: not profile)
    """The profile whose tables it is judged from, where that is another than the verdict's."""

    @property
    def text(self) -> str:
        """`field = value`."""
        return f"{self.field} = {value_text(self.value)}"


def value_text(value: object) -> str:
    """A value of a reading as YAML has it, or the name that it gives itself; of a mapping and a list, the parts."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return str(value.get("name") or ", ".join(f"{name} {value_text(part)}" for name, part in value.items()))
    return ", ".join(map(value_text, value)) or "[]" if isinstance(value, list | tuple) else str(value)


class ClaimText(Config):
    """What a claim says, whose it is, and how its inequality renders it."""

    catalogue: tuple[str, ...]
    where: str
    kind: str
    statement: str
    origin: Origin = "ours"
    """Who makes the claim."""
    corrects: str | None = None
    """The claim in whose place it is right."""
    quotes: tuple[Quote, ...] = ()
    """The paper's own words."""
    hedge: str = ""
    """How the inequality renders what they hedge."""
    printed: str = Field(default="", exclude_if=lambda printed: not printed)
    """What the claim comes to on the numbers that the paper prints; empty: none is asked for."""
    inequality: tuple[str, ...] = ()
    """The expectation, rendered from its declaration: one text for each part."""
    expressions: tuple[Expression, ...] = Field(default=(), exclude_if=lambda expressions: not expressions)
    """The same as trees, for whoever renders them in a way of their own."""
    definitions: dict[str, str] = Field(default_factory=dict)
    """Formula and source of each quantity that the inequality names."""
    note: str = ""


class Numbers(Config):
    """What was measured or computed of a claim, and how it was tested."""

    test: str
    correction: str
    alpha: float
    repeats: int | None = None
    effect: float | None = None
    interval: tuple[float | None, float | None] | None = None
    """95% interval of the effect at the deciding point."""
    bound_value: float | None = None
    points: tuple[Point, ...] = ()
    counterexample: dict[str, float] | None = None
    p_value: float | None = None
    """Of the verdict on measurements, corrected for the points and parts of the claim (both directions together)."""
    e_value: float | None = None
    """Of the verdict, on its basis: how many times a stake was multiplied by betting against the opposite."""
    p_anytime: float | None = None
    """The same by the t-test, over all looks at all repeats there are."""
    p_by_bets: float | None = None
    """The same by bets within the metric's range."""
    p_catalogue: float | None = None
    """The p-value, corrected over all claims of the profile that were tested on measurements (Holm); in the report."""
    claims_tested: int | None = None
    """How many those are."""
    stands: bool | None = None
    """Whether it is among the verdicts of which at most 5% are expected to be wrong."""
    stands_by: StandsBy | None = None
    """By which of the two tests: the one that assumes least."""
    design: DesignName = "fixed"
    """`sequential`: repeats were added until the claim was decided."""
    stopped: int | None = None
    """Repeats at the first look that decided it (sequential; none: it was not decided)."""
    models: int | None = None
    """Trained models that this claim's verdict stands on (sequential)."""
    models_fixed: int | None = None
    """Models that the fixed design would have trained for it."""


class RestsOn(Config):
    """What a verdict rests on: data, scale, assumptions, and readings of what the paper leaves open."""

    data: Data
    """What it was judged on."""
    smaller: tuple[str, ...] = ()
    """What there was less of than in the paper."""
    basis: Basis | None = None
    """What a decided verdict rests on. `proof`, `computed` (at points), `simulated`: on no measurement of the
    experiment. `exact`: on a count.
    `distribution-free`: on the range of the metric alone. `t-test`: also on no outcome of a repeat being rarer than
    once in `rarest`. `record-sampling`: on errors of drawing records, of one number that all repeats give together."""
    rarest: int | None = None
    seen: int = Field(default=0, exclude_if=lambda seen: not seen)
    """The most runs of a place that had been measured when the claim was declared, or last changed. The numbers are of
    those since, unless the verdict is exploratory."""
    exploratory: bool = Field(default=False, exclude_if=lambda exploratory: not exploratory)
    """Whether a decided claim takes those runs to decide it."""
    reductions: tuple[str, ...] = ()
    """What the profile took away from the paper's scale."""
    deviations: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    """Mismatches of adjacency or sampling between bound, accountant and training."""
    ambiguities: tuple[dict[str, Any], ...] = ()
    """Choices the paper leaves open, and the reading taken."""
    readings: tuple[ReadingVerdict, ...] = ()
    """The verdict in other readings, one choice changed at a time, of those that were run."""
    readings_not_run: tuple[str, ...] = Field(default=(), exclude_if=lambda readings: not readings)
    """The other readings that were not run."""


class ControlOutcome(Config):
    """How often a claim is supported on the tables of a control, on which it ought to fail."""

    control: ControlName
    draws: int
    supported: int

    @property
    def severity(self) -> float:
        """The share of draws in which it is not supported."""
        return 1 - self.supported / self.draws


class Controls(Config):
    """What controls say of a claim on measurements."""

    outcomes: tuple[ControlOutcome, ...] = ()
    """One for each control that was drawn, the one that counts first; none: no control is known."""
    key: str
    """Hash of all that they follow from: claim, table, code."""

    @property
    def severity(self) -> float | None:
        """The share of draws of the control that counts in which the claim is not supported."""
        return self.outcomes[0].severity if self.outcomes else None


class Provenance(Config):
    """By what a verdict can be traced and made again."""

    spec_sha256: str
    data_sha256: str = ""
    code: str = ""
    """Hash of the code that judged."""
    measured_by: tuple[str, ...] = ()
    """By which code it was measured, and at which commits; one of the measurements' spec."""
    packages: dict[str, str] = Field(default_factory=dict)
    seed: int | None = None
    hardware: str = ""
    mlflow: str = ""
    """Name of the MLflow experiment and parent run that hold the cells."""


class Verdict(Config):
    """A claim, judged: how it came out, what it says, the numbers, what they rest on, and where they are from."""

    id: str
    """`<spec>#<claim>`."""
    paper: str
    spec: str
    profile: str
    verdict: Word
    certainty: Certainty | None = None
    """How sure one is of it; none where nothing is decided."""
    reason: str
    """Why, in one sentence: of the parts that decide."""
    reasons: tuple[Reason, ...] = ()
    """Why each part came out as it did; none where nothing was judged."""
    because: tuple[int, ...] = ()
    """The parts of which `reason` speaks."""
    hangs_on: tuple[str, ...] = ()
    """Where it would be violated but for these: readings of what the paper leaves open, tolerances."""
    parts: tuple[Word, ...] = ()
    """Outcome of each part of the claim."""
    met_by: str = Field(default="", exclude_if=lambda met_by: not met_by)
    """Of a claim that could not have failed, and is open for that: by what else it is met, `scores that say nothing in
    100% of draws`."""
    controls: Controls | None = Field(default=None, exclude_if=lambda controls: controls is None)
    """Of a claim on measurements: whether it fails where it ought to."""
    tally: str = ""
    """How far a claim is settled that is not reproduced whole: `1 of 2 parts reproduced, 1 not run`."""
    would_decide: str = ""
    """What would decide an inconclusive claim, and what that would cost (sequential)."""
    claim: ClaimText
    numbers: Numbers
    rests_on: RestsOn
    provenance: Provenance


class VerdictFile(Config):
    """`verdicts.json`."""

    schema_version: Literal[3] = 3
    profile: str
    alpha: float
    verdicts: tuple[Verdict, ...]


def schema_text() -> str:
    """JSON Schema of `verdicts.json`, as committed."""
    schema = VerdictFile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=1, sort_keys=True) + "\n"


TREE = "\0"
"""What stands for a tree until its line is put in; no text of a verdict has it."""


def dump(file: VerdictFile) -> str:
    """The file's content; infinities are left out by construction, so it is strict JSON. A tree is one line."""
    verdicts = [in_json(v) for v in file.verdicts]
    trees = [tree for verdict in verdicts for tree in verdict["claim"].get("expressions", ())]
    for verdict in verdicts:
        if "expressions" in verdict["claim"]:
            verdict["claim"]["expressions"] = [TREE] * len(verdict["claim"]["expressions"])
    data = {**file.model_dump(mode="json", exclude={"verdicts"}), "verdicts": verdicts}
    text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False)
    pieces = text.split(json.dumps(TREE))
    lines = [json.dumps(tree, allow_nan=False, ensure_ascii=False) for tree in trees]
    return "".join(piece + line for piece, line in zip(pieces, [*lines, "\n"], strict=True))


def in_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as it is written.

    Numbers have twelve digits, as many as two processors agree on, and a point's optional fields are there where they
    say something; so do those of a reason.
    """
    data: dict[str, Any] = _round_floats(verdict.model_dump(mode="json"))
    data["numbers"]["points"] = [
        {name: value for name, value in point.items() if value is not None or name in KEPT_IN_POINTS}
        for point in data["numbers"]["points"]
    ]
    data["reasons"] = [{n: v for n, v in reason.items() if v not in (None, "", [], {})} for reason in data["reasons"]]
    return data


def _round_floats(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: _round_floats(one) for name, one in value.items()}
    return [_round_floats(one) for one in value] if isinstance(value, list) else value
