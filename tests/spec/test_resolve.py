"""What DVC's stages depend on: specs as they are run under a profile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.paths import Project
from tests.conftest import PARAMS, SMALL_SPEC, run_cli

CLAIM = "Counts are as printed."
PROFILES = PARAMS + "  sequential: {design: sequential}\n  without: {decide: [theory]}\n"


def resolved(project: Project, profile: str, text: str = SMALL_SPEC) -> dict[str, str]:
    (project.specs / "own" / "cancer.yaml").write_text(text)
    (project.root / "params.yaml").write_text(PROFILES)
    ran = run_cli(project.root, "resolve", "--profile", profile)
    assert ran.returncode == 0, ran.stderr
    folder = Path(project.models) / profile / "resolved" / "own" / "cancer"
    return {path.stem: path.read_text() for path in sorted(folder.glob("*.json"))}


def test_only_what_is_run_is_in_it(make_project: Callable[..., Project]) -> None:
    project = make_project()
    before = resolved(project, "one")
    assert set(before) == {"attacks", "claims", "experiment"}
    assert '"repeats": 1' in before["experiment"]
    reworded = "# a comment\n" + SMALL_SPEC.replace(CLAIM, "They are.")
    after = resolved(project, "one", reworded)
    assert {name for name in after if after[name] != before[name]} == {"claims"}  # verdicts quote it
    assert resolved(project, "one", "# a comment\n" + SMALL_SPEC) == before
    before = after
    more = resolved(project, "one", reworded.replace("repeats: 2", "repeats: 3"))
    assert {name for name in more if more[name] != before[name]} == {"claims"}
    assert "repeats 1 of 3" in more["claims"]
    other = resolved(project, "one", SMALL_SPEC.replace("epochs: 3", "epochs: 4"))
    assert other["experiment"] != before["experiment"]
    assert other["attacks"] == before["attacks"]


def test_claims_count_where_they_decide_what_is_trained(make_project: Callable[..., Project]) -> None:
    project = make_project()
    before = resolved(project, "sequential")
    after = resolved(project, "sequential", SMALL_SPEC.replace("members: 120}}\n", "members: 121}}\n"))
    assert before["experiment"] != after["experiment"]
    assert before["attacks"] == after["attacks"]


def test_what_a_profile_leaves_out_costs_nothing(make_project: Callable[..., Project]) -> None:
    project = make_project()
    assert resolved(project, "without") == {}
    assert run_cli(project.root, "pipeline").returncode == 0
    assert "own/cancer" in (project.root / "dvc.yaml").read_text()
    (project.root / "params.yaml").write_text(PROFILES.replace("profile: full", "profile: without"))
    assert run_cli(project.root, "pipeline", "--check").returncode == 2
    assert run_cli(project.root, "pipeline").returncode == 0
    assert "own/cancer" not in (project.root / "dvc.yaml").read_text()


def test_data_that_changed_are_part_of_what_is_trained(make_project: Callable[..., Project]) -> None:
    project = make_project()
    before = resolved(project, "one")
    table = project.root / "cancer.csv"
    table.write_text(table.read_text().replace("small", "tiny", 1))
    after = resolved(project, "one")
    assert {name for name in after if after[name] != before[name]} == {"experiment"}


def test_a_new_spec_that_dvc_does_not_know_is_said(make_project: Callable[..., Project]) -> None:
    project = make_project()
    assert run_cli(project.root, "pipeline").returncode == 0
    assert run_cli(project.root, "resolve").returncode == 0
    (project.specs / "own" / "second.yaml").write_text(SMALL_SPEC)
    ran = run_cli(project.root, "resolve")
    assert ran.returncode == 2
    assert "run `harness pipeline`, then `dvc repro`" in ran.stderr
