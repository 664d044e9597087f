"""Plans: what is shared, what an edit touches, what a profile takes away."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import pytest

from harness.execution.plan import Plan
from harness.execution.planner import make_plan
from harness.paths import Project
from harness.spec.load import load_specs
from harness.spec.profile import Profile, choose, load_params, scale
from tests.conftest import SMALL_SPEC

Make = Callable[..., Project]
SHADOWS = SMALL_SPEC.replace("  repeats: 2", "  pools: {shadows: {count: 2}}\n  repeats: 2").replace(
    "  logloss: {kind: logloss}", "  logloss: {kind: logloss}\n  shokri: {kind: shokri, epochs: 2}"
)


def plan(make_project: Make, text: str, where: str) -> Plan:
    project = make_project(text, where=where)
    return make_plan(project, load_specs(project, [])[0].spec)


def keys(result: Plan, kind: str) -> set[str]:
    return {p.key for p in result.pieces() if p.kind == kind}


def test_counts_of_pieces(make_project: Make) -> None:
    """2 arms x 3 epsilons x 2 repeats; shadows without noise are shared by all epsilons of an arm and repeat."""
    result = plan(make_project, SHADOWS, "a")
    assert len(result.cells) == 12
    assert {k: len(keys(result, k)) for k in ("split", "train", "fit", "evaluate")} == {
        "split": 4,
        "train": 12 + 8,
        "fit": 4,
        "evaluate": 36,
    }
    assert all(p.kind in ("split", "train") for p in result.pieces("train"))


def test_shadows_trained_like_the_target_cannot_be_shared(make_project: Make) -> None:
    result = plan(make_project, SHADOWS.replace("{count: 2}", "{count: 2, privacy: like-target}"), "a")
    assert len(keys(result, "train")) == 12 + 24
    assert len(keys(result, "fit")) == 12


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("statement: Counts", "statement: All counts", set()),
        ("rows: 569", "rows: 570", set()),
        ("epochs: 2}", "epochs: 3}", {"fit", "evaluate"}),
        ("epochs: 3}", "epochs: 4}", {"train", "fit", "evaluate"}),
        ("scaling: standard", "scaling: none", {"split", "train", "fit", "evaluate"}),
        ("seed: 7", "seed: 8", {"split", "train", "fit", "evaluate"}),
        ("{count: 2}", "{count: 3}", {"train", "fit", "evaluate"}),
    ],
)
def test_an_edit_renames_just_what_it_touches(make_project: Make, old: str, new: str, changed: set[str]) -> None:
    assert old in SHADOWS
    before, after = plan(make_project, SHADOWS, "a"), plan(make_project, SHADOWS.replace(old, new, 1), "b")
    assert {k for k in ("split", "train", "fit", "evaluate") if keys(before, k) != keys(after, k)} == changed


def test_more_repeats_and_epsilons_keep_the_old_cells(make_project: Make) -> None:
    before = plan(make_project, SHADOWS, "a")
    after = plan(make_project, SHADOWS.replace("repeats: 2", "repeats: 3").replace("[1, 10,", "[1, 2, 10,"), "b")
    assert {p.key for p in before.pieces()} < {p.key for p in after.pieces()}


def test_seeds_follow_coordinates_and_not_versions(make_project: Make) -> None:
    result = plan(make_project, SHADOWS, "a")
    pieces = [p for p in result.pieces() if p.kind == "train"]
    assert len({p.seed for p in pieces}) == len(pieces)
    assert "code" not in str(pieces[0].coordinates).replace("codes", "")


def test_profiles_only_reduce_and_say_by_what(make_project: Make) -> None:
    project = make_project(SHADOWS)
    spec = load_specs(project, [])[0].spec
    cut = scale(spec, "p", Profile(repeats=1, epochs=1, epsilons=(1.0,), shadows=1, attack_epochs=1))
    assert cut.reductions == (
        "repeats 1 of 2",
        "epochs 1 of 3",
        "epsilons 1 of 3",
        "shadow models (shadows) 1 of 2",
        "shokri: 1 of 2 epochs",
    )
    grown = scale(spec, "p", Profile(repeats=99, epochs=99, shadows=99, attack_epochs=99))
    assert grown.reductions == ()
    assert grown.spec == spec
    assert choose(load_params(project), None)[0] == "full"


def test_noise_that_was_measured_keeps_its_name_on_a_processor_that_rounds_otherwise(make_project: Make) -> None:
    """Calibrated noise is that of the paper's tables where they differ by rounding alone; a table that cannot be read,
    or has no noise, changes nothing."""
    project = make_project(SHADOWS, where="a")
    (loaded,) = load_specs(project, [])
    calibrated = make_plan(project, loaded.spec)
    sigma = {cell.epsilon: cell.noise_multiplier for cell in calibrated.cells}
    folder = project.reports / "flagship" / loaded.spec.paper / "other"
    folder.mkdir(parents=True)
    (folder.parent / "broken").mkdir()
    (folder.parent / "broken" / "measurements.parquet").write_bytes(b"no table")
    (folder.parent / "empty").mkdir()
    pd.DataFrame({"skipped": ["no data"]}).to_parquet(folder.parent / "empty" / "measurements.parquet")
    assert make_plan(project, loaded.spec) == calibrated

    last_digit, another = math.nextafter(sigma[1.0], math.inf), sigma[10.0] * (1 + 1e-6)
    table = pd.DataFrame({"noise_multiplier": [last_digit, another, 0.0, None, last_digit]})
    table.to_parquet(folder / "measurements.parquet")
    again = make_plan(project, loaded.spec)
    assert {cell.epsilon: cell.noise_multiplier for cell in again.cells} == {**sigma, 1.0: last_digit}
    pairs = list(zip(calibrated.cells, again.cells, strict=True))
    assert {a.target.key == b.target.key for a, b in pairs if a.epsilon == 1.0} == {False}
    assert all(a.target.key == b.target.key for a, b in pairs if a.epsilon != 1.0)
