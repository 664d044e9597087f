"""What claims compare is worked out once, and its numbers are taken once, for every look, method and tolerance."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.claims.combine import judge_part
from harness.claims.contrasts import (
    BetweenEnds,
    Both,
    Comparisons,
    Contrast,
    Counts,
    Either,
    Node,
    NotRun,
    RepeatNumber,
    SomeOwnerSet,
    WholeClaims,
    leaves_of,
)
from harness.claims.design import Bounded, Fixed, Sequential
from harness.claims.expectation import CLAIM_KINDS, MeasuredClaimKind
from harness.claims.operands import MetricSeries, Number
from harness.claims.results import Part, PartResult
from harness.claims.samples import Samples
from harness.claims.series import OUTCOME
from harness.claims.testing import Look
from harness.paths import Project
from harness.spec.claim import Claim
from harness.spec.load import load_specs
from harness.spec.model import Spec
from harness.verdicts.evidence import evidence_of
from harness.verdicts.measured import judge_of
from tests.claims.judged import evidence_of as judged_evidence
from tests.claims.judged import parts_of
from tests.conftest import PARAMS, REPO, SMALL_SPEC

METHODS = (Fixed(), Sequential(), Bounded())
EPSILONS = (1.0, 2.0, 4.0, 10.0)
BATCHES = (10.0, 20.0, 40.0)
REPEATS = 9
LEAKS = {"metric": "advantage", "arm": "size", "attack": "logloss"}
OTHER = {**LEAKS, "arm": "iid"}
LEARNS = {"metric": "accuracy_test", "arm": "size"}
ABOVE = {"kind": "compare", "left": LEAKS, "relation": ">", "right": {"arm": "iid"}}
EXAMPLES: dict[str, dict[str, Any]] = {
    "compare": ABOVE,
    "compare, a tolerance": {**ABOVE, "relation": "<", "margin": 0.05},
    "compare, some": {**ABOVE, "for": "some"},
    "compare, a formula": {"kind": "compare", "left": OTHER, "relation": "<=", "right": {"formula": "humphries"}},
    "close": {"kind": "close", "left": LEAKS, "right": {"value": 0.3}, "tolerance": 0.05},
    "order": {"kind": "order", "of": [LEAKS, OTHER, {**OTHER, "metric": "auc"}], "direction": "falling"},
    "monotone": {"kind": "monotone", "of": LEAKS, "direction": "rising"},
    "concave": {"kind": "concave", "of": LEAKS},
    "table": {"kind": "table", "tolerance": 0.05, "rows": [{"of": LEAKS, "values": {1.0: 0.2, 4.0: 0.6}}]},
    "any-of": {"kind": "any-of", "of": [ABOVE, {**ABOVE, "right": {"value": 0.9}}]},
    "at-least": {"kind": "at-least", "needed": 3, "of": [ABOVE], "over": {"epsilon": list(EPSILONS)}},
    "count": {"kind": "count", "arm": "iid", "equals": {"rows": 569, "members": 120}},
    "correlation": {"kind": "correlation", "left": LEAKS, "right": LEARNS, "above": 0.1},
    "rank-correlation": {"kind": "rank-correlation", "of": LEAKS, "with": LEARNS, "above": 0.1},
    "same-curve": {"kind": "same-curve", "metric": "accuracy_test", "arms": ["size", "iid"], "tolerance": 0.01},
    "waits-for": {"kind": "waits-for", "what": "a larger machine"},
}
"""On the epsilons alone."""
EXAMPLES_ALONG_BATCHES: dict[str, dict[str, Any]] = {
    "compare, batches": {**ABOVE, "left": {**LEAKS, "mean_over": "batch"}, "for": {"epsilon": "some"}},
    "interior-peak": {"kind": "interior-peak", "of": LEAKS, "along": "batch"},
    "arg-max": {"kind": "arg-max", "of": LEAKS, "along": "batch", "is": 20},
    "variance-share": {"kind": "variance-share", "of": LEAKS, "axis": "batch", "than": "epsilon"},
}
NOT_PLAIN: dict[str, dict[str, Any]] = {
    "chosen": {**ABOVE, "left": {**LEAKS, "chosen": {"metric": "accuracy_test", "at_least": 0.1}}},
    "owner set": {**ABOVE, "at": [1], "for": {"owner_set": "some"}},
    "one owner set": {"kind": "one-owner-set", "of": [{**ABOVE, "at": [1]}, {**ABOVE, "at": [2], "relation": "<"}]},
}
OF_RUNS: dict[str, dict[str, Any]] = {
    "of runs": {**ABOVE, "left": {**LEAKS, "metric": "exposed_in_every_run_at_1pct_fpr"}, "right": {"value": 0.2}}
}
"""Whose numbers at the first repeats are not always the first of all numbers."""
ALL_EXAMPLES = EXAMPLES | EXAMPLES_ALONG_BATCHES | NOT_PLAIN | OF_RUNS


def load(root: Path, examples: dict[str, dict[str, Any]], *changes: tuple[str, str]) -> Spec:
    """The small spec with these claims, no cell of which is ever run."""
    (root / "specs" / "own").mkdir(parents=True)
    claims = [
        {"id": f"c{number}", "where": "here", "statement": name, "expect": one}
        for number, (name, one) in enumerate(examples.items())
    ]
    text = SMALL_SPEC[: SMALL_SPEC.index("claims:")] + "claims: " + json.dumps(claims) + "\n"
    epsilons = "epsilons: [1, 10, .inf]", "epsilons: [1, 2, 4, 10, .inf]"
    for old, new in (epsilons, ("repeats: 2", f"repeats: {REPEATS}"), *changes):
        text = text.replace(old, new)
    (root / "specs" / "own" / "cancer.yaml").write_text(text)
    (root / "specs" / "papers.yaml").write_text((REPO / "specs" / "papers.yaml").read_text())
    (root / "params.yaml").write_text(PARAMS)
    return load_specs(Project(root), [])[0].spec


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Spec]:
    """By example, the spec that has it."""
    batches = f"batch_size: {{axis: batch, values: {list(map(int, BATCHES))}}}"
    plain, along, of_runs = (
        load(tmp_path_factory.mktemp("project"), examples, *changes)
        for examples, changes in (
            (EXAMPLES | NOT_PLAIN, ()),
            (EXAMPLES_ALONG_BATCHES, (("batch_size: 20", batches),)),
            (OF_RUNS, (("  repeats:", "  resample: training\n  repeats:"),)),
        )
    )
    return {
        **dict.fromkeys(EXAMPLES | NOT_PLAIN, plain),
        **dict.fromkeys(EXAMPLES_ALONG_BATCHES, along),
        **dict.fromkeys(OF_RUNS, of_runs),
    }


def claim_of(spec: Spec, name: str) -> Claim:
    return next(claim for claim in spec.claims if claim.statement == name)


def rows_of(spec: Spec) -> pd.DataFrame:
    """Made-up measurements of all arms, metrics and places of a spec."""
    rng, rows = np.random.default_rng(3), []
    batches = BATCHES if "batch" in spec.axes else (math.nan,)
    for arm, lift in (("size", 0.1), ("iid", 0.0)):
        for batch in batches:
            for rank, epsilon in enumerate((*EPSILONS, math.inf)):
                bend = 0.0 if math.isnan(batch) else 0.02 * (batch == BATCHES[1])
                for metric, start in (("advantage", 0.2), ("auc", 0.1), ("accuracy_test", 0.3)):
                    attack = "" if metric == "accuracy_test" else "logloss"
                    for repeat in range(REPEATS):
                        value = start + lift + bend + 0.1 * rank + rng.normal(0, 0.02)
                        rows.append((arm, attack, metric, batch, epsilon, repeat, value, 1e-3, 8.0 / 2**rank + lift))
        for repeat in range(1, REPEATS, 2):  # of two runs each
            for epsilon in EPSILONS:
                value = 0.1 + lift + rng.uniform(0, 0.1)
                rows.append(
                    (
                        arm,
                        "logloss",
                        "exposed_in_every_run_at_1pct_fpr",
                        math.nan,
                        epsilon,
                        repeat,
                        value,
                        0.01,
                        math.nan,
                    )
                )
        for repeat in range(REPEATS):
            for name, count in (("rows", 569.0), ("members", 120.0), ("owner_set", (200.0, 300.0)[repeat % 3 == 1])):
                rows.append((arm, "", f"count_{name}", math.nan, math.nan, repeat, count, 0.0, math.nan))
    columns = ["arm", "attack", "metric", "batch", "epsilon", "repeat", "value", "stderr", "noise_multiplier"]
    frame = pd.DataFrame(rows, columns=columns)
    frame.attrs["design"] = "sequential"
    return frame


def samples_of(spec: Spec) -> Samples:
    return Samples(evidence_of(spec, rows_of(spec)))


class Watch:
    """How often each claim said what it compares, and what it said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, spec: Spec) -> None:
        self.calls: Counter[int] = Counter()
        self.said: dict[int, Any] = {}
        self.parts: list[MeasuredClaimKind] = []
        kinds = {type(part): type(part).contrasts for claim in spec.claims for part in _with_made_of(spec, claim)}
        for kind, contrasts in kinds.items():
            monkeypatch.setattr(kind, "contrasts", self._counted(contrasts))
        parts_of_claim = Spec.parts

        def parts(spec: Spec, claim: Claim) -> Any:
            self.parts += (found := parts_of_claim(spec, claim))
            return found

        monkeypatch.setattr(Spec, "parts", parts)

    def _counted(self, contrasts: Callable[..., Any]) -> Callable[..., Any]:
        def counted(part: MeasuredClaimKind, table: Any) -> Any:
            self.calls[id(part)] += 1
            self.said[id(part)] = contrasts(part, table)
            return self.said[id(part)]

        return counted


def _with_made_of(spec: Spec, claim: Claim) -> list[MeasuredClaimKind]:
    parts = list(spec.parts(claim))
    return [*parts, *(one for part in parts for one in part.made_of())]


def read_all(result: PartResult) -> None:
    """Everything of a result that is computed when it is asked for."""
    assert result.oppose <= 1
    assert result.reason
    assert len(result.points) == len(result.point_results or result.exact_points)
    for one in result.point_results:
        assert one.holds is None or len(one.holds) <= one.repeats


def test_every_kind_of_claim_has_an_example() -> None:
    used = {one["kind"] for one in ALL_EXAMPLES.values()}
    built_in = {
        name
        for name, kind in CLAIM_KINDS
        if issubclass(kind, MeasuredClaimKind) and kind.__module__.startswith("harness.claims.")
    }
    assert used == built_in


@pytest.mark.parametrize("name", ALL_EXAMPLES)
def test_what_a_claim_compares_is_worked_out_once_and_its_numbers_are_taken_once(
    name: str, specs: dict[str, Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all numbers of first repeats, three methods, and with tolerances doubled."""
    spec, outcomes = specs[name], set()
    watch, samples = Watch(monkeypatch, spec), samples_of(spec)
    judge_claim, taken = judge_of(claim_of(spec, name), spec, 0.05), None
    parts = list(watch.parts)
    assert parts
    for look in looks_at(samples):
        for result in judge_claim(look):
            read_all(result)
            outcomes.add(result.outcome)
        for part in parts:  # also where a part is not violated, so that its tolerance stays as it is
            read_all(judge_part(watch.said[id(part)], look.with_doubled_tolerance(), Part(0, len(parts), 0.025)))
        if taken is None:
            taken = samples.taken
        if name not in NOT_PLAIN | OF_RUNS:
            assert samples.taken == taken
    assert {id(part) for part in parts} <= set(watch.calls)
    assert set(watch.calls.values()) == {1}
    assert (taken == 0) == (name in ("count", "waits-for"))
    assert ("not run" in outcomes) == (name == "waits-for")


def looks_at(samples: Samples) -> Iterator[Look]:
    """At the first two repeats, the first three, five, eight and so on, and at all, by each method."""
    every = samples.table.repeats
    for n in sorted({n for n in (2, 3, 5, 6, 8, 13, 21) if n < every} | {every}):
        for method in METHODS:
            yield Look(samples, method).take_first(n)


@pytest.mark.parametrize("name", ALL_EXAMPLES)
def test_a_look_at_the_first_repeats_finds_what_a_table_of_these_alone_shows(name: str, specs: dict[str, Spec]) -> None:
    spec = specs[name]
    rows, claim = rows_of(spec), claim_of(spec, name)
    samples, judge_claim = Samples(evidence_of(spec, rows)), judge_of(claim, spec, 0.05)
    for n in (2, 6, 7, REPEATS):
        cut = Samples(evidence_of(spec, rows[rows["repeat"] < n]))
        for method in METHODS:
            first = [told(one) for one in judge_claim(Look(samples, method).take_first(n))]
            alone = [told(one) for one in judge_of(claim, spec, 0.05)(Look(cut, method))]
            assert first == alone


def told(result: PartResult) -> dict[str, Any]:
    """All that a result says, in comparable form."""
    held = [None if one.holds is None else one.holds.tolist() for one in result.point_results]
    return {
        "outcome": result.outcome,
        "points": result.points,
        "place": result.place,
        "p": (result.p_value, result.support, result.oppose),
        "words": (result.test, result.correction, result.reason),
        "cells": [(one.cells, one.repeats, one.looked_at) for one in result.point_results],
        "holds": held,
        "absent": result.absent,
    }


A = {"metric": "advantage", "arm": "a", "attack": "x"}
B = {**A, "arm": "b"}
OVER = {"kind": "compare", "left": A, "relation": ">", "right": {"arm": "b"}, "margin": 0.1}
KINDS: dict[str, dict[str, Any]] = {
    "compare": OVER,
    "compare, some": {**OVER, "for": "some"},
    "close": {"kind": "close", "left": A, "right": {"arm": "b"}, "tolerance": 0.1},
    "order": {"kind": "order", "of": [A, B, {**A, "metric": "auc"}], "direction": "falling"},
    "table": {
        "kind": "table",
        "tolerance": 0.2,
        "share": 0.5,
        "rows": [{"of": A, "values": {1.0: 0.3, 2.0: 0.5}}, {"of": B, "values": {2.0: 0.6}, "tolerance": 0.1}],
    },
    "at-least": {"kind": "at-least", "needed": 1, "of": [OVER], "over": {"epsilon": [1.0, 2.0]}},
}


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Of two arms at two epsilons, each cell with repeats of its own number; the split may draw one of two outcomes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread, decimals = draw(st.sampled_from([0.0, 0.02, 0.3])), draw(st.sampled_from([1, 12]))
    error = draw(st.sampled_from([0.0, 0.02]))
    cells = [(arm, epsilon) for arm in ("a", "b") for epsilon in (1.0, 2.0)]
    rows = []
    for (arm, epsilon), repeats in zip(cells, draw(st.tuples(*[st.integers(2, 12)] * 4)), strict=True):
        for metric in ("advantage", "auc"):
            values = np.clip(rng.uniform(0.2, 0.8) + spread * rng.normal(size=repeats), 0, 1).round(decimals)
            rows += [(arm, "x", metric, epsilon, repeat, value, error) for repeat, value in enumerate(values)]
    if draw(st.booleans()):
        drawn = rng.integers(2, size=12)
        for arm, _, metric, epsilon, repeat, _, _ in list(rows):
            if metric == "auc":
                rows.append((arm, "", OUTCOME[0], epsilon, repeat, float(drawn[repeat]), 0.0))
                rows.append((arm, "", OUTCOME[1], epsilon, repeat, 2.0, 0.0))
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr"])


@pytest.mark.parametrize("kind", KINDS)
@given(frame=tables(), n=st.integers(2, 13), method=st.sampled_from(METHODS), doubled=st.booleans())
def test_a_look_at_the_first_repeats_is_one_at_a_table_that_ends_there(
    kind: str, frame: pd.DataFrame, n: int, method: Any, doubled: bool
) -> None:
    whole, cut = judged_evidence(frame), judged_evidence(frame[frame["repeat"] < n])
    (part,) = parts_of(KINDS[kind], whole)
    compared, samples, which = part.contrasts(whole), Samples(whole), Part(0, 1, 0.025, method.fewest)
    judge_part(compared, Look(samples, method), which)  # of all repeats before, so that something may be left over
    first = judge_part(compared, Look(samples, method, n, doubled), which)
    alone = judge_part(part.contrasts(cut), Look(Samples(cut), method, doubled=doubled), which)
    assert told(first) == told(alone)


def leaf(number: int) -> Contrast | BetweenEnds | RepeatNumber:
    """One of each sort in turns."""
    curve, where = MetricSeries("advantage", "a", "x"), {"epsilon": float(number)}
    if number % 3 == 0:
        return Contrast(curve, Number(value=0.5), where, ">", 0.0)
    if number % 3 == 1:
        return BetweenEnds(curve, where, ((curve, where), (curve, where)), 0.1, 0.2)
    return RepeatNumber([(curve, where)], lambda values: values[0], ">", 0.0, "nothing varies")


def contrast(number: int) -> Contrast:
    found = leaf(3 * number)
    assert isinstance(found, Contrast)
    return found


LEAVES = st.integers(0, 8).map(leaf)
SOME_OWNER_SET = st.lists(st.integers(1, 9), max_size=3, unique=True).map(
    lambda sizes: SomeOwnerSet({float(size): contrast(size) for size in sizes}, contrast(0))
)
NODES: st.SearchStrategy[Node] = st.recursive(
    LEAVES | SOME_OWNER_SET,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda of: Either(tuple(of))),
        st.lists(inner, min_size=1, max_size=3).map(lambda of: Both(tuple(of))),
        st.lists(st.lists(inner, max_size=3), min_size=1, max_size=2).map(
            lambda claims: WholeClaims(tuple(Comparisons(tuple(of), "") for of in claims))
        ),
    ),
    max_leaves=12,
)


def found_in(value: object) -> Iterator[object]:
    """Everything in a structure that is tested by itself, whatever fields hold it."""
    if isinstance(value, Contrast | BetweenEnds | RepeatNumber):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from found_in(one)
    elif isinstance(value, dict):
        yield from found_in(tuple(value.values()))
    elif is_dataclass(value):
        for field in fields(value):
            yield from found_in(getattr(value, field.name))


@given(node=NODES)
def test_leaves_are_all_that_is_tested_by_itself_in_order(node: Node) -> None:
    assert [id(one) for one in leaves_of(node)] == [id(one) for one in found_in(node)]


@pytest.mark.parametrize("name", ALL_EXAMPLES)
def test_leaves_of_a_claim_are_of_all_curves_that_it_names(name: str, specs: dict[str, Spec]) -> None:
    spec = specs[name]
    table = samples_of(spec).table
    for part in spec.parts(claim_of(spec, name)):
        compared = part.contrasts(table)
        if not isinstance(compared, Comparisons):
            assert isinstance(compared, Counts | NotRun)
            assert name in ("count", "waits-for")
            continue
        leaves = [one for node in compared.of for one in leaves_of(node)]
        assert [id(one) for one in leaves] == [id(one) for one in found_in(compared)]
        of = {_named(curve) for one in leaves for curve in _curves(one)}
        assert of == {_named(o.model_copy(update={"arm": (arm,)}).curve) for o in part.operands() for arm in o.arm}


def _curves(one: Contrast | BetweenEnds | RepeatNumber) -> list[MetricSeries]:
    if isinstance(one, Contrast):
        return one.curves
    if isinstance(one, BetweenEnds):
        return [one.left, *(curve for curve, _ in one.ends)]
    return [curve for curve, _ in one.places]


def _named(curve: MetricSeries) -> MetricSeries:
    """A curve wherever it is looked at."""
    return replace(curve, at=())
