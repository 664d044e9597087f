"""What an attack is fitted on: a pool that reads what it is asked for, and refuses in one line what it does not have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Literal

import numpy as np
import pytest

from harness.attacks import ATTACKS, Pool, Target
from harness.attacks.attack import Fitted, MembershipAttack
from harness.attacks.shokri import Shokri
from harness.errors import HarnessError
from harness.execution.planner import make_plan
from harness.extensions.cluster.dask_cluster import _tables_of
from harness.metrics import Answers, Outputs
from harness.paths import Project
from harness.spec.load import load_specs
from harness.testing import memorising_target
from tests.attacks.test_pooled import Known, outputs, pool_and_target
from tests.conftest import REPO, SMALL_SPEC, run_cli, run_in_turn, run_process

LEFTOVER = Known(outputs(np.ones(4)), outputs(np.zeros(4)), outputs(np.zeros(2)))


def test_models_are_read_when_they_are_asked_for_and_once() -> None:
    models, _ = pool_and_target(np.random.default_rng(0), 4)
    read: list[int] = []

    def reader(index: int) -> Callable[[], Target]:
        def read_model() -> Target:
            read.append(index)
            return models[index]

        return read_model

    pool = Pool(reader(index) for index in range(4))
    assert (len(pool), read) == (4, [])
    assert pool[2] is models[2]
    assert read == [2]
    rest = pool.without(0, 2)
    assert list(rest) == [models[1], models[3]]
    assert list(pool[1:]) == models[1:]
    assert list(pool) == models
    assert read == [2, 1, 3, 0]


def test_masks_and_candidates_are_of_all_candidate_records_in_their_order() -> None:
    models, _ = pool_and_target(np.random.default_rng(0), 4)
    pool = Pool(models)
    assert pool.masks.shape == (4, 100)
    assert (pool.masks == [model.trained_on for model in models]).all()
    for model, seen, mask in zip(pool, pool.candidates, pool.masks, strict=True):
        for side, held in ((model.members, mask), (model.nonmembers, ~mask)):
            assert np.array_equal(side.log_probabilities, seen.log_probabilities[held])
            assert np.array_equal(side.labels, seen.labels[held])
        assert np.array_equal(model.places[0], np.flatnonzero(mask))
    assert pool.n_classes == 2


@pytest.mark.parametrize(
    ("asks", "says"),
    [
        (lambda: list(Pool(name="its pool")), "its pool has no shadow models; name a pool in the attack's shadow_pool"),
        (lambda: Pool().n_classes, "has no shadow models"),
        (lambda: Pool()[0], "has no shadow models"),
        (lambda: Pool().masks, "has no shadow models"),
        (lambda: Pool([LEFTOVER]).masks, "no masks of the candidate records; set needs_halves = True in the attack"),
        (lambda: Pool([LEFTOVER]).candidates, "no masks of the candidate records"),
        (lambda: Pool([memorising_target(labels_only=True)])[0].members, "answers labels alone"),
        (lambda: Shokri(epochs=1).fit(Pool([memorising_target(labels_only=True)]), 0), "answers labels alone"),
        (lambda: Pool([LEFTOVER])[0].oracle, "asked a model about records of its own, and this one answers no such"),
        (lambda: Pool([LEFTOVER])[0].test_features(), "asked for features of test records, and this model has none"),
        (lambda: Pool([LEFTOVER])[0].gradient_norms(), "asked for gradients, and this model does not show its weights"),
        (lambda: pool_and_target(np.random.default_rng(0), 2)[0][0].features(), "the candidate records are not known"),
        (lambda: pool_and_target(np.random.default_rng(0), 2)[0][0].oracle, "it answers no further questions"),
    ],
)
def test_what_a_pool_does_not_have_it_refuses(asks: Callable[[], object], says: str) -> None:
    with pytest.raises(HarnessError, match=says) as refused:
        asks()
    assert len(str(refused.value).splitlines()) == 1


class Plain(MembershipAttack):
    """An attack without shadow models."""

    kind: Literal["plain"] = "plain"

    def answer(self, members: Outputs, nonmembers: Outputs, fitted: Fitted) -> Answers:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"fit": lambda self, shadows, n_classes, seed: {}}, r"what an attack learns is fit\(pool, seed\)"),
        ({"fit": lambda self, pool: {}}, r"what an attack learns is fit\(pool, seed\)"),
        ({"fit_asking": lambda self, shadows, seed: {}}, r"fit_asking is not asked any more; write fit\(pool, seed\)"),
        ({"fit_halves": lambda self, models, seed: {}}, r"fit_halves is not asked any more; write fit\(pool, seed\)"),
        ({"needs_answers": property(lambda self: "labels")}, "needs_answers is not asked any more; write access"),
    ],
)
def test_an_attack_of_a_former_form_is_not_registered(body: dict[str, Any], says: str) -> None:
    former = type("Former", (Plain,), body)
    with pytest.raises(TypeError, match=rf"Former: {says}"):
        ATTACKS.register(former)
    assert "plain" not in ATTACKS.names()


OUTSIDE = """
from typing import ClassVar, Literal

import numpy as np

from harness.plugins import ATTACKS, Answers, MembershipAttack

PARTS = [ASKED]


@ATTACKS.register
class Asks(MembershipAttack):
    kind: Literal["asks"] = "asks"
    pool: str = "shadows"
    part: int
    summary: ClassVar[str] = "made up"

    @property
    def shadow_pool(self):
        return self.pool

    def fit(self, pool, seed):
        return {"learnt": np.array([float(np.sum(PARTS[self.part](pool, model))) for model in pool])}

    def answer(self, members, nonmembers, fitted):
        inside, outside = members.losses(), nonmembers.losses()
        return Answers(-inside, -outside, inside < 1, outside < 1)
"""
ASKING = SMALL_SPEC.replace(
    "  logloss: {kind: logloss}\n", "  logloss: {kind: logloss}\n  asks: {kind: asks, part: PART}\n"
).replace("  repeats: 2\n", "  repeats: 1\n  pools: {shadows: {count: 1}}\n")


ASKED = {
    "model.members.losses()": None,
    "model.oracle.n_classes": None,
    "pool.masks": "has models on records of the adversary's own, so no masks of the candidate records; set",
    "model.features()[0]": "gives no features to an attack that does not say that it reads them",
    "model.test.labels": "an attack asked for test records, and this model has none",
}
"""By what a plug-in asks its pool for, what it is told; None where it gets it."""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with an installed package, whose attack asks for a part by its place among all."""
    folder = tmp_path / "packages"
    described = folder / "asks-1.0.dist-info"
    described.mkdir(parents=True)
    asked = ", ".join(f"lambda pool, model: {part}" for part in ASKED)
    (folder / "asks.py").write_text(OUTSIDE.replace("ASKED", asked))
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: asks\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[harness.plugins]\nasks = asks\n")
    return folder


def check_answer(ran: CompletedProcess[str], spec: str, says: str | None) -> None:
    if says is None:
        assert ran.returncode == 0, ran.stderr
        return
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"harness: specs/own/{spec}.yaml:")
    assert says in line


def test_a_plug_in_that_asks_its_pool_for_what_it_has_not_is_told_in_one_line(
    make_project: Callable[..., Project], packages: Path
) -> None:
    for number in range(len(ASKED)):
        project = make_project(ASKING.replace("PART", str(number)), f"own/asks{number}")
    commands = [("run", "-q", "-p", "full", f"own/asks{number}") for number in range(len(ASKED))]
    answers = run_in_turn(project.root, *commands, PYTHONPATH=f"{packages}:{REPO}")
    for number, (ran, says) in enumerate(zip(answers, ASKED.values(), strict=True)):
        check_answer(ran, f"asks{number}", says)


def test_workers_load_a_plug_in_and_hand_on_what_it_is_told(
    make_project: Callable[..., Project], packages: Path
) -> None:
    number = list(ASKED).index("pool.masks")
    project = make_project(ASKING.replace("PART", str(number)))
    ran = run_process(project.root, "run", "-q", "-p", "full", "-j", "2", PYTHONPATH=f"{packages}:{REPO}")
    check_answer(ran, "cancer", ASKED["pool.masks"])


@pytest.mark.parametrize(
    "attack",
    [
        "{kind: shokri, epochs: 1}",
        "{kind: shokri, epochs: 1, sees: record-and-confidences}",
        "{kind: sampling, by: gaussian, scale: 0.1}",
    ],
)
def test_a_worker_has_the_table_where_an_attack_reads_features_of_shadow_models(
    attack: str, make_project: Callable[..., Project]
) -> None:
    project = make_project(ASKING.replace("{kind: asks, part: PART}", attack))
    plan = make_plan(project, load_specs(project, [])[0].spec)
    fits = [piece for piece in plan.pieces() if piece.kind == "fit"]
    assert fits
    for piece in fits:
        assert _tables_of(project, piece) == ({"cancer.csv"} if "sampling" in attack or "record" in attack else set())


def test_a_pool_of_the_other_kind_is_refused_before_anything_is_computed(make_project: Callable[..., Project]) -> None:
    project = make_project(ASKING.replace("{kind: asks, part: PART}", "{kind: lira, pool: shadows}"))
    ran = run_cli(project.root, "validate")
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert "attack 'asks' learns from models on halves; set trained_on: halves in the pool 'shadows'" in line
