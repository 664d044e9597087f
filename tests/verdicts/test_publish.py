"""What is said of a claim, one test a rule: claims built so that the rule alone decides what is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.attacks.attack import ATTACKS, Attack
from harness.attacks.boundary import Boundary
from harness.attacks.gradient_norm import GradientNorm
from harness.attacks.rmia import Rmia
from harness.claims.origin import Quote
from harness.claims.verdict import Controls, Verdict
from harness.claims.words import Word
from harness.data.datasets.adult import Adult
from harness.data.datasets.purchase_substitute import PurchaseSubstitute
from harness.paths import Project
from harness.report.certainty import severity_sentence
from harness.report.prose import sentence
from harness.spec.ambiguity import Ambiguity
from harness.spec.claim import Claim
from harness.spec.load import Loaded, load_specs
from harness.spec.model import Spec
from harness.spec.paper_run import PaperRun
from harness.spec.profile import Profile, Scaled, scale
from harness.spec.readings import Reading, readings
from harness.verdicts.check import judge_spec
from harness.verdicts.counts import count, group_of, readings_phrase
from harness.verdicts.departures import ALWAYS, PUBLISHED, departures_of, variants_used
from harness.verdicts.evidence import Evidence
from harness.verdicts.judge import judge_claims
from harness.verdicts.publish import data_of, publish, reading_matters
from harness.verdicts.severity import controls_of
from tests.conftest import PARAMS, REPO, SMALL_SPEC
from tests.verdict_fields import change
from tests.verdicts.test_basis import around, both, table_of

QUOTE = Quote(section="Section 1", text="the attack is weak")
COMPARE = {
    "kind": "compare",
    "left": {"metric": "advantage", "arm": "iid", "attack": "logloss"},
    "relation": "<=",
    "right": {"value": 0.5},
}
CLOSE = {
    "kind": "close",
    "left": {"metric": "advantage", "arm": "iid", "attack": "logloss"},
    "right": {"value": 0.5},
    "tolerance": 0.05,
}
COUNT = {"kind": "count", "arm": "iid", "equals": {"rows": 570}}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """A small spec of 40 repeats with an ambiguity of two alternatives."""
    root: Path = tmp_path_factory.mktemp("publish")
    (root / "specs" / "own").mkdir(parents=True)
    text = SMALL_SPEC.replace("repeats: 2", "repeats: 40")
    text += """
ambiguities:
  - choice: scaling
    field: experiment.preprocessing.scaling
    chosen: standard
    alternatives: [none, min-max]
    why: It is not said.
"""
    (root / "specs" / "own" / "cancer.yaml").write_text(text)
    (root / "specs" / "papers.yaml").write_text((REPO / "specs" / "papers.yaml").read_text())
    (root / "params.yaml").write_text(PARAMS)
    return load_specs(Project(root), [])[0]


def spec_of(loaded: Loaded, expect: Any, run: PaperRun | None = None, **fields: Any) -> Spec:
    """The spec with this claim alone, a paper's unless it says otherwise."""
    fields = {"origin": "paper", "quotes": [QUOTE], **fields}
    claim = Claim.model_validate({"id": "one", "where": "here", "statement": "It is so.", "expect": expect, **fields})
    run = run or PaperRun.model_validate({"data": ["csv"], "members": 120})
    return loaded.spec.model_copy(update={"claims": (claim,), "paper_run": run})


def result(spec: Spec, iid: Any, read: Sequence[tuple[Reading, Any]] = (), **profile: Any) -> Verdict:
    """What is said of its claim, where the advantage of `iid` is this, and in readings that."""
    scaled = scale(spec, "made-up", Profile.model_validate(profile))
    (claim,) = spec.claims

    def judged(values: Any) -> Verdict:
        return judge_spec(scaled, "0", table_of(both(around(0.1, 40), values)))[0]

    others = [(reading, None if values is None else judged(values)) for reading, values in read]
    return publish(judged(iid), claim, scaled, others)


HIGH, LOW = around(0.9, 40), around(0.1, 40)


def everywhere(loaded: Loaded, values: Any) -> list[tuple[Reading, Any]]:
    return [(reading, values) for reading in readings(loaded.spec, loaded.raw)]


def test_it_is_violated_where_every_reading_says_so(loaded: Loaded) -> None:
    verdict = result(spec_of(loaded, COMPARE), HIGH, everywhere(loaded, HIGH))
    assert (verdict.verdict, verdict.hangs_on, verdict.certainty) == ("violated", (), "by itself")
    assert [r.verdict for r in verdict.rests_on.readings] == ["violated", "violated"]
    assert (verdict.rests_on.data, verdict.rests_on.smaller) == ("paper", ())


def test_a_reading_that_flips_it_is_what_it_hangs_on(loaded: Loaded) -> None:
    first, second = everywhere(loaded, HIGH)
    verdict = result(spec_of(loaded, COMPARE), HIGH, [(first[0], LOW), second])
    assert verdict.verdict == "inconclusive"
    assert verdict.hangs_on == ("the reading preprocessing.scaling = none (reproduced)",)
    assert verdict.would_decide == ""
    assert (verdict.numbers.p_value, verdict.numbers.e_value, verdict.rests_on.basis, verdict.certainty) == (
        None,
        None,
        None,
        None,
    )
    assert verdict.reason.startswith("violated as declared (")


def test_a_reading_that_was_not_run_might(loaded: Loaded) -> None:
    first, second = everywhere(loaded, HIGH)
    verdict = result(spec_of(loaded, COMPARE), HIGH, [first, (second[0], None)])
    assert verdict.verdict == "inconclusive"
    assert verdict.hangs_on == ("readings that were not run: preprocessing.scaling = min-max",)
    assert verdict.would_decide == f"this reading (harness alternatives --where-violated {verdict.spec})"


def test_what_readings_would_cost_that_were_not_run_or_are_open(loaded: Loaded) -> None:
    spec = spec_of(loaded, COMPARE)
    scaled = scale(spec, "made-up", Profile())
    found = judge_spec(scaled, "0", table_of(both(around(0.1, 40), HIGH)))[0]
    found = change(found, models_fixed=80)  # two cells of forty repeats
    (first, _), (second, _) = everywhere(loaded, None)
    command = f"(harness alternatives --where-violated {spec.id})"
    neither = publish(found, spec.claims[0], scaled, [(first, None), (second, None)], 10.0)
    assert neither.would_decide == f"these 2 readings, at least 24 models, 4 minutes on one core {command}"
    undecided = change(found, verdict=Word.INCONCLUSIVE, would_decide="about 3 more models")
    one = publish(found, spec.claims[0], scaled, [(first, undecided), (second, None)], 10.0)
    assert one.would_decide == (
        "in the reading preprocessing.scaling = none, about 3 more models; "
        f"this reading, at least 12 models, 2 minutes on one core {command}"
    )
    assert publish(found, spec.claims[0], scaled, [(first, undecided), (second, found)], 10.0).would_decide == (
        "in the reading preprocessing.scaling = none, about 3 more models"
    )
    turned = publish(found, spec.claims[0], scaled, [(first, change(found, verdict=Word.REPRODUCED))])
    assert (turned.verdict, turned.would_decide) == ("inconclusive", "")


def test_a_reading_that_says_not_run_is_one_that_was_not_run(loaded: Loaded) -> None:
    spec = spec_of(loaded, COMPARE)
    scaled = scale(spec, "made-up", Profile())
    (first, _), (second, _) = everywhere(loaded, None)
    violated = judge_spec(scaled, "0", table_of(both(LOW, HIGH)))[0]
    read = [(first, violated), (second, change(violated, verdict=Word.NOT_RUN))]
    verdict = publish(violated, spec.claims[0], scaled, read)
    assert verdict.hangs_on == ("readings that were not run: preprocessing.scaling = min-max",)
    assert [r.value for r in verdict.rests_on.readings] == ["none"]
    waiting = change(violated, verdict=Word.NOT_RUN, reason="it waits for another library")
    verdict = publish(violated, spec.claims[0], scaled, [(first, violated), (second, waiting)])
    assert (verdict.verdict, verdict.would_decide) == ("inconclusive", "another library")
    elsewhere = on(spec, dataset=PurchaseSubstitute())
    verdict = publish(violated, spec.claims[0], scale(elsewhere, "made-up", Profile()), read)
    assert (verdict.verdict, verdict.hangs_on) == ("differs", ())
    verdict = publish(read[1][1], spec.claims[0], scale(elsewhere, "made-up", Profile()), ())
    assert verdict.verdict == "not run"


def test_what_is_reproduced_needs_no_reading(loaded: Loaded) -> None:
    assert result(spec_of(loaded, COMPARE), LOW, everywhere(loaded, None)).verdict == "reproduced"


def test_a_reading_that_contradicts_it_keeps_it_from_being_reproduced(loaded: Loaded) -> None:
    """One that is open does not, and both are told."""
    first, second = everywhere(loaded, LOW)
    verdict = result(spec_of(loaded, COMPARE), LOW, [(first[0], HIGH), second])
    assert verdict.verdict == "inconclusive"
    assert verdict.hangs_on == ("the reading preprocessing.scaling = none (violated)",)
    assert verdict.reason.startswith("reproduced as declared (")
    assert (verdict.certainty, verdict.numbers.p_value) == (None, None)
    assert sentence(verdict, spec_of(loaded, COMPARE)).startswith("Holds as declared")
    open_ = result(spec_of(loaded, COMPARE), LOW, [(first[0], around(0.5, 40, 0.3)), (second[0], None)])
    assert open_.verdict == "reproduced"
    assert readings_phrase(open_) == "as declared; 1 reading open, 1 reading not run"
    assert readings_phrase(result(spec_of(loaded, COMPARE), LOW, everywhere(loaded, LOW))) == "in every reading"


@pytest.mark.parametrize(("value", "word"), [(0.505, "reproduced"), (0.54, "inconclusive")])
def test_half_the_tolerance_counts_too(loaded: Loaded, value: float, word: str) -> None:
    """A printed 0.5 is met within 0.05 by both; 0.54 is shown to be off by more than 0.025."""
    spec = spec_of(loaded, CLOSE)
    scaled, table = scale(spec, "made-up", Profile()), table_of(both(around(0.1, 40), around(value, 40, 0.001)))
    (verdict,) = judge_claims(Evidence(scaled, spec, "0", table), [])
    assert verdict.verdict == word
    (half,) = verdict.rests_on.readings
    assert (half.text, half.verdict) == ("tolerance = half", {"reproduced": "reproduced"}.get(word, "violated"))
    assert verdict.hangs_on == (() if word == "reproduced" else ("the reading tolerance = half (violated)",))


def controls(supported: int, control: str = "nothing") -> Controls:
    outcome = {"control": control, "draws": 100, "supported": supported}
    return Controls.model_validate({"outcomes": [outcome], "key": "0"})


def said_with(loaded: Loaded, controls: Controls | None, values: Any = LOW) -> Verdict:
    spec = spec_of(loaded, COMPARE)
    scaled = scale(spec, "made-up", Profile())
    (judged,) = judge_spec(scaled, "0", table_of(both(around(0.1, 40), values)))
    return publish(judged, spec.claims[0], scaled, everywhere_as(loaded, judged), controls=controls)


def everywhere_as(loaded: Loaded, judged: Verdict) -> list[tuple[Reading, Verdict | None]]:
    return [(reading, judged) for reading in readings(loaded.spec, loaded.raw)]


def test_a_claim_that_could_not_have_failed_is_not_reproduced(loaded: Loaded) -> None:
    """Met in six of a hundred draws of its control it is open, in five it is not; what fails may fail on any."""
    verdict = said_with(loaded, controls(6))
    assert (verdict.verdict, verdict.met_by) == ("inconclusive", "scores that say nothing in 6% of draws")
    assert verdict.reason.startswith("it could not have failed: met by scores that say nothing in 6% of draws (")
    assert (verdict.certainty, verdict.numbers.e_value, verdict.would_decide, verdict.hangs_on) == (None, None, "", ())
    text = sentence(verdict, spec_of(loaded, COMPARE))
    assert text.startswith("Could not have failed: it is met by scores that say nothing in 6% of draws. ")
    assert [row.text for row in count([verdict])] == ["1 inconclusive (1 could not have failed)"]
    assert said_with(loaded, controls(5)).verdict == "reproduced"
    assert said_with(loaded, Controls(key="0")).verdict == "reproduced"
    assert said_with(loaded, controls(100), HIGH).verdict == "violated"


@pytest.mark.parametrize(
    ("controls", "text"),
    [
        (
            controls(2),
            "Controls, where it ought to fail: it is met in 2 of 100 draws of scores that say nothing (severity 0.98).",
        ),
        (Controls(key="0"), "No control is known on which it ought to fail."),
        (None, ""),
    ],
)  # fmt: skip
def test_how_severe_it_was_is_said(loaded: Loaded, controls: Controls | None, text: str) -> None:
    assert severity_sentence(said_with(loaded, controls)) == text


def test_controls_are_drawn_once_for_the_same_claim_table_and_code(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of(loaded, {**COMPARE, "relation": ">", "right": {"value": 0.05}})
    scaled, table = scale(spec, "made-up", Profile()), table_of(both(around(0.1, 40), LOW))
    own = Evidence(scaled, spec, "0", table, table_sha256="a")
    first = controls_of(own, {"one"}, {})
    drawn = []
    monkeypatch.setattr("harness.verdicts.severity.severity_of_part", lambda *given: drawn.append(given) or ())
    assert controls_of(own, {"one"}, first) == first
    assert drawn == []
    for other in (replace(own, table_sha256="b"), replace(own, table_sha256="")):
        controls_of(other, {"one"}, first)
    stricter = spec_of(loaded, {**COMPARE, "relation": ">", "right": {"value": 0.06}})
    controls_of(replace(own, scaled=scale(stricter, "made-up", Profile())), {"one"}, first)
    assert len(drawn) == 3
    assert controls_of(own, set(), first) == {}
    assert controls_of(replace(own, table=None), {"one"}, first) == {}


@pytest.mark.parametrize(
    ("expect", "near", "far"),
    [
        (CLOSE, around(0.58, 40, 0.001), around(0.9, 40, 0.001)),
        ({**COMPARE, "margin": 0.05}, around(0.58, 40, 0.001), around(0.9, 40, 0.001)),
        ({"kind": "any-of", "of": [{**COMPARE, "margin": 0.05}, {**COMPARE, "right": {"value": 0.4}}]}, *[around(x, 40, 0.001) for x in (0.58, 0.9)]),
        ({"kind": "table", "tolerance": 0.05, "rows": [{"of": {"metric": "advantage", "arm": "iid", "attack": "logloss"}, "values": {1: 0.5, 10: 0.5}}]}, *[around(x, 40, 0.001) for x in (0.58, 0.9)]),
    ],
)  # fmt: skip
def test_a_doubled_tolerance_has_to_say_so_too(loaded: Loaded, expect: Any, near: Any, far: Any) -> None:
    spec = spec_of(loaded, expect)
    verdict = result(spec, near, everywhere(loaded, near))
    assert verdict.verdict == "inconclusive"
    assert verdict.hangs_on[0].endswith("of 0.1 in place of 0.05")
    assert result(spec, far, everywhere(loaded, far)).verdict == "violated"


def test_a_margin_that_is_claimed_is_no_tolerance(loaded: Loaded) -> None:
    spec = spec_of(loaded, {**COMPARE, "relation": ">", "margin": 0.05})
    near = around(0.53, 40, 0.001)
    assert result(spec, near, everywhere(loaded, near)).verdict == "violated"


def test_a_printed_count_that_is_not_found_refutes_nothing(loaded: Loaded) -> None:
    verdict = result(spec_of(loaded, COUNT), LOW, everywhere(loaded, LOW))
    assert verdict.verdict == "inconclusive"
    assert "not finding a printed count refutes nothing" in verdict.hangs_on[0]
    right = {**COUNT, "equals": {"rows": 569}}
    verdict = result(spec_of(loaded, right), LOW, everywhere(loaded, LOW))
    assert (verdict.verdict, verdict.certainty) == ("reproduced", "counted")
    ours = spec_of(loaded, COUNT, origin="ours", quotes=[])
    assert result(ours, LOW, everywhere(loaded, LOW)).verdict == "violated"
    more = spec_of(loaded, [COUNT, COMPARE])
    assert result(more, LOW, everywhere(loaded, LOW)).verdict == "violated"
    settled = spec_of(loaded, COUNT).model_copy(update={"ambiguities": ()})
    assert result(settled, LOW).verdict == "violated"


def on(spec: Spec, **dataset: Any) -> Spec:
    """The same with this data set in every arm."""
    assert spec.experiment is not None
    arms = {name: arm.model_copy(update=dataset) for name, arm in spec.experiment.arms.items()}
    return spec.model_copy(update={"experiment": spec.experiment.model_copy(update={"arms": arms})})


@pytest.mark.parametrize(("dataset", "data"), [(PurchaseSubstitute(), "stand-in"), (Adult(), "other")])
def test_off_the_papers_data_it_agrees_or_differs(loaded: Loaded, dataset: Any, data: str) -> None:
    spec = on(spec_of(loaded, COMPARE), dataset=dataset)
    for values, word in ((LOW, "agrees"), (HIGH, "differs")):
        verdict = result(spec, values, everywhere(loaded, values))
        assert (verdict.verdict, verdict.rests_on.data, set(verdict.parts)) == (word, data, {word})
        assert {r.verdict for r in verdict.rests_on.readings} == {word}
    assert result(spec, HIGH, everywhere(loaded, None)).verdict == "differs"  # a reading that was not run is none there


def test_no_part_is_called_violated_on_a_stand_in(loaded: Loaded) -> None:
    spec = on(spec_of(loaded, [COMPARE, {**COMPARE, "right": {"value": 0.95}}]), dataset=PurchaseSubstitute())
    verdict = result(spec, HIGH)
    assert (verdict.verdict, verdict.parts) == ("differs", ("differs", "agrees"))
    assert verdict.tally == "1 of 2 parts agrees, 1 differs; 2 of 4 points hold, 2 fail"
    here = result(spec_of(loaded, [COMPARE, {**COMPARE, "right": {"value": 0.95}}]), HIGH, everywhere(loaded, HIGH))
    assert here.tally == "1 of 2 parts reproduced, 1 violated; 2 of 4 points hold, 2 fail"


@pytest.mark.parametrize(
    "expect",
    [
        CLOSE,
        COUNT,
        [CLOSE, COUNT],
        {"kind": "table", "tolerance": 0.05, "rows": [{"of": CLOSE["left"], "values": {1: 0.5, 10: 0.5}}]},
    ],
)
def test_a_printed_number_is_set_beside_and_not_judged(loaded: Loaded, expect: Any) -> None:
    spec = on(spec_of(loaded, expect, origin="ours", quotes=[]), dataset=PurchaseSubstitute())
    verdict = result(spec, around(0.9, 40, 0.001))
    assert verdict.verdict == "beside"
    assert (verdict.numbers.p_value, verdict.certainty, verdict.rests_on.basis) == (None, None, None)
    assert result(spec, around(0.53, 40)).verdict == "beside"  # nor whether more runs would tell
    mixed = on(spec_of(loaded, [CLOSE, COMPARE]), dataset=PurchaseSubstitute())
    assert result(mixed, around(0.9, 40, 0.001)).verdict == "differs"
    arms = on(spec_of(loaded, {**CLOSE, "right": {"arm": "size"}}), dataset=PurchaseSubstitute())
    assert result(arms, around(0.9, 40, 0.001)).verdict == "differs"  # from each other, of which nothing is printed


def with_attack(spec: Spec, attack: Attack, *ambiguities: Ambiguity) -> Spec:
    return spec.model_copy(update={"attacks": {"logloss": attack}, "ambiguities": ambiguities})


def test_a_papers_claim_on_a_variant_of_an_attack_agrees_or_differs(loaded: Loaded) -> None:
    run = PaperRun(data=("csv",))
    declared, published = spec_of(loaded, COMPARE, run), Boundary(steps=64, directions=100)
    fewer, more = published.model_copy(update={"steps": 4}), published.model_copy(update={"directions": 200})
    assert result(with_attack(declared, published), LOW).verdict == "reproduced"
    assert result(with_attack(declared, more), LOW).rests_on.data == "paper"
    verdict = result(with_attack(declared, fewer), LOW)
    assert (verdict.verdict, verdict.rests_on.data) == ("agrees", "variant")
    assert verdict.rests_on.smaller == ("4 steps along the boundary of the authors' 64",)
    ours = spec_of(loaded, COMPARE, run, origin="ours", quotes=[])
    assert result(with_attack(ours, fewer), LOW).verdict == "reproduced"


def test_a_papers_claim_on_another_kind_of_model_agrees_or_differs(loaded: Loaded) -> None:
    other = "one hidden layer in place of a Wide ResNet"
    run = PaperRun(data=("csv",), other_model=other)
    verdict = result(spec_of(loaded, COMPARE, run), LOW)
    assert (verdict.verdict, verdict.rests_on.data) == ("agrees", "variant")
    assert other in verdict.rests_on.smaller
    assert result(spec_of(loaded, COMPARE, run, origin="ours", quotes=[]), LOW).verdict == "reproduced"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("cifar10 and cifar100", "is not the kind of one data set; list several, as in [cifar10, cifar100]"),
        ("cifar-10", "unknown data set 'cifar-10'; did you mean 'cifar10'?"),
        ("Adult", "is not the kind of one data set"),
        (["adult", "fashion_mnist"], "did you mean 'fashion-mnist'?"),
    ],
)
def test_data_of_a_paper_are_named_as_specs_name_them(data: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        PaperRun.model_validate({"data": data})


def test_a_paper_may_have_data_that_are_not_here() -> None:
    assert PaperRun.model_validate({"data": ["imagenet", "wikitext-103"]}).data == ("imagenet", "wikitext-103")


def test_what_the_paper_leaves_open_of_an_attack_is_a_reading_and_no_variant(loaded: Loaded) -> None:
    left_open = Ambiguity(
        choice="how many steps", chosen="4", why="Not said.", field="attacks.logloss.steps", alternatives=(64,)
    )
    spec = spec_of(loaded, COMPARE, PaperRun(data=("csv",)))
    assert variants_used(with_attack(spec, Boundary(directions=100), left_open), spec.parts(spec.claims[0])) == ()


def test_each_published_setting_is_a_field_of_its_attack() -> None:
    for kind, fields in PUBLISHED.items():
        assert set(fields) <= set(ATTACKS[kind].model_fields), kind
    assert set(ALWAYS) <= {name for name, _ in ATTACKS}
    assert departures_of(Rmia(pool="halves", signal="soft-margin-taylor", temperature=2)) == {}
    assert set(departures_of(Rmia(pool="halves"))) == {"signal", "temperature"}
    assert departures_of(GradientNorm()) == {"kind": ALWAYS["gradient-norm"]}


def test_what_there_is_less_of_is_named(loaded: Loaded) -> None:
    run = PaperRun.model_validate(
        {"data": "csv", "members": 200, "epochs": 1000, "repeats": 50, "smaller": ["a smaller network"]}
    )
    verdict = result(spec_of(loaded, COMPARE, run), LOW)
    assert verdict.rests_on.data == "smaller"
    epochs = loaded.spec.experiment.arms["iid"].training.epochs  # type: ignore[union-attr]
    assert verdict.rests_on.smaller == (
        "members 120 of 200",
        f"epochs {epochs} of 1,000",
        "repeats 40 of 50",
        "a smaller network",
    )
    assert verdict.verdict == "reproduced"
    # Of the repeats that the verdict rests on, whatever the profile would allow.
    for allowed in (45, 60):
        assert "repeats 40 of 50" in result(spec_of(loaded, COMPARE, run), LOW, max_repeats=allowed).rests_on.smaller
    few = run.model_copy(update={"repeats": 40})
    assert not [one for one in result(spec_of(loaded, COMPARE, few), LOW).rests_on.smaller if "repeats" in one]
    by_set = PaperRun.model_validate({"data": "csv", "members": {"csv": 120, "adult": 9}})
    assert result(spec_of(loaded, COMPARE, by_set), LOW).rests_on.data == "paper"


def test_data_are_those_of_the_arms_that_a_claim_is_about(loaded: Loaded) -> None:
    spec = spec_of(loaded, COMPARE)
    assert spec.experiment is not None
    arms = dict(spec.experiment.arms)
    arms["size"] = arms["size"].model_copy(update={"dataset": PurchaseSubstitute()})
    spec = spec.model_copy(update={"experiment": spec.experiment.model_copy(update={"arms": arms})})
    scaled = scale(spec, "made-up", Profile())
    assert data_of(spec.claims[0], scaled)[0] == "paper"
    both_arms = spec_of(loaded, {**COMPARE, "right": {"arm": "size"}}).claims[0]
    assert data_of(both_arms, scaled)[0] == "stand-in"
    arms["size"] = arms["size"].model_copy(update={"dataset": Adult()})
    other = spec.model_copy(update={"experiment": spec.experiment.model_copy(update={"arms": arms})})
    assert data_of(both_arms, scale(other, "made-up", Profile()))[0] == "other"


def test_a_reading_matters_where_it_changes_what_is_claimed(loaded: Loaded) -> None:
    (reading, *_) = readings(loaded.spec, loaded.raw)
    parts = loaded.spec.parts(spec_of(loaded, COMPARE).claims[0])

    def of(field: str) -> bool:
        return reading_matters(Reading(reading.index, "", field, None, reading.spec, reading.raw), parts, loaded.spec)

    assert of("experiment.preprocessing.scaling")
    assert of("experiment.arms.iid.split")
    assert not of("experiment.arms.size.split")
    assert of("attacks.logloss.loss_of")
    assert not of("attacks.other.learning_rate")
    assert not of("experiment.pools.shadows.privacy")
    assert of("experiment.privacy.delta")


def test_a_pool_matters_to_claims_with_an_attack_that_uses_it(loaded: Loaded) -> None:
    (reading, *_) = readings(loaded.spec, loaded.raw)
    attacks = {**loaded.spec.attacks, "one": Rmia(pool="shadows"), "other": Rmia(pool="halves")}
    spec = loaded.spec.model_copy(update={"attacks": attacks})
    pool = Reading(reading.index, "", "experiment.pools.shadows.privacy", None, reading.spec, reading.raw)

    def of(*names: str) -> bool:
        left = {**COMPARE["left"], "attack": list(names)}  # type: ignore[dict-item]
        return reading_matters(pool, spec.parts(spec_of(loaded, {**COMPARE, "left": left}).claims[0]), spec)

    assert of("one")
    assert of("logloss", "one")
    assert not of("logloss", "other")
    model = {**COMPARE, "left": {"metric": "accuracy_test", "arm": "iid"}}
    assert not reading_matters(pool, spec.parts(spec_of(loaded, model).claims[0]), spec)


def test_which_records_shadow_models_see_matters_to_attacks_that_train_some_on_that_arm(loaded: Loaded) -> None:
    (reading, *_) = readings(loaded.spec, loaded.raw)
    spec = loaded.spec.model_copy(update={"attacks": {**loaded.spec.attacks, "one": Rmia(pool="shadows")}})

    def of(field: str, attack: str) -> bool:
        left = {**COMPARE["left"], "attack": attack}  # type: ignore[dict-item]
        shadows = Reading(reading.index, "", field, None, reading.spec, reading.raw)
        return reading_matters(shadows, spec.parts(spec_of(loaded, {**COMPARE, "left": left}).claims[0]), spec)

    assert of("experiment.split.shadows", "one")
    assert of("experiment.arms.iid.split.shadows", "one")
    assert not of("experiment.arms.size.split.shadows", "one")
    assert not of("experiment.arms.iid.split.shadows", "logloss")


def test_how_noise_is_found_matters_nothing_to_models_without_noise(loaded: Loaded) -> None:
    (reading, *_) = readings(loaded.spec, loaded.raw)
    assert loaded.spec.experiment is not None
    arms = dict(loaded.spec.experiment.arms)
    arms["iid"] = arms["iid"].model_copy(
        update={"privacy": arms["iid"].privacy.model_copy(update={"epsilons": (float("inf"),)})}
    )
    spec = loaded.spec.model_copy(update={"experiment": loaded.spec.experiment.model_copy(update={"arms": arms})})
    delta = Reading(reading.index, "", "experiment.privacy.delta", 1e-6, reading.spec, reading.raw)
    assert not reading_matters(delta, spec.parts(spec_of(loaded, COMPARE).claims[0]), spec)
    both_arms = spec_of(loaded, {**COMPARE, "right": {"arm": "size"}}).claims[0]
    assert reading_matters(delta, spec.parts(both_arms), spec)


def test_printed_numbers_that_are_compared_are_counted_and_what_holds_of_a_formula_is_proved(loaded: Loaded) -> None:
    theory = loaded.spec.model_copy(update={"experiment": None, "attacks": {}, "figure": ()})
    bound = {
        "kind": "inequality",
        "left": {"formula": "yeom", "given": {"epsilon": 1.0, "delta": 0.0}},
        "relation": ">",
        "right": 1.0,
    }
    cases = (
        ({"kind": "inequality", "left": 0.69, "relation": ">", "right": 0.65}, "reproduced", "counted"),
        ({"kind": "inequality", "left": 0.69, "relation": "<", "right": 0.65}, "violated", "counted"),
        (bound, "reproduced", "proved"),
        ([bound, {"kind": "inequality", "left": 0.69, "relation": ">", "right": 0.65}], "reproduced", "counted"),
    )
    for expect, word, certainty in cases:
        spec = theory.model_copy(update={"claims": spec_of(loaded, expect).claims})
        scaled = Scaled(spec, "made-up", ())
        (verdict,) = judge_spec(scaled, "0", None)
        said = publish(verdict, spec.claims[0], scaled, ())
        assert (said.verdict, said.certainty) == (word, certainty)


def test_theory_is_on_no_data_and_audits_are_on_a_toy(loaded: Loaded) -> None:
    proof = {
        "kind": "inequality", "left": {"formula": "yeom", "given": {"epsilon": 0.1, "delta": 0.0}}, "relation": "<=", "right": 2.0,
    }  # fmt: skip
    theory = loaded.spec.model_copy(update={"experiment": None, "attacks": {}, "figure": ()})
    spec = theory.model_copy(update={"claims": spec_of(loaded, proof).claims})
    scaled = Scaled(spec, "made-up", ())
    (verdict,) = judge_spec(scaled, "0", None)
    said = publish(verdict, spec.claims[0], scaled, ())
    assert (said.verdict, said.rests_on.data, said.certainty) == ("reproduced", "none", "proved")
    audit = {
        "kind": "audit", "of": {"epsilon": 1.0}, "auditor": {"kind": "clopper-pearson"}, "relation": "<=",
        "right": "claimed", "runs": 40, "audits": 2,
    }  # fmt: skip
    assert data_of(spec_of(loaded, audit).claims[0], scaled)[0] == "stand-in"
    assert data_of(spec_of(loaded, [proof, audit]).claims[0], scaled)[0] == "stand-in"
    toy = spec.model_copy(update={"claims": spec_of(loaded, audit).claims})
    (verdict,) = judge_spec(Scaled(toy, "made-up", ()), "0", None)
    said = publish(verdict, toy.claims[0], Scaled(toy, "made-up", ()), ())
    assert (said.verdict, said.rests_on.data) == (
        "agrees",
        "stand-in",
    )  # not set beside, though it has no part on measurements


def test_claims_are_counted_by_whose_they_are_and_on_what(loaded: Loaded) -> None:
    mine = result(spec_of(loaded, COMPARE), LOW)
    off = change(mine, data="stand-in", verdict=Word.DIFFERS)
    ours = change(mine, origin="ours", verdict=Word.VIOLATED)
    corrected = change(mine, origin="corrected")
    check = change(mine, origin="check")
    counted = count([check, corrected, ours, off, mine, mine])
    assert [(c.group, c.by_word) for c in counted] == [
        ("papers", {"reproduced": 2}),
        ("papers elsewhere", {"differs": 1}),
        ("corrected", {"reproduced": 1}),
        ("ours", {"violated": 1}),
        ("checks", {"reproduced": 1}),
    ]
    assert (counted[0].total, counted[1].text) == (2, "1 differ")
    assert group_of(off) == "papers elsewhere"


def test_a_claim_says_what_its_origin_asks_for(loaded: Loaded) -> None:
    for fields, fault in (
        ({"quotes": []}, "quote the sentence of the paper"),
        ({"origin": "corrected"}, "`corrects` goes with origin `corrected`"),
        ({"corrects": "other"}, "`corrects` goes with origin `corrected`"),
    ):
        with pytest.raises(ValueError, match=fault):
            spec_of(loaded, COMPARE, **fields)
