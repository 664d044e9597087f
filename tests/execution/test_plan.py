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
from tests.conftest import SMALL_SPEC, run_cli

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


OWN_POOL = "{count: 2, model: {kind: mlp, hidden: [8]}, training: {epochs: 4, learning_rate: 0.1}}"


def test_a_pool_may_have_a_model_and_a_training_of_its_own(make_project: Make) -> None:
    """The targets keep their names; shadow models are of the other network, and trained as the pool says, else as the
    arm does."""
    plain = plan(make_project, SHADOWS, "a")
    own = plan(make_project, SHADOWS.replace("{count: 2}", OWN_POOL), "b")
    by_role = [
        {p.key: p for p in result.pieces("train") if p.kind == "train" and p.description["role"] == role}
        for result in (plain, own)
        for role in ("target", "shadow")
    ]
    assert by_role[0].keys() == by_role[2].keys()
    assert not by_role[1].keys() & by_role[3].keys()
    assert len(by_role[1]) == len(by_role[3])
    for piece in by_role[3].values():
        model, training = piece.settings["model"], piece.settings["training"]
        assert model.plugin_name() == "mlp"
        assert (training.epochs, training.learning_rate, training.batch_size) == (4, 0.1, 20)
    # What a pool says as the arm does, or as the default is, names what it did.
    same = SHADOWS.replace("{count: 2}", "{count: 2, model: {kind: logistic}, training: {epochs: 3}}")
    assert keys(plan(make_project, same, "c"), "train") == keys(plain, "train")


def test_a_profile_caps_the_epochs_of_a_pools_own_training(make_project: Make) -> None:
    project = make_project(SHADOWS.replace("{count: 2}", OWN_POOL))
    spec = load_specs(project, [])[0].spec
    small = scale(spec, "small", Profile(epochs=2)).spec.own_experiment
    assert small is not None
    pool = small.arms["iid"].pools["shadows"]
    assert pool.training is not None
    assert pool.training.epochs == 2


@pytest.mark.parametrize(
    ("pool", "says"),
    [
        ("{count: 2, training: {engine: faster}}", "pools.shadows: unknown engine 'faster'"),
        (
            "{count: 2, privacy: like-target, training: {epochs: 9}}",
            "pools.shadows: the target's noise promises its epsilon in the target's batches alone; leave epochs out of",
        ),
        (
            "{count: 2, model: {kind: function, path: 'mine.py:train'}}",
            "pools.shadows: model: kind function is trained by",
        ),
        ("{count: 2, training: {epoch: 9}}", "epoch"),
    ],
)
def test_what_a_pool_cannot_be_is_one_line(make_project: Make, pool: str, says: str) -> None:
    ran = run_cli(make_project(SHADOWS.replace("{count: 2}", pool)).root, "validate")
    assert ran.returncode == 2
    assert says in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


@pytest.mark.integration
def test_an_attack_learns_from_shadow_models_of_another_network(make_project: Make) -> None:
    """Shadow models of a network, targets of a regression: the attack is fitted on the former and meets the latter."""
    text = SHADOWS.replace("{count: 2}", OWN_POOL).replace("repeats: 2", "repeats: 1")
    project = make_project(text)
    ran = run_cli(project.root, "run", "-q")
    assert ran.returncode == 0, ran.stderr
    table = pd.read_parquet(project.reports / "full/own/cancer/measurements.parquet")
    assert set(table["attack"].dropna()) >= {"logloss", "shokri"}
    assert table[(table["attack"] == "shokri") & (table["metric"] == "advantage")]["value"].between(-1, 1).all()
