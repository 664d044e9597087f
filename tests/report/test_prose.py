"""Verdicts in words: numbers as a reader wants them, one sentence a verdict, formulas as MathML."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.claims.expression import (
    DomainPart,
    Expression,
    Name,
    Numeral,
    Row,
    Words,
    chain,
    numeral,
    phrase,
    width,
)
from harness.claims.kinds.compare import Compare
from harness.claims.kinds.waits_for import WaitsFor
from harness.claims.operands import MetricSeries
from harness.claims.verdict import Point, Verdict, VerdictFile
from harness.paths import Project
from harness.report.certainty import _readings_sentence
from harness.report.forest import WIDTH, basis_of_intervals, forests, points_by_basis
from harness.report.found import difference_words
from harness.report.mathml import mathml
from harness.report.places import interval_of_left, left_interval
from harness.report.prose import deciding_point, sentence
from harness.report.sides import range_of
from harness.report.tex import untex
from harness.report.vocabulary import (
    ATTACK_WORDS,
    AXIS_WORDS,
    METRIC_WORDS,
    figure,
    figure_beside,
    figures_apart,
    letter,
    letters,
)
from harness.spec.load import load_specs
from harness.spec.model import Spec
from tests.conftest import REPO, committed_specs


@pytest.fixture(scope="module")
def judged() -> tuple[dict[str, Spec], list[Verdict]]:
    """The committed verdicts of the flagship, and the specs that they are of."""
    specs = {one.spec.id: one.spec for one in committed_specs()}
    text = (REPO / "reports/sequential/verdicts.json").read_text()
    return specs, list(VerdictFile.model_validate_json(text).verdicts)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.92249, "0.922"),
        (-0.0283, "−0.0283"),
        (1.0, "1"),
        (0.0, "0"),
        (1801.2, "1,801"),
        (49145700.0, "4.91×10⁷"),
        (0.000319, "3.19×10⁻⁴"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert figure(value) == text


@given(st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-12))
def test_a_number_keeps_three_digits(value: float) -> None:
    assert number_of(figure(value)) == pytest.approx(value, rel=0.0051)


def number_of(text: str) -> float:
    """A number from how it is shown."""
    mantissa, _, power = text.replace("−", "-").replace(",", "").partition("×10")
    digits = "".join(str("⁰¹²³⁴⁵⁶⁷⁸⁹".index(c)) if c in "⁰¹²³⁴⁵⁶⁷⁸⁹" else "-" for c in power)
    return float(mantissa) * 10.0 ** int(digits or 0)


NUMBERS = st.floats(-90, 90).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(NUMBERS, NUMBERS)
def test_a_number_is_shown_on_its_side_of_a_line(value: float, line: float) -> None:
    """With two digits, or as many more as it takes; at most five, by which one may meet the line."""
    shown = number_of(figure_beside(value, line))
    assert shown == pytest.approx(value, rel=0.051)
    for other in (line, 0.0, 1.0):
        assert (shown - other) * (value - other) >= 0


@given(st.floats(0.001, 99), st.floats(0.001, 99))
def test_two_numbers_show_their_difference(one: float, other: float) -> None:
    left, right = map(number_of, figures_apart(one, other))
    if abs(one - other) > 1e-3 * max(one, other):
        assert (left - right) == pytest.approx(one - other, rel=0.26)


def test_a_computed_side_is_told_from_its_line(judged: tuple[dict[str, Spec], list[Verdict]]) -> None:
    """However near: no claim needs more than what its sentence says that there is."""
    specs, verdicts = judged
    told = 0
    for verdict in verdicts:
        text = sentence(verdict, specs[verdict.spec])
        for value, relation, line in re.findall(r" is (\S+); the claim needs (more|less) than (\S+)\.", text):
            assert value != line or not verdict.verdict.holds, (verdict.id, text)
            told += relation == "more"
    assert told > 10


@pytest.mark.parametrize(
    ("difference", "interval", "text"),
    [
        (0.34, (0.1, 0.5), "0.34 higher (95%: 0.1 to 0.5; 6 runs)"),
        (-0.34, (-0.5, -0.1), "0.34 lower (95%: 0.1 to 0.5; 6 runs)"),
        (-0.01, (-0.06, 0.03), "0.01 lower (95%: 0.06 lower to 0.03 higher; 6 runs)"),
        (0.01, (-0.06, 0.03), "0.01 higher (95%: 0.06 lower to 0.03 higher; 6 runs)"),
        (0.01, (-0.03, -0.01), "0.01 higher (95%: 0.01 to 0.03 lower; 6 runs)"),
        (0.2, (0.1, None), "0.2 higher (95%: at least 0.1; 6 runs)"),
        (-0.2, (None, -0.1), "0.2 lower (95%: at least 0.1; 6 runs)"),
        (0.2, (None, 0.3), "0.2 higher (95%: at most 0.3; 6 runs)"),
        (0.0, (None, None), "the same (6 runs)"),
    ],
)
def test_a_difference_is_told_in_the_sense_in_which_it_is(
    difference: float, interval: tuple[float | None, float | None], text: str
) -> None:
    assert difference_words(difference, interval, "6 runs") == text


def test_every_name_of_the_specs_has_a_label_that_a_person_wrote() -> None:
    for spec in (one.spec for one in committed_specs()):
        unknown = {axis for axis in spec.axes if axis not in AXIS_WORDS}
        labelled = ATTACK_WORDS | spec.attack_labels
        unknown |= {name for name in spec.attacks if name.removesuffix("-rehearsed") not in labelled}
        arms = spec.own_experiment.arms if spec.own_experiment is not None else {}
        unknown |= {name for name, arm in arms.items() if len(arms) > 1 and not arm.label}
        parts = (part for claim in spec.claims if not claim.theory for part in spec.parts(claim))
        metrics = {metric for part in parts for operand in part.operands() for metric in operand.metrics}
        unknown |= {name for name in metrics if name not in METRIC_WORDS and "pct_fpr" not in name}
        assert not unknown, f"{spec.id}: give {', '.join(sorted(unknown))} a label"


def test_no_interval_is_wider_than_what_can_be_measured(judged: tuple[dict[str, Spec], list[Verdict]]) -> None:
    specs, verdicts = judged
    looked_at = 0
    for verdict in verdicts:
        claim = next(c for c in specs[verdict.spec].claims if verdict.id == f"{verdict.spec}#{c.id}")
        point = deciding_point(verdict)
        if claim.theory or point is None:
            continue
        part = specs[verdict.spec].parts(claim)[point.expectation]
        for pattern in part.patterns()[:1]:
            ends, interval = range_of(pattern.left), left_interval(pattern, point)
            for end in interval or ():
                if ends is not None and end is not None:
                    looked_at += 1
                    assert ends[0] <= end <= ends[1], verdict.id
    assert looked_at > 200


UNREADABLE = ("to spare", "hangs on", "too close to call", "is claimed", "part 1 of", "one of 1 ", "margin of -")
"""What needs a decoder."""


def test_sentences_need_no_decoder(judged: tuple[dict[str, Spec], list[Verdict]]) -> None:
    """Of two measured sides both values and their difference are told; an open claim says why it is open."""
    specs, verdicts = judged
    compared = opened = 0
    for verdict in verdicts:
        said = sentence(verdict, specs[verdict.spec])
        assert not [words for words in UNREADABLE if words in said.lower()], (verdict.id, said)
        claim = next(c for c in specs[verdict.spec].claims if verdict.id == f"{verdict.spec}#{c.id}")
        point = deciding_point(verdict)
        if claim.theory or point is None or verdict.verdict == "not run":
            continue
        part = specs[verdict.spec].parts(claim)[point.expectation]
        if len(part.patterns()) == 1 and isinstance(part.patterns()[0].right, MetricSeries):
            assert re.search(r": \S+ (higher|lower|apart)|: the same", said), (verdict.id, said)
            compared += 1
        if verdict.verdict == "inconclusive" and not part.printed_entries():
            causes = (
                "Could not have failed",
                "as declared",
                "Off by",
                "Too few runs",
                "Open: ",
                "leaves out",
                "Fails with",
            )
            assert any(cause in said for cause in causes), (verdict.id, said)
            opened += 1
    assert compared > 100
    assert opened > 100


def test_letters() -> None:
    assert letters("eps <= 1 and delta at epsilon_0, exp(eps) >= alpha") == "ε ≤ 1 and δ at epsilon_0, exp(ε) ≥ α"


def test_every_committed_verdict_has_one_sentence(judged: tuple[dict[str, Spec], list[Verdict]]) -> None:
    specs, verdicts = judged
    for verdict in verdicts:
        said = sentence(verdict, specs[verdict.spec])
        assert said.endswith("."), said
        assert said[0].isupper() or said[0].isdigit() or said.startswith(("TPR", "−")), said
        for jargon in ("part 1 of", ", effect ", " nan", "None", "against the against", "  "):
            assert jargon not in said.lower() or jargon in verdict.claim.statement, (verdict.id, said)


def test_a_violated_number_is_told_with_its_interval(judged: tuple[dict[str, Spec], list[Verdict]]) -> None:
    specs, verdicts = judged
    verdict = next(v for v in verdicts if v.id == "humphries2020/fig6#logloss-cap")
    point = deciding_point(verdict)
    assert point is not None
    assert point.left > 0.905 == point.right
    said = sentence(verdict, specs[verdict.spec])
    assert f"is {figure(point.left)} (95%: 0.9" in said
    assert "the claim needs at most 0.9, with a tolerance of 0.005." in said


def test_intervals_of_the_left_side_follow_from_the_effect(judged: tuple[dict[str, Spec], list[Verdict]]) -> None:
    """Wherever it is told, the interval of what is measured holds the measurement, and is on the effect's side."""
    specs, verdicts = judged
    told = 0
    for verdict in verdicts:
        spec = specs[verdict.spec]
        claim = next(c for c in spec.claims if verdict.id == f"{spec.id}#{c.id}")
        parts = spec.parts(claim)
        for point in verdict.numbers.points:
            interval = interval_of_left(parts[point.expectation], point)
            if interval is None or point.low is None or point.high is None:
                continue
            low, high = interval
            assert low is not None
            assert high is not None
            told += 1
            assert low <= high
            if point.low <= point.effect <= point.high:
                assert low - 1e-9 <= point.left <= high + 1e-9, verdict.id
    assert told > 300


def test_forest_rows_are_where_their_numbers_are(judged: tuple[dict[str, Spec], list[Verdict]]) -> None:
    specs, verdicts = judged
    verdict = next(v for v in verdicts if v.id == "humphries2020/fig6#logloss-cap")
    spec = specs[verdict.spec]
    claim = next(c for c in spec.claims if c.id == "logloss-cap")
    (capped,), hidden = forests(verdict.numbers.points, spec.parts(claim), spec, 0.05)
    reaches = next(c for c in spec.claims if c.id == "logloss-reaches-cap")
    reached = next(v for v in verdicts if v.id == f"{spec.id}#{reaches.id}")
    near, *_ = forests(reached.numbers.points, spec.parts(reaches), spec, 0.05)[0]
    assert (capped.axis, near.axis, hidden) == ("measured", "measured", 0)
    for forest in (capped, near):
        for row in forest.rows:
            assert 0 <= row.left <= row.dot <= row.right <= WIDTH or row.open_left or row.open_right
    for row in near.rows:
        assert row.needed == "0.9 ± 0.01"
        assert row.band is not None
        assert row.band[0] < row.line < row.band[1]
        assert row.band[0] <= row.dot <= row.band[1] or row.state != "clears"
    beyond = [row for row in capped.rows if row.state == "misses"]
    assert beyond
    assert all(row.dot > row.line and row.left >= row.line for row in beyond)
    many = [p.model_copy(update={"p_support": i / 200}) for i, p in enumerate(verdict.numbers.points * 9)]
    drawn, hidden = forests(many, spec.parts(claim), spec, 0.05)
    assert sum(len(f.rows) for f in drawn) == 60 == len(many) - hidden


def test_a_distribution_free_interval_holds_the_estimate_beside_it(
    judged: tuple[dict[str, Spec], list[Verdict]],
) -> None:
    """Which another estimator may give; an interval of another number is not shown."""
    shown = 0
    for verdict in judged[1]:
        for point in verdict.numbers.points:
            low = -math.inf if point.free_low is None else point.free_low
            high = math.inf if point.free_high is None else point.free_high
            assert low <= point.effect + 1e-9, verdict.id
            assert point.effect <= high + 1e-9, verdict.id
            shown += math.isfinite(low) or math.isfinite(high)
    assert shown > 1000


def test_the_sentence_and_the_plot_have_one_interval(judged: tuple[dict[str, Spec], list[Verdict]]) -> None:
    """Of verdicts on either test and of undecided claims: the row of the place that decides has the interval that the
    sentence names."""
    specs, verdicts = judged
    told = {"distribution-free": 0, "t-test": 0, None: 0}
    free_of_undecided = 0
    for verdict in verdicts:
        point, spec = deciding_point(verdict), specs[verdict.spec]
        claim = next(c for c in spec.claims if verdict.id == f"{spec.id}#{c.id}")
        if point is None or claim.theory or verdict.rests_on.basis not in told or point.low is None:
            continue
        part = spec.parts(claim)[point.expectation]
        interval = interval_of_left(part, point)
        if not isinstance(part, Compare) or interval is None or None in interval:
            continue
        place = verdict.numbers.points.index(
            next(
                p
                for p in verdict.numbers.points
                if (p.expectation, p.at, p.left) == (point.expectation, point.at, point.left)
            )
        )
        drawn = points_by_basis(verdict)[place]
        assert (drawn.low, drawn.high) == (point.low, point.high)
        (forest, *_), _ = forests([drawn], spec.parts(claim), spec, verdict.numbers.alpha)
        ends = re.search(r"\(95%: (\S+) to (\S+); ", sentence(verdict, spec))
        if ends is None:  # all runs gave the same, or the interval is as wide as the range
            continue
        shown = [number_of(text) for text in forest.rows[0].interval.split(" to ")]
        assert [number_of(text) for text in ends.groups()] == pytest.approx(shown, rel=0.051), verdict.id
        told[verdict.rests_on.basis] += 1
        free_of_undecided += verdict.rests_on.basis is None and basis_of_intervals(verdict) == "distribution-free"
    assert min(told.values()) > 10, told
    assert free_of_undecided > 1


@pytest.mark.parametrize(
    ("left", "low", "high", "interval"),
    [
        (0.93, -0.09, 0.0, "off by 0.01 to 0.1"),
        (0.87, -0.09, 0.0, "off by 0.01 to 0.1"),
        (0.91, -0.03, 0.01, "off by at most 0.04"),
        (0.93, None, None, "unbounded"),
    ],
)
def test_what_is_near_a_printed_number_is_drawn_beside_it(
    left: float, low: float | None, high: float | None, interval: str
) -> None:
    spec = load_specs(Project(REPO), ["humphries2020/fig6"])[0].spec
    claim = next(c for c in spec.claims if c.id == "logloss-reaches-cap")
    point = Point(
        expectation=0, epsilon=1.0, left=left, right=0.9, effect=0.01 - abs(left - 0.9), low=low, high=high,
        p_support=0.5, p_oppose=0.5, repeats=9,
    )  # fmt: skip
    (forest,), _ = forests([point], spec.parts(claim), spec, 0.05)
    assert forest.rows[0].interval == interval
    assert forest.rows[0].value == f"{left:g}"


def test_an_unbounded_interval_is_open() -> None:
    specs = load_specs(Project(REPO), ["humphries2020/fig6"])
    spec = specs[0].spec
    claim = next(c for c in spec.claims if c.id == "logloss-cap")
    point = Point(
        expectation=0, epsilon=1.0, left=0.5, right=0.9, effect=0.4, low=None, high=None, p_support=0.5, p_oppose=0.5,
        repeats=1,
    )  # fmt: skip
    (forest,), _ = forests([point], spec.parts(claim), spec, 0.05)
    (row,) = forest.rows
    assert (row.open_left, row.open_right, row.interval, row.state) == (True, True, "unbounded", "open")


def test_every_inequality_is_well_formed_mathml(judged: tuple[dict[str, Spec], list[Verdict]]) -> None:
    """Nothing of the text is lost: what remains without markup are its letters and digits."""
    every = [part for spec in judged[0].values() for claim in spec.claims for part in claim.theory or spec.parts(claim)]
    inequalities = [part for part in every if not isinstance(part, WaitsFor)]  # which is a sentence
    for text, tree in {part.text(): part.tree() for part in inequalities}.items():
        root = ElementTree.fromstring(mathml(tree))
        flat = "".join(root.itertext())
        assert not set(flat) & set("`<>*_") - ({"<", ">"} & set(text) | {"_"} & set(text)), text
        for raw in ("<=", ">=", "+-", "e-0", "epsilon=", "\xa0\xa0"):
            assert raw not in flat, text
        for node in root.iter():
            assert len(node) == 0 or not (node.text or "").strip()
            said = node.text or ""
            if node.tag == "mn":
                assert set(said) <= set("0123456789.%−"), said
            elif node.tag == "mtext":
                assert not any(c.isdigit() or c in "<>=|()[]{}" for c in said), said
            elif node.tag == "mo":
                assert not any(c.isalnum() for c in said), said
        if "e+" not in text and "e-" not in text and "log_inverse" not in text:
            names = letters(text).replace("≤", "<=").replace("≥", ">=")
            assert [c for c in flat if c.isalnum()] == [c for c in names if c.isalnum()], text


def test_letters_of_an_inequality_are_those_of_its_names(judged: tuple[dict[str, Spec], list[Verdict]]) -> None:
    """Of the tree, name by name; what `letters` makes of the text is the same."""
    for verdict in judged[1]:
        shown = [tree.text(letter) for tree in verdict.claim.expressions]
        assert shown == [letters(text) for text in verdict.claim.inequality]


def test_text_of_a_spec_cannot_bring_markup() -> None:
    for brought in ("<script>alert(1)</script>", "\"&<x>' é", "</mtext><mtext>"):
        name = Name(name=brought, minus=brought, of=(Words(words=brought),))
        shown = mathml(chain(brought, name, Row(row=(name, DomainPart(domain="for", over=(name,))))))
        assert "<script" not in shown
        assert "".join(ElementTree.fromstring(shown).itertext()).count(brought) == 10


@pytest.mark.parametrize(
    ("tree", "shown"),
    [
        (numeral(1e-5), "<msup><mn>10</mn><mn>−5</mn></msup>"),
        (numeral(-2.5e-7), '<mo form="prefix">−</mo><mn>2.5</mn><mo>·</mo><msup><mn>10</mn><mn>−7</mn></msup>'),
        (numeral(1234567.0), "<mn>1.23457</mn><mo>·</mo><msup><mn>10</mn><mn>6</mn></msup>"),
        (numeral(0.0001), "<mn>0.0001</mn>"),
        (numeral(math.inf), "<mi>∞</mi>"),
        (Numeral(number=15784), "<mn>15784</mn>"),
        (Name(name="delta"), "<mi>δ</mi>"),
        (Name(name="l2-1e-5"), '<mi mathvariant="normal">l2-1e-5</mi>'),
        (width(0.05), '<mo form="prefix">±</mo><mn>0.05</mn>'),
        (phrase("for", "every", Name(name="p")), "<mtext>for&#160;every&#160;</mtext><mi>p</mi>"),
    ],
)
def test_nodes_in_mathml(tree: Expression, shown: str) -> None:
    assert mathml(tree) == f'<math display="block"><mrow>{shown}</mrow></math>'


def test_formulas_of_a_quotation_are_plain_text() -> None:
    tex = r"cap at $\text{Adv} \leq 2 \cdot (1 - 1/m)$, $0.1 \leq \epsilon$"
    assert untex(tex) == "cap at Adv ≤ 2 · (1 - 1/m), 0.1 ≤ ε"
    assert untex("plain words") == "plain words"


@pytest.mark.parametrize(
    ("verdict", "others", "said"),
    [
        ("violated", ["violated", "violated"], "2 other readings were run: 2 say the same."),
        (
            "violated",
            ["violated", "inconclusive", "not run"],
            "3 other readings were run: 1 says the same, 2 leave it open.",
        ),
        ("reproduced", ["violated", "inconclusive"], "2 other readings were run: 1 leaves it open, 1 says otherwise."),
        ("inconclusive", ["reproduced"], "1 other reading was run: 1 says otherwise."),
        ("inconclusive", ["inconclusive"], "1 other reading was run: 1 leaves it open, too."),
    ],
)
def test_readings_that_are_open_do_not_agree(verdict: str, others: list[str], said: str) -> None:
    readings = [SimpleNamespace(verdict=word) for word in others]
    rests_on = SimpleNamespace(readings=readings, readings_not_run=())
    one = SimpleNamespace(verdict=verdict, rests_on=rests_on, hangs_on=())
    result = _readings_sentence(one)  # type: ignore[arg-type]
    assert result == f"Of what the paper leaves open {said}"
