"""Whole audits: both engines keep what they claim, each planted bug is exposed, and a function of one's own is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.arrays import Array
from harness.auditing import AUDITORS, canary_records, many_runs, one_at_a_time
from harness.auditing.engines import EngineTraining, Question
from harness.auditing.planted import BUGS, Bug, planted_training, spread_of_steps
from harness.errors import HarnessError
from tests.conftest import REPO, run_cli

pytestmark = pytest.mark.integration
RECORDS = canary_records()
CLAIMED = 0.2
DELTA = 1e-5


def bounds(trials: Any) -> dict[str, float]:
    return {n: a().bound(trials, DELTA).epsilon for n, a in AUDITORS if a.sees == "many runs"}


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
def test_the_fast_engine_keeps_its_claim_and_hardly_more(epsilon: float) -> None:
    """Full batches: the canary's column is a Gaussian mechanism, so the audit comes near the claim from below."""
    found = bounds(many_runs(EngineTraining("fast", Question(epsilon)), RECORDS, 1000, 1))
    assert all(bound <= epsilon for bound in found.values()), found
    assert found["gaussian"] > (0.6 if epsilon == 1 else 0.85) * epsilon


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
def test_tf_privacys_engine_keeps_its_claim(epsilon: float) -> None:
    found = bounds(many_runs(EngineTraining("tf-privacy", Question(epsilon, epochs=4)), RECORDS, 60, 2))
    assert all(bound <= epsilon for bound in found.values()), found
    assert found["gaussian"] > 0.5 * epsilon or epsilon == 1


def test_batches_make_it_more_private_and_the_audit_weaker() -> None:
    found = bounds(many_runs(EngineTraining("fast", Question(4.0, batch_size=16)), RECORDS, 1000, 3))
    assert all(bound <= 4.0 for bound in found.values()), found


RUNS: dict[Bug, int] = {
    "noise-over-batch": 60,
    "batch-clipping": 600,
    "layer-unclipped": 600,
    "noise-reused": 60,
    "wrong-rate": 2000,
}
"""Trainings in which docs/auditing.md says that each bug is exposed."""


def audited(bug: Bug, runs: int, seed: int = 0) -> dict[str, float]:
    sampled = bug in ("noise-reused", "wrong-rate")
    question = Question(CLAIMED, batch_size=16 if sampled else 64)
    score: Any = (lambda m: spread_of_steps(m, RECORDS)) if bug == "noise-reused" else "weights"
    return bounds(many_runs(planted_training(question, bug), RECORDS, runs, seed, score))


@pytest.mark.parametrize("bug", RUNS)
def test_each_planted_bug_is_exposed(bug: Bug) -> None:
    assert max(audited(bug, RUNS[bug]).values()) > CLAIMED


def test_noise_divided_by_the_batch_is_found_above_2_7_without_assuming_anything() -> None:
    """As in tramer2025 Section 6.1: claimed 0.2, found above 2.7."""
    assert audited("noise-over-batch", 400)["clopper-pearson"] > 2.7


def test_without_a_bug_one_audit_in_twenty_is_wrong_and_no_more() -> None:
    """Fifteen audits at 95%, each by its largest bound: four wrong would be a chance below 1 in 100."""
    assert set(RUNS) | {"none"} == set(BUGS)
    wrong = 0
    for batch_size, score in ((64, "weights"), (16, "weights"), (16, lambda m: spread_of_steps(m, RECORDS))):
        trained = planted_training(Question(CLAIMED, batch_size=batch_size))
        wrong += sum(bounds(many_runs(trained, RECORDS, 80, s, score))["gaussian"] > CLAIMED for s in range(5))
    assert wrong <= 3


def test_the_canary_stands_in_a_column_of_its_own() -> None:
    features, labels = RECORDS.with_canary()
    assert (features[:-1, RECORDS.column] == 0).all()
    assert (RECORDS.features[:, RECORDS.column] == 0).all()
    assert features[-1, RECORDS.column] == 10
    assert (features[:-1] == RECORDS.features[:-1]).all()
    assert (labels[:-1] == RECORDS.labels[:-1]).all()


class Says:
    """A model that says one probability, or not a number."""

    def __init__(self, p: float) -> None:
        self.p = p

    def predict_proba(self, features: Array) -> Array:
        return np.full((len(features), 2), self.p)


def test_runs_follow_from_the_seed_and_who_has_the_canary_alternates() -> None:
    seen: list[tuple[bool, int]] = []

    def train(features: Array, labels: Array, seed: int) -> list[Array]:
        seen.append((bool(features[-1, -1]), seed))
        return [np.full((features.shape[1], 2), float(seed % 7)) * [0, 1]]

    first, again = (many_runs(one_at_a_time(train), RECORDS, 10, 4) for _ in range(2))
    assert seen[:10] == seen[10:]
    assert [inside for inside, _ in seen[:10]] == [True, False] * 5
    assert (first.inside == again.inside).all()
    assert len({seed for _, seed in seen}) == 10


def raises(features: Array, labels: Array, seed: int) -> Any:
    raise ZeroDivisionError("by the number of\nrecords")


@pytest.mark.parametrize(
    ("train", "score", "says"),
    [
        (raises, "weights", "the training function raised ZeroDivisionError: by the number of"),
        (lambda x, y, s: Says(float("nan")), "loss", "has the score nan, no number"),
        (lambda x, y, s: Says(0.5), "weights", "no list of arrays and has neither coef_ nor get_weights"),
        (lambda x, y, s: [np.zeros((3, 2))], "weights", r"first weights of shape \(3, 2\)"),
        (lambda x, y, s: [np.zeros((8, 2))], "loss", "neither predict_proba nor predict"),
    ],
)
def test_a_function_that_cannot_be_audited_is_one_clear_line(train: Any, score: Any, says: str) -> None:
    with pytest.raises(HarnessError, match=says) as found:
        many_runs(one_at_a_time(train), RECORDS, 8, 0, score)
    assert "\n" not in str(found.value)


def test_the_command_says_what_is_claimed_and_what_is_found(tmp_path: Path) -> None:
    example = REPO / "examples" / "audit_output_perturbation.py"
    sound = run_cli(tmp_path, "audit", f"{example}:train", "--epsilon", "2", "--runs", "60", "-q")
    assert sound.returncode == 0, sound.stderr
    assert "not refuted" in sound.stdout
    plot = tmp_path / "audit.svg"
    asked = [
        "audit",
        f"{example}:divides_twice",
        "--epsilon",
        "2",
        "--runs",
        "100",
        "-q",
        "--plot",
        str(plot),
        "--json",
    ]
    wrong = run_cli(tmp_path, *asked)
    assert wrong.returncode == 1, wrong.stderr
    found = json.loads(wrong.stdout)
    assert found["exposed"]
    assert max(b["epsilon"] for b in found["bounds"]) > 2
    assert "<svg" in plot.read_text()
    again = run_cli(tmp_path, *asked)
    assert json.loads(again.stdout) == found


def test_a_keras_function_is_audited_and_its_bug_exposed(tmp_path: Path) -> None:
    example = REPO / "examples" / "audit_keras.py"
    wrong = run_cli(tmp_path, "audit", f"{example}:clips_the_sum", "--epsilon", "2", "--runs", "200", "-q", "--json")
    assert wrong.returncode == 1, wrong.stderr
    assert max(b["epsilon"] for b in json.loads(wrong.stdout)["bounds"] if b["auditor"] == "gaussian") > 2
    sound = run_cli(tmp_path, "audit", f"{example}:train", "--epsilon", "2", "--runs", "40", "-q", "--json")
    assert sound.returncode == 0, sound.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nope"], "'nope' is neither an engine nor a function; write it as file.py:function"),
        (["nope.py:f", "--epsilon", "1"], "nope.py: no such file"),
        (["broken.py:f", "--epsilon", "1"], "broken.py:f: cannot be loaded: SyntaxError: invalid syntax (broken.py:1)"),
        (["fine.py:g", "--epsilon", "1"], "fine.py:g: no function 'g' in it; there are: f"),
        (["fine.py:f"], "--epsilon: say what is claimed"),
        (["fast", "--epsilon", "-1"], "--epsilon -1: it has to be above 0"),
        (["fast", "--delta", "1"], "--delta 1: it has to lie between 0 and 1"),
        (["fast", "--level", "95"], "--level 95: it has to lie between 0 and 1"),
        (["fast", "--score", "logits"], "--score 'logits': unknown; it is weights or loss"),
        (["fast", "--accountant", "rpd"], "unknown accountant 'rpd'"),
        (["fast", "--batch-size", "100"], "a batch of 100 from 64 records"),
        (["fast", "--records", "2"], "2 records of 8 columns are too few"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path: Path, arguments: list[str], says: str) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "fine.py").write_text("def f(features, labels, seed):\n    return None\n")
    ran = run_cli(tmp_path, "audit", *arguments)
    assert ran.returncode == 2
    assert says in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
