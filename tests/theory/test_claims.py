"""Declared theory: how it is read, how it is judged, and that no claim of the catalogue's theory is missing."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import mpmath
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.errors import HarnessError
from harness.paths import Project
from harness.spec.claim import Claim
from harness.spec.load import load_spec, load_specs
from tests.claims.judged import PARSE
from tests.conftest import REPO, run_cli

EPSILON = {"epsilon": {"low": 0, "high": 10}}
BOTH = {**EPSILON, "delta": {"low": 0, "high": 0.5}}


def judged(left: Any, relation: str, right: Any, over: Any = None, **more: Any) -> Any:
    return PARSE(
        {"kind": "inequality", "left": left, "relation": relation, "right": right, "over": over or {}, **more}
    ).judge()


def test_ordering_is_false_as_printed_and_true_at_delta_zero() -> None:
    printed = judged({"formula": "humphries"}, "<=", {"formula": "yeom"}, BOTH)
    assert printed.outcome == "violated"
    at = printed.counterexample
    with mpmath.workdps(30):
        e, d = mpmath.mpf(at["epsilon"]), mpmath.mpf(at["delta"])
        assert (mpmath.e**e - 1 + 2 * d) / (mpmath.e**e + 1) > mpmath.e**e - 1
    none = {"given": {"delta": 0}}
    pure = judged({"formula": "humphries", **none}, "<=", {"formula": "yeom", **none}, EPSILON)
    assert pure.outcome == "reproduced"


def test_the_gap_to_erlingsson_peaks_at_0_1716() -> None:
    """At delta 0 the gap is (e^x - 1)/(e^x (e^x + 1)), largest at e^x = 1 + sqrt 2: 3 - 2 sqrt 2 = 0.171573."""
    gap = {"minus": [{"formula": n, "given": {"delta": 0}} for n in ("erlingsson", "humphries")]}
    peak = float(3 - 2 * mpmath.sqrt(2))
    assert judged(gap, "<=", peak + 1e-6, EPSILON).outcome == "reproduced"
    assert judged(gap, "<=", peak - 1e-6, EPSILON).outcome == "violated"


@pytest.mark.parametrize(
    ("relation", "right", "outcome"),
    [
        ("=", 0.4621171572600098, "reproduced"),
        ("=", 0.4622, "violated"),
        ("<", 0.4622, "reproduced"),
        (">", 0.4622, "violated"),
        (">=", 0.46, "reproduced"),
        ("<=", 0.46, "violated"),
    ],
)
def test_relations_at_a_point(relation: str, right: float, outcome: str) -> None:
    """tanh(1/2) = 0.46212."""
    left = {"formula": "humphries", "given": {"epsilon": 1, "delta": 0}}
    assert judged(left, relation, right).outcome == outcome


def test_a_refutation_is_shown_where_the_paper_speaks() -> None:
    """The claim fails there, and further elsewhere; where it does not fail there, or that is no point of it, as it was."""
    left, over = {"formula": "component-advantage"}, {"components": {"values": [2, 5, 20]}}
    right = {"minus": [1, {"ratio": [2, {"variable": "components"}]}]}
    expectation = PARSE({"kind": "inequality", "left": left, "relation": "<=", "right": right, "over": over})
    furthest = expectation.judge()
    assert furthest.counterexample == {"components": 2.0, "left": 0.5, "right": 0.0}
    shown = expectation.refute_at({"components": 20.0}, furthest)
    assert shown.counterexample == pytest.approx({"components": 20.0, "left": 0.95, "right": 0.9})
    assert "0.95 against 0.9 at components = 20" in shown.reason
    assert shown.worst == pytest.approx(-0.05)
    assert shown.outcome == "violated"
    for other in ({"components": 3.0}, {}, {"n": 20.0}):
        assert expectation.refute_at(other, furthest) is furthest
    holds = PARSE({"kind": "inequality", "left": left, "relation": "<=", "right": 0.81, "over": over})
    assert holds.refute_at({"components": 2.0}, result := holds.judge()) is result
    claim = {"id": "cap", "where": "here", "kind": "theory", "statement": "a cap", "expect": [expectation]}
    assert Claim.model_validate({**claim, "example": {"components": 20}}).example == {"components": 20.0}
    with pytest.raises(ValidationError, match="example: no inequality of it has this point of components"):
        Claim.model_validate({**claim, "example": {"components": 3}})


def test_computed_quantities_are_checked_on_the_grid_and_say_so() -> None:
    over = {"epsilon": {"low": 0.1, "high": 2, "points": 4}, "delta": {"values": [0, 0.1]}}
    result = judged({"formula": "optimal-advantage-lp"}, "<=", {"formula": "humphries"}, over, tolerance=1e-7)
    assert result.outcome == "reproduced"
    assert "8 grid points" in result.test
    wrong = judged({"formula": "optimal-advantage-lp"}, "<=", {"times": [0.99, {"formula": "humphries"}]}, over)
    assert wrong.outcome == "violated"
    assert set(wrong.counterexample) == {"epsilon", "delta", "left", "right"}


def test_games_are_decided_by_their_interval() -> None:
    base = {
        "kind": "game",
        "game": "sub-sampling",
        "given": {"epsilon": 1, "prior": 0.5},
        "measure": "ppv",
        "relation": "=",
    }
    right = PARSE({**base, "right": {"formula": "ppv-upper"}, "tolerance": 0.01, "trials": 100_000})
    assert right.judge().outcome == "reproduced"
    assert PARSE({**base, "right": 0.8, "tolerance": 0.01, "trials": 100_000}).judge().outcome == "violated"
    assert PARSE({**base, "right": 0.731, "tolerance": 0.01, "trials": 500}).judge().outcome == "inconclusive"
    assert right.judge() == right.judge()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"left": {"formula": "humphrys"}}, "unknown formula 'humphrys'; did you mean humphries"),
        (
            {"left": {"formula": "humphries", "given": {"eps": 1}}},
            "humphries has no parameter 'eps'; it has: epsilon, delta",
        ),
        ({"over": {}}, "no domain is given for delta, epsilon"),
        ({"over": {**BOTH, "prior": {"values": [1]}}}, "`over` names prior, which neither side uses"),
        ({"over": {**BOTH, "delta": {"low": 1, "high": 0}}}, "low (1) must be below high (0)"),
        ({"relation": "<", "tolerance": 0.1}, "a tolerance has no meaning with '<'"),
        ({"left": "__import__('os').system('true')"}, "cannot stand in a formula"),
        ({"left": {"code": "1"}}, "value, variable, formula, plus, minus, times, ratio"),
    ],
)
def test_faults_are_named(changed: dict[str, Any], message: str) -> None:
    declared = {"kind": "inequality", "left": {"formula": "humphries"}, "relation": "<=", "right": 1, "over": BOTH}
    with pytest.raises(ValidationError) as error:
        PARSE({**declared, **changed})
    assert message.replace("'", "") in str(error.value).replace("'", "")


def test_a_game_wants_exactly_its_parameters() -> None:
    declared = {"kind": "game", "game": "blind", "measure": "advantage", "relation": "=", "right": 0, "tolerance": 0.1}
    with pytest.raises(ValidationError, match="takes components; given: nothing"):
        PARSE(declared)


def test_the_text_reads_as_an_inequality() -> None:
    result = PARSE(
        {
            "kind": "inequality",
            "relation": "<=",
            "right": {"ratio": [{"plus": [1, {"formula": "humphries"}]}, 2]},
            "left": {"formula": "ppv-upper", "given": {"prior": 0.5}},
            "over": BOTH,
        }
    )
    assert result.text() == (
        "ppv-upper(epsilon, prior=0.5) <= ((1 + humphries(epsilon, delta)) / 2)"
        " for epsilon in [0, 10], delta in [0, 0.5]"
    )
    assert result.definitions()["ppv-upper"].startswith("1 / (1 + exp(-eps) (1 - p) / p)")


VERDICTS = {
    "humphries2020/fig1": "yeom-bound + yeom-loose + erlingsson-bound + erlingsson-tighter + tight-bound + tight-bound-reached + bound-ordering-erlingsson + "
    "bound-ordering-yeom - bound-ordering-pure + bound-gap + bound-gap-middle + bound-gap-everywhere - bound-regimes +",
    "humphries2020/games": "advantage-forms + rdp-below-naive + rdp-tightest + delta-below-one-over-n + "
    "bounds-do-not-apply + no-general-bound + figure5-is-equation-18 - figure5-corrected + tight-bound-attained + bound-in-exp-sharper + experiment-equivalence + "
    "experiments-differ-by-order + fair-experiment + cap - cap-corrected + group-privacy + "
    "scaled-budget-bound + scaled-budget-bound-large-delta -",
    "jayaraman2019/theory": "table1-conversions + table1-composition + table1-composition-order - "
    "table1-composition-order-corrected + simple-composition + cdp-converse + second-moment - second-moment-corrected + "
    "rdp-at-one + relaxed-still-dp + small-budgets + relaxed-budgets-less + output-perturbation + leakage-range - "
    "leakage-range-corrected + cdp-as-zcdp + cdp-composes-higher + table1-sublinear + "
    "table1-little-o - table1-below-naive - table1-rdp-order + noise-ordering + nominal-valid + "
    "nominal-overstates + rdp-on-shuffled-batches + erm-sensitivity + eps10-example + leak-meaning - "
    "leak-meaning-corrected +",
    "rahimian2021/theory": "rr-epsilon + rr-accuracy + gap-attack + all-others-need-posteriors - gap-is-largest-on-location "
    "+ columns-of-lrn-differ + best-where-features-are-fewest + cifar100-images-of-a-class - "
    "cifar100-images-of-a-class-corrected + small-p-as-printed - queries-wear-noise-down + more-than-half + classes-by-table-2 + "
    "gaps-of-table-7 + own-scales-differ + classes-of-ch-mnist + transfer-fails-on-texas +",
    "thudi2022/theory": "lemma1 + thm1 + trivial-above-lower-bound + thm1-tight + thm2-tight-as-printed - thm2-tight + cor1 + "
    "thm2-as-printed - thm2 + unbounded-ppv + one-step + gradient-as-printed - gradient-has-the-other-sign + "
    "accuracy-bounded + noise-value + noise-value-sufficient + less-noise-would-do + "
    "published-accountant-asks-for-more + humphries-accuracy + humphries-as-listed - humphries-as-listed-corrected + accuracy-at-half + "
    "past-bounds-as-accuracies + past-bounds-improve + beats-erlingsson + beats-sablayrolles + "
    "generalizes-mahloujifar + sixty-nine + fig3-asymptotics + fig3-crossing + greater-effect + "
    "batch-sampling-amplifies-less + user-sub-sampling + unlearning-with-large-epsilon + "
    "unlearning-capacity + unlearning-capacity-as-printed - deletions-multiply - fig10-trend + fig10-low + fig10-large + "
    "group + group-reached + reconstruction + reconstruction-as-printed - reconstruction-corrected + no-certain-reconstruction + "
    "generalization-gap + bound-has-the-hump + hump-of-the-bound-is-at-low-p + fig13-half + fig13-moves + "
    "advantage-is-no-bound + rises-with-epsilon + rises-with-p + fig13-closed-form + number-of-pairs-as-printed - "
    "number-of-pairs + failure-count + no-pairs-in-failure + pointwise-route -",
    "tramer2025/theory": "useful-leaves-advantage + kov + cor1 + rule-as-printed - any-excess-shows-a-bug + equality-is-no-bug + rule-accuses-gaussian + "
    "cor1-ninety + cor1-five + best-at-one-rate + cor1-ninety-nine + cor1-maximum + most-powerful + tail-bound + enough-noise + noisy-mean + final-model-can-be-more-private + "
    "noisy-mean-attack + "
    "worst-case-tight +",
}


@pytest.mark.parametrize("spec", VERDICTS)
def test_verdicts_on_theory(spec: str) -> None:
    """Each committed verdict as derived by hand in the notes of the spec; none is left undecided. That judging comes to
    them anew is asked in tests/verdicts/test_baseline.py."""
    words = VERDICTS[spec].split()
    wanted = {
        name: {"+": "reproduced", "-": "violated"}[sign] for name, sign in zip(words[::2], words[1::2], strict=True)
    }
    file = json.loads((REPO / "reports" / "sequential" / spec / "verdicts.json").read_text())
    result = {v["id"].split("#")[1]: v["verdict"] for v in file["verdicts"]}
    assert result == wanted


def test_all_theory_of_the_catalogue_is_declared() -> None:
    wanted = [
        "h-yeom-bound",
        "h-erlingsson-bound",
        "h-tight-bound",
        "h-experiment-equivalence",
        "h-bound-ordering",
        "h-bound-gap",
        "h-bound-regimes",
        "h-fair-experiment",
        "h-fig6-cap",
        "h-scaled-budget",
        "j-table1-conversions",
        "j-table1-composition",
        "j-noise-ordering",
        "j-erm-sensitivity",
        "j-eps10-example",
        "j-leak-meaning",
        "r-rr-epsilon",
        "r-rr-accuracy",
        "r-naive-accuracy",
        "t-thm1",
        "t-thm1-tight",
        "t-cor1",
        "t-thm2",
        "t-unbounded-ppv",
        "t-noise-value",
        "t-humphries-accuracy",
        "t-beats-erlingsson",
        "t-beats-sablayrolles",
        "t-69-percent",
        "t-fig3-asymptotics",
        "t-user-subsampling",
        "t-unlearning-capacity",
        "t-fig10-trend",
        "t-group-mi",
        "t-reconstruction",
        "t-generalization-gap",
        "t-fig13-maximum",
        "t-failure-count",
        "m-kov",
        "m-cor1-examples",
        "m-thm2-gaussian",
        "m-tail-bound",
        "m-worst-case-tight",
    ]
    assert len(wanted) == 43
    specs = [one.spec for one in load_specs(Project(REPO), list(VERDICTS))]
    assert set(wanted) == {c for spec in specs for claim in spec.claims for c in claim.catalogue}


@pytest.mark.integration
def test_theory_is_judged_without_tensorflow() -> None:
    code = (
        "import json, sys\n"
        "from harness.paths import Project\nfrom harness.spec.load import load_specs\nfrom pathlib import Path\n"
        f"spec = load_specs(Project(Path({str(REPO)!r})), ['jayaraman2019/theory'])[0].spec\n"
        "done = [e.judge().outcome for c in spec.claims if c.id == 'nominal-valid' for e in c.theory[:1]]\n"
        "print(json.dumps([done, sorted(m for m in sys.modules if m.split('.')[0] in ('tensorflow', 'keras'))]))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPO)
    done, imported = json.loads(ran.stdout.splitlines()[-1])
    assert done == ["reproduced"]
    assert imported == []


SOUP = (REPO / "tests" / "theory" / "soup.yaml").read_text().splitlines()


def test_what_is_below_infinity_is_proved_without_a_closest_point() -> None:
    """Found by the test below: no margin is finite, so there is no point to show."""
    claim = {
        "kind": "inequality",
        "left": {"ratio": [{"formula": "noise-zcdp"}, {"plus": [1, {"variable": "epsilon"}]}]},
        "relation": "<",
        "right": math.inf,
        "over": {"epsilon": {"low": 0.5, "high": 3}, "delta": {"values": [0.01]}, "epochs": {"values": [100]}},
    }
    result = PARSE(claim).judge()
    assert result.outcome == "reproduced"
    assert "at no finite distance" in result.reason


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(1, len(SOUP) - 1),
    st.sampled_from(
        [
            "0",
            "-1",
            "1.0e+308",
            ".nan",
            ".inf",
            "1.5",
            "true",
            "null",
            "[]",
            "{}",
            "text",
            "{variable: x}",
            "{code: 1}",
            "{minus: [1, 2, 3]}",
            "{formula: optimal-ppv}",
            "'__import__(\"os\")'",
        ]
    ),
    st.integers(0, 30),
)
def test_any_mutated_theory_is_judged_or_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: int, value: str, place: int
) -> None:
    """A number, word or bracket of a line is exchanged; nothing but a verdict or a HarnessError comes out."""
    monkeypatch.setattr("harness.theory.prove.MAX_BOXES", 40)
    tokens = list(re.finditer(r"-?\d[\d.e+-]*|\b[a-z][a-z-]*\b|[\[{}\]]", SOUP[index]))
    if not tokens:
        return
    token = tokens[place % len(tokens)]
    line = SOUP[index][: token.start()] + value + SOUP[index][token.end() :]
    path = tmp_path / "soup.yaml"
    path.write_text("\n".join([*SOUP[:index], line, *SOUP[index + 1 :]]) + "\n")
    try:
        spec = load_spec(Project(REPO), path).spec
        for claim in spec.claims:
            for expectation in claim.theory:
                expectation.judge()
    except HarnessError as error:
        assert str(error).strip()


def test_what_cannot_be_computed_names_file_line_and_reason(tmp_path: Path) -> None:
    text = (REPO / "tests" / "theory" / "soup.yaml").read_text().replace("points: 2", "points: 2.5")
    (tmp_path / "specs" / "own").mkdir(parents=True)
    (tmp_path / "specs" / "own" / "soup.yaml").write_text(text)
    for name in ("params.yaml", "dvc.yaml", "pyproject.toml"):
        shutil.copy(REPO / name, tmp_path)
    ran = run_cli(tmp_path, "judge", "own/soup")
    line = text.splitlines().index("      left: {formula: optimal-ppv, given: {points: 2.5}}") - 1  # of `expect`
    assert ran.returncode == 2
    assert len(ran.stderr.strip().splitlines()) == 1
    assert f"specs/own/soup.yaml:{line}: claims.1.expect: claim 'computed'" in ran.stderr
    assert "points must be a whole number from 1 to 12, found 2.5" in ran.stderr


@pytest.mark.integration
def test_specs_judged_in_processes_are_as_in_one_and_so_are_their_faults(tmp_path: Path) -> None:
    text = (REPO / "tests" / "theory" / "soup.yaml").read_text()
    (tmp_path / "specs" / "own").mkdir(parents=True)
    for name in ("params.yaml", "dvc.yaml", "pyproject.toml"):
        shutil.copy(REPO / name, tmp_path)
    for number in range(2):
        (tmp_path / "specs" / "own" / f"soup{number}.yaml").write_text(text)
    alone, together = (run_cli(tmp_path, "judge", "--json", "-j", workers) for workers in ("1", "2"))
    assert alone.returncode == 0, alone.stderr
    assert [(v["id"], v["verdict"], v["reason"]) for v in json.loads(together.stdout)] == [
        (v["id"], v["verdict"], v["reason"]) for v in json.loads(alone.stdout)
    ]
    (tmp_path / "specs" / "own" / "soup1.yaml").write_text(text.replace("points: 2", "points: 2.5"))
    ran = run_cli(tmp_path, "judge", "-j", "2")
    assert ran.returncode == 2
    assert len(ran.stderr.strip().splitlines()) == 1
    assert "specs/own/soup1.yaml:" in ran.stderr
    assert "claims.1.expect: claim 'computed'" in ran.stderr
