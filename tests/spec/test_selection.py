"""What a profile decides: claims, specs, papers and theory, what is trained for them, and what speaks of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable

import pandas as pd
import pytest
from ruamel.yaml import YAML

from harness.execution.store import Store
from harness.paths import Project
from harness.spec.load import load_specs
from harness.spec.profile import Profile
from harness.spec.selection import specs_to_decide
from tests.conftest import SMALL_SPEC, run_cli
from tests.test_pipeline import THEORY

Make = Callable[..., Project]
MIXED = """\
  - id: tight
    where: here
    kind: theory
    statement: The bound is tight.
    expect: {kind: inequality, left: {formula: optimal-advantage}, relation: "=", right: {formula: humphries}, over: {epsilon: {low: 0, high: 1}, delta: {low: 0, high: 1}}}
"""


@pytest.fixture
def project(make_project: Make) -> Project:
    """Four specs of two papers: one with a claim of theory beside those on measurements, one of theory alone."""
    make_project(SMALL_SPEC + MIXED)
    make_project(SMALL_SPEC, "own/again")
    make_project(THEORY, "own/theory")
    return make_project(SMALL_SPEC.replace("paper: own", "paper: tramer2025"), "tramer2025/cancer")


def params(project: Project, *decide: str, more: str = "") -> None:
    project.params.write_text(
        f"profile: few\nprofiles:\n  few: {{decide: [{', '.join(f'{one!r}' for one in decide)}]{more}}}\n  all: {{}}\n"
    )


CLAIMS = ("biased-beats-iid", "iid-held", "counts")


@pytest.mark.parametrize(
    ("decide", "expected"),
    [
        (("own/cancer#counts",), {"own/cancer": {"counts"}}),
        (("own/cancer#counts", "own/cancer#tight"), {"own/cancer": {"counts", "tight"}}),
        (("own/again",), {"own/again": set(CLAIMS)}),
        (("tramer2025",), {"tramer2025/cancer": set(CLAIMS)}),
        (("theory",), {"own/cancer": {"tight"}, "own/theory": {"tight"}}),
        (
            ("theory", "tramer2025/cancer#counts"),
            {"own/cancer": {"tight"}, "own/theory": {"tight"}, "tramer2025/cancer": {"counts"}},
        ),
        (
            ("own", "own/cancer#counts"),
            {"own/again": set(CLAIMS), "own/cancer": {*CLAIMS, "tight"}, "own/theory": {"tight"}},
        ),
    ],
)
def test_papers_specs_claims_and_theory_are_selected(project: Project, decide: tuple[str, ...], expected: dict) -> None:
    chosen = specs_to_decide(Profile(decide=decide), load_specs(project, []))
    assert {one.spec.id: {claim.id for claim in one.spec.claims} for one in chosen} == expected
    # A spec that is decided whole is as without the list: it is not restricted, and keeps its figure and its hash.
    whole = {one.spec.id: one for one in load_specs(project, [])}
    for one in chosen:
        complete = len(one.spec.claims) == len(whole[one.spec.id].spec.claims)
        assert (one.claims is None) == complete
        assert (one.sha256 == whole[one.spec.id].sha256) == complete


def test_a_profile_without_the_list_decides_everything(project: Project) -> None:
    loaded = load_specs(project, [])
    assert specs_to_decide(Profile(), loaded) == loaded


def trained(project: Project) -> int:
    return len(list(Store(project.store).files("train")))


@pytest.mark.integration
def test_nothing_but_what_the_claims_need_is_trained_and_nothing_else_is_reported(project: Project) -> None:
    params(project, "own/cancer#iid-held", "theory", more=", design: sequential")
    ran = run_cli(project.root, "run")
    assert ran.returncode == 0, ran.stderr
    page = project.reports / "few"
    table = pd.read_parquet(page / "own/cancer/measurements.parquet")
    # The claim is of the finite epsilons of one arm: neither the other arm nor the model without noise is trained.
    cells = table.groupby(["arm", "epsilon"])["repeat"].nunique()
    assert set(cells.index) == {("iid", 1.0), ("iid", 10.0)}
    assert trained(project) == cells.sum()
    assert not (page / "own/again").exists()
    assert not (page / "tramer2025").exists()
    expected = ["own/cancer#iid-held", "own/cancer#tight", "own/theory#tight"]
    files = [json.loads(path.read_text())["verdicts"] for path in sorted((page / "own").rglob("verdicts.json"))]
    assert [verdict["id"] for one in files for verdict in one] == expected
    with (page / "site/claims.csv").open() as lines:
        assert sorted(row["id"] for row in csv.DictReader(lines)) == expected
    summary = (page / "summary.md").read_text()
    site = (page / "site/index.html").read_text()
    for absent in ("own/again", "tramer2025/cancer", "biased-beats-iid", "not run"):
        assert absent not in summary
    assert "own/again" not in site
    counts = json.loads((page / "metrics.json").read_text())
    assert counts["claims"] == sum(group["claims"] for name, group in counts.items() if name != "claims") == 3
    status = json.loads(run_cli(project.root, "status", "--json").stdout)
    assert "again" not in json.dumps(status)
    # Nor is more planned, and the same command once more trains nothing.
    plan = json.loads(run_cli(project.root, "plan", "--json").stdout)
    assert {row["spec"] for row in plan["specs"]} <= {"own/cancer", "own/theory"}
    assert {row["cells"] for row in plan["specs"] if row["spec"] == "own/cancer"} == {4}  # two repeats, as declared
    before = trained(project)
    assert run_cli(project.root, "run", "-q").returncode == 0
    assert trained(project) == before


@pytest.mark.integration
def test_a_claim_of_counts_needs_one_cell_of_its_arm(project: Project) -> None:
    params(project, "tramer2025/cancer#counts", more=", design: sequential")
    ran = run_cli(project.root, "run", "-q")
    assert ran.returncode == 0, ran.stderr
    table = pd.read_parquet(project.reports / "few/tramer2025/cancer/measurements.parquet")
    assert len(table.groupby(["arm", "epsilon"])) == 1
    assert set(table["arm"]) == {"iid"}
    assert set(table["attack"]) == {""}
    assert trained(project) == table["repeat"].nunique() <= 2
    (verdict,) = json.loads((project.reports / "few/tramer2025/cancer/verdicts.json").read_text())["verdicts"]
    assert (verdict["id"], verdict["verdict"]) == ("tramer2025/cancer#counts", "reproduced")


@pytest.mark.integration
@pytest.mark.parametrize("design", ["fixed", "sequential"])
def test_theory_alone_trains_nothing(project: Project, design: str) -> None:
    """Of a spec that has claims on measurements too."""
    params(project, "theory", more=f", design: {design}")
    ran = run_cli(project.root, "run")
    assert ran.returncode == 0, ran.stderr
    assert trained(project) == 0
    files = [
        json.loads(p.read_text())["verdicts"] for p in sorted((project.reports / "few/own").rglob("verdicts.json"))
    ]
    assert [(v["id"], v["verdict"]) for one in files for v in one] == [
        ("own/cancer#tight", "reproduced"),
        ("own/theory#tight", "reproduced"),
    ]


def test_what_a_profile_decides_nothing_of_is_named_and_refused(project: Project) -> None:
    params(project, "own/cancer#counts", "theory")
    for command in ("run", "plan", "judge", "resolve"):
        ran = run_cli(project.root, command, "own/again")
        assert ran.returncode == 2, command
        assert ran.stderr.strip() == (
            "harness: own/again: the profile 'few' decides no claim of it; name another with --profile, or add it to "
            "`decide` in params.yaml"
        )
    # Beside another one too; a paper stands for those of its specs that the profile decides.
    ran = run_cli(project.root, "judge", "own/cancer", "tramer2025")
    assert (ran.returncode, "harness: tramer2025: the profile 'few' decides no claim" in ran.stderr) == (2, True)
    ran = run_cli(project.root, "resolve", "own")
    assert ran.returncode == 0, ran.stderr
    resolved = sorted((project.models / "few" / "resolved").rglob("claims.json"))
    assert [path.parent.name for path in resolved] == ["cancer", "theory"]
    assert run_cli(project.root, "resolve", "own/again", "-p", "all").returncode == 0


def test_a_name_that_nothing_has_is_said_by_file_line_and_field(project: Project) -> None:
    project.params.write_text(
        "profile: few\nprofiles:\n  few:\n    decide:\n      - theory\n      - own/cancer#count\n  all: {}\n"
    )
    ran = run_cli(project.root, "validate")
    assert ran.returncode == 2
    assert ran.stderr.strip() == (
        "harness: params.yaml:6: profiles.few.decide: 'own/cancer#count' names no paper, spec or claim; did you mean "
        "own/cancer#counts?"
    )
    params(project, "zzz")
    ran = run_cli(project.root, "validate")
    assert (
        "params.yaml:3: profiles.few.decide: 'zzz' names no paper, spec or claim; `harness list` prints" in ran.stderr
    )
    project.params.write_text("profile: few\nprofiles:\n  few: {decide: []}\n")
    ran = run_cli(project.root, "validate")
    assert ran.returncode == 2
    assert "params.yaml:3: profiles.few.decide" in ran.stderr
    params(project, "theory", more=", readings_of: none")
    ran = run_cli(project.root, "judge")
    assert ran.returncode == 2
    assert "profiles.few.readings_of: unknown profile 'none'; there are: few, all" in ran.stderr


@pytest.mark.parametrize("design", ["fixed", "sequential"])
def test_the_pipeline_has_the_stages_of_the_design_and_the_specs_that_are_decided(
    project: Project, design: str
) -> None:
    params(project, "own/again#counts", "own/theory", more=f", design: {design}")
    (project.root / "harness" / "pipeline").mkdir(parents=True)
    (project.root / "harness" / "pipeline" / "dvc.py").touch()  # as in a checkout, where stages depend on the code
    assert run_cli(project.root, "pipeline").returncode == 0
    stages = YAML(typ="safe").load((project.root / "dvc.yaml").read_text())["stages"]
    measuring = {"measure"} if design == "sequential" else {"train", "attack"}
    assert stages.keys() & {"train", "attack", "measure"} == measuring
    for stage in {*measuring, "judge"}:
        assert [word for word in stages[stage]["cmd"].split() if "/" in word] == ["own/again"]
    assert [word for word in stages["theory"]["cmd"].split() if "/" in word] == ["own/theory"]
    assert all("harness" in stage["deps"] for stage in stages.values())


OPEN = """\
  - id: stays-low
    where: here
    statement: The model is right in fewer than 0.8 of all cases.
    expect: {kind: compare, left: {metric: accuracy_test, arm: iid}, relation: "<", right: {value: 0.8}, at: [.inf]}
  - id: above-chance
    where: here
    statement: The model is right in more than 0.3 of all cases.
    expect: {kind: compare, left: {metric: accuracy_test, arm: iid}, relation: ">", right: {value: 0.3}, at: [.inf]}
ambiguities:
  - {choice: learning rate, field: experiment.training.learning_rate, chosen: 0.05, alternatives: [1.0e-12, 0.1], why: not stated}
"""
"""The model learns at the chosen rate and at one of the others: the first claim is violated there, and holds at the
rate at which nothing is learned."""


@pytest.mark.integration
def test_readings_that_another_profile_ran_count_on_both_sides(make_project: Make) -> None:
    project = make_project(SMALL_SPEC.replace("repeats: 2", "repeats: 8").replace("[1, 10, .inf]", "[1, .inf]") + OPEN)
    decide = "decide: [own/cancer#stays-low, own/cancer#above-chance], design: sequential"
    project.params.write_text(
        f"profile: few\nprofiles:\n  few: {{{decide}, readings_of: whole}}\n  alone: {{{decide}}}\n  whole: {{}}\n"
    )

    def judged(profile: str) -> dict[str, dict]:
        assert run_cli(project.root, "judge", "-p", profile).returncode == 0
        path = project.reports / profile / "own/cancer/verdicts.json"
        return {v["id"].split("#")[1]: v for v in json.loads(path.read_text())["verdicts"]}

    for profile in ("few", "alone"):
        ran = run_cli(project.root, "run", "-q", "-p", profile)
        assert ran.returncode == 0, ran.stderr
    table = pd.read_parquet(project.reports / "few/own/cancer/measurements.parquet")
    assert {*zip(table["arm"], table["epsilon"], strict=True)} == {("iid", float("inf"))}
    assert trained(project) == table["repeat"].nunique()
    before, alone = judged("few"), judged("alone")
    assert before["stays-low"]["rests_on"]["readings"] == []
    assert before["stays-low"]["verdict"] == alone["stays-low"]["verdict"]
    ran = run_cli(project.root, "alternatives", "-q", "-p", "whole")
    assert ran.returncode == 0, ran.stderr
    models = trained(project)
    after = judged("few")
    turned = after["stays-low"]
    assert [(r["value"], r["verdict"], r["profile"]) for r in turned["rests_on"]["readings"]] == [
        (1e-12, "reproduced", "whole"),
        (0.1, "violated", "whole"),
    ]
    assert turned["verdict"] == "inconclusive"
    assert any("training.learning_rate" in one for one in turned["hangs_on"])
    # What is reproduced is so in no reading that contradicts it, and a profile that names no other takes none.
    kept = after["above-chance"]
    assert kept["verdict"] == "reproduced"
    assert [(r["value"], r["verdict"]) for r in kept["rests_on"]["readings"]] == [
        (1e-12, "inconclusive"),
        (0.1, "reproduced"),
    ]
    assert judged("alone") == alone
    # Nothing is copied, and nothing is trained for it.
    assert not (project.reports / "few/own/cancer/readings").exists()
    assert trained(project) == models
    # A reading that this profile ran itself is its own.
    ran = run_cli(project.root, "alternatives", "-q", "-p", "few")
    assert ran.returncode == 0, ran.stderr
    own = judged("few")["stays-low"]
    assert [(r["value"], r["verdict"], r.get("profile")) for r in own["rests_on"]["readings"]] == [
        (1e-12, "reproduced", None),
        (0.1, "violated", None),
    ]
