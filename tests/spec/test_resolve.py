"""What DVC's stages depend on: specs as they are run under a profile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.paths import Project
from tests.conftest import PARAMS, SMALL_SPEC, run_cli

CLAIM = "Counts are as printed."
PROFILES = PARAMS + "  sequential: {design: sequential}\n  without: {skip: [own/cancer]}\n"


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
    assert set(before) == {"attacks", "experiment", "scale"}
    assert '"repeats": 1' in before["experiment"]
    reworded = "# a comment\n" + SMALL_SPEC.replace(CLAIM, "They are.")
    assert resolved(project, "one", reworded) == before
    more = resolved(project, "one", reworded.replace("repeats: 2", "repeats: 3"))
    assert {name for name in more if more[name] != before[name]} == {"scale"}
    assert "repeats 1 of 3" in more["scale"]
    other = resolved(project, "one", SMALL_SPEC.replace("epochs: 3", "epochs: 4"))
    assert other["experiment"] != before["experiment"]
    assert other["attacks"] == before["attacks"]


def test_claims_count_where_they_decide_what_is_trained(make_project: Callable[..., Project]) -> None:
    project = make_project()
    before = resolved(project, "sequential")
    after = resolved(project, "sequential", SMALL_SPEC.replace("members: 120}}\n", "members: 121}}\n"))
    assert before["experiment"] != after["experiment"]
    assert before["attacks"] == after["attacks"]


def test_what_a_profile_leaves_out_never_changes(make_project: Callable[..., Project]) -> None:
    project = make_project()
    before = resolved(project, "without")
    assert '"left_out": true' in before["experiment"]
    assert resolved(project, "without", SMALL_SPEC.replace("epochs: 3", "epochs: 4")) == before


def test_what_verdicts_say_of_a_profile_is_in_it_even_where_nothing_is_run(
    make_project: Callable[..., Project],
) -> None:
    project = make_project()
    before = resolved(project, "without")
    (project.root / "params.yaml").write_text(PROFILES.replace("skip: [own/cancer]", "skip: [own/cancer], repeats: 1"))
    assert run_cli(project.root, "resolve", "--profile", "without").returncode == 0
    said = (Path(project.models) / "without/resolved/own/cancer/scale.json").read_text()
    assert "repeats 1 of 2" in said
    assert said != before["scale"]
