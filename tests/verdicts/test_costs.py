"""What deciding a claim costs, read back from the sentence that says so."""

from __future__ import annotations

import pytest

from harness.claims.verdict import VerdictFile
from harness.verdicts.costs import CostToDecide, cost_to_decide
from harness.verdicts.partial import time_text
from tests.conftest import REPO

PAST = "; that is past the limit of repeats or of models"
IF = ", if effects stay as they are"


@pytest.mark.parametrize(
    ("sentence", "cost"),
    [
        (f"about 1 more model, 44 seconds on one core{IF}", CostToDecide(1, 44)),
        (f"about 5,051 more models, 16.4 hours on one core{IF}{PAST}", CostToDecide(5051, 59040, "about", True)),
        (f"about 28 more models{IF}", CostToDecide(28, None)),
        (
            f"about 326 more models under attack, 284 of them to train, at most 57 minutes on one core{IF}",
            CostToDecide(326, 3420, "at most"),
        ),
        (
            f"about 3 more models under attack, all of them trained already, at most 9 seconds on one core{IF}{PAST}",
            CostToDecide(3, 9, "at most", True),
        ),
        (
            "these 5 readings, at least 1,090 models, 29 minutes on one core (harness alternatives --where-violated a/b)",
            CostToDecide(1090, 1740, "at least"),
        ),
        (
            f"in the reading model = kind mlp, about 64 models, about 12 more models, 2 minutes on one core{IF}; "
            "this reading, at least 6 models, 60 seconds on one core (harness alternatives --where-violated a/b)",
            CostToDecide(18, 180),
        ),
        (
            f"in the reading a.b = 1, about 2 more models{IF}; this reading, at least 6 models, 60 seconds on one core",
            CostToDecide(8, None),
        ),
        ("", None),
        ("no number of repeats is likely to decide it: what is left lies too close to its margin", None),
        ("more than 10,000 repeats of a cell: what is left lies too close to its margin", None),
        ("a way to prepare the data that gives the printed count", None),
        ("this reading (harness alternatives --where-violated a/b)", None),
        (
            f"in the reading a = 1, more models; in the reading a = 2, about 2 more models, 5 seconds on one core{IF}",
            None,
        ),
    ],
)
def test_costs_are_read_back(sentence: str, cost: CostToDecide | None) -> None:
    assert cost_to_decide(sentence) == cost


def test_time_is_said_as_it_was() -> None:
    assert CostToDecide(1, 3420, "at most").time == "at most 57 minutes"
    assert CostToDecide(1, 59040).time == "16.4 hours"
    assert CostToDecide(1, None, "at least").time == ""


def test_every_committed_sentence_with_a_cost_is_understood() -> None:
    """None that names a time has no cost, and a cost of one thing is said with the sentence's own words."""
    path = REPO / "reports/sequential/verdicts.json"
    verdicts = VerdictFile.model_validate_json(path.read_text(encoding="utf-8")).verdicts
    costs = {v.would_decide: cost_to_decide(v.would_decide) for v in verdicts if v.verdict == "inconclusive"}
    with_time = {sentence: cost for sentence, cost in costs.items() if sentence.count("on one core") == 1}
    assert len(with_time) > 50
    for sentence, cost in with_time.items():
        if "no number of repeats" in sentence:  # of one of the readings that it names
            assert cost is None, sentence
            continue
        assert cost is not None, sentence
        assert cost.seconds is not None, sentence
        # 89.5 minutes are said as 90, and 90 as 1.5 hours.
        said = {time_text(cost.seconds), f"{cost.seconds / 60:.0f} minutes"}
        assert any(f" {words} on one core" in sentence for words in said), sentence
        assert f" {cost.models:,} more model" in sentence or f" {cost.models:,} models" in sentence
