"""Claims of a paper against what the paper prints: its own numbers, and the sentence that a corrected claim corrects."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.errors import HarnessError
from harness.paths import Project
from harness.spec.corrected import check_corrected
from harness.spec.load import load_specs
from harness.spec.tolerances import check_tolerances
from harness.verdicts.printed import check_printed_numbers, try_on_printed_numbers
from tests.conftest import REPO, SMALL_SPEC, run_cli

Make = Callable[..., Project]
PAPER = 'origin: paper, quotes: [{section: "1", text: "As the table shows, members leak"}]'
LEFT = "left: {metric: auc, arm: size, attack: logloss}"
CLAIMS = f"""\
  - {{id: printed, where: Table 1, statement: Printed., {PAPER}, tolerance_from: ours, expect: {{kind: table, tolerance: 0.05, rows: [
      {{of: {{metric: auc, arm: size, attack: logloss}}, values: {{1: 0.6, 10: 0.8}}}},
      {{of: {{metric: auc, arm: iid, attack: logloss}}, values: {{1: 0.7}}}}]}}}}
  - {{id: high, where: here, statement: High., {PAPER}, expect: {{kind: compare, {LEFT}, relation: ">", right: {{value: VALUE}}}}}}
  - {{id: above-iid, where: here, statement: Above., {PAPER}, expect: [
      {{kind: compare, {LEFT}, relation: "<", right: {{arm: iid}}, at: [1]}},
      {{kind: compare, {LEFT}, relation: "<", right: {{arm: iid}}, at: [10]}}]}}
"""
RIGHT = SMALL_SPEC.replace("experiment:\n", "paper_run: {data: csv}\nexperiment:\n", 1) + CLAIMS


@pytest.fixture
def trials(make_project: Make) -> Callable[[str], dict[str, tuple[int, int, int]]]:
    def run(text: str) -> dict[str, tuple[int, int, int]]:
        (one,) = load_specs(make_project(text), [])
        return {name: (t.met, t.missed, t.parts) for name, t in try_on_printed_numbers(one.spec).items()}

    return run


def test_each_part_is_tried_whose_numbers_are_printed(
    trials: Callable[[str], dict[str, tuple[int, int, int]]],
) -> None:
    """0.6 and 0.8 are above 0.55 and not above 0.65; at 10 nothing is printed of the other arm."""
    assert trials(RIGHT.replace("VALUE", "0.55")) == {"high": (1, 0, 1), "above-iid": (1, 0, 2)}
    assert trials(RIGHT.replace("VALUE", "0.65")) == {"high": (0, 1, 1), "above-iid": (1, 0, 2)}


def test_a_value_that_is_printed_just_so_neither_meets_nor_contradicts(
    trials: Callable[[str], dict[str, tuple[int, int, int]]],
) -> None:
    assert trials(RIGHT.replace("VALUE", "0.6")) == {"above-iid": (1, 0, 2)}


def test_validate_refuses_what_printed_numbers_contradict_unless_it_is_said(make_project: Make) -> None:
    project = make_project(RIGHT.replace("VALUE", "0.65"))
    ran = run_cli(project.root, "validate")
    assert ran.returncode == 2
    line = 1 + (RIGHT.splitlines()).index(next(x for x in RIGHT.splitlines() if "id: high" in x))
    assert f"specs/own/cancer.yaml:{line}: claim 'high': the paper's own printed numbers contradict it" in ran.stderr
    said = RIGHT.replace("VALUE", "0.65").replace("High., ", 'High., against_printed: "Table 1 has 0.6", ')
    assert run_cli(make_project(said).root, "validate").returncode == 0
    ran = run_cli(make_project(said.replace("0.65", "0.55")).root, "validate")
    assert ran.returncode == 2
    assert "none of them does" in ran.stderr


def test_what_stands_against_a_claim_of_ours_is_refused(make_project: Make) -> None:
    text = SMALL_SPEC.replace("    where: here\n", '    where: here\n    against_printed: "Table 1"\n', 1)
    assert "against_printed is for claims of origin" in run_cli(make_project(text).root, "validate").stderr


def test_a_papers_tolerance_says_where_it_comes_from(make_project: Make) -> None:
    right = RIGHT.replace("VALUE", "0.55")
    ran = run_cli(make_project(right.replace("tolerance_from: ours, ", "")).root, "validate")
    line = 1 + right.splitlines().index(next(x for x in right.splitlines() if "id: printed" in x))
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"harness: specs/own/cancer.yaml:{line}: claim 'printed': tolerance_from is missing; ")
    assert "printed-errors" in ran.stderr
    unknown = run_cli(make_project(right.replace("tolerance_from: ours", "tolerance_from: me")).root, "validate")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)
    none = right.replace("statement: High., ", "statement: High., tolerance_from: ours, ")
    assert "no inequality of it has a tolerance" in run_cli(make_project(none).root, "validate").stderr


CORRECTED = """\
  - {id: right, where: here, statement: Right., origin: corrected, corrects: NAME, quotes: [{section: "1", text: "TEXT"}],
     expect: {kind: count, arm: iid, equals: {rows: 569}}}
"""


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("high", "the table shows", ""),
        ("own/cancer#high", "As the table ... members leak", ""),
        ("nothing", "the table shows", "there is no claim own/cancer#nothing"),
        ("iid-held", "the table shows", "own/cancer#iid-held is of origin `ours`"),
        ("high", "a sentence from elsewhere", "own/cancer#high quotes other sentences"),
    ],
)
def test_what_is_corrected_is_the_papers_claim_and_the_same_sentence(
    make_project: Make, name: str, text: str, fault: str
) -> None:
    added = CORRECTED.replace("NAME", name).replace("TEXT", text)
    loaded = load_specs(make_project(RIGHT.replace("VALUE", "0.55") + added), [])
    if not fault:
        check_corrected(loaded)
        return
    with pytest.raises(HarnessError, match=fault):
        check_corrected(loaded)


def test_the_committed_specs_hold_both(capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load_specs(Project(REPO), [])
    check_corrected(loaded)
    check_printed_numbers(loaded)
    check_tolerances(loaded)
    tried = [trial for one in loaded for trial in try_on_printed_numbers(one.spec).values()]
    assert len(tried) > 60
    assert sum(trial.missed > 0 for trial in tried) == sum(
        bool(c.against_printed) for o in loaded for c in o.spec.claims
    )
