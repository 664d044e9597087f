"""What the claims of a spec are judged on: its measurements, with what is known of its arms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import singledispatch

import pandas as pd

from harness.claims.arm_facts import ArmFacts
from harness.claims.design import Sequential, design_of
from harness.claims.evidence import Measurements
from harness.claims.samples import Samples
from harness.claims.testing import Look
from harness.controls.chance import MOST_FREQUENT
from harness.controls.worlds import ControlFacts
from harness.coordinates import Place, place
from harness.defences import Undefended
from harness.experiment.experiment import Experiment
from harness.experiment.results import ResultsFile
from harness.experiment.setup import Setup
from harness.formulas.gaussian import batches_of_epoch
from harness.hashing import fingerprint
from harness.spec.model import Spec
from harness.spec.profile import Scaled

LeftOut = Mapping[str, tuple[float, ...]]
"""By arm: the epsilons of the declared grid that a profile does not run."""


@dataclass(frozen=True)
class Evidence:
    """What the claims of a spec, or of a reading of it, are judged on."""

    scaled: Scaled
    declared: Spec
    """The spec before the profile."""
    spec_sha256: str
    table: pd.DataFrame | None = None
    """Measurements, results from elsewhere included."""
    why_not: str = ""
    """Why there is no table."""
    table_sha256: str = ""
    """Hash of the file of the table; empty: not known."""


def evidence_of(spec: Spec, table: pd.DataFrame, epsilons_left_out: LeftOut | None = None) -> Measurements:
    """A spec's table of measurements as claims read it, with the facts of its arms."""
    assert spec.experiment is not None
    arms = facts_of_arms(spec.experiment, epsilons_left_out or {})
    design = design_of(table)
    if isinstance(design, Sequential):
        design = replace(design, rarest=spec.rarest)
    return Measurements(table, arms, design, spec.axes, spec.experiment.coordinates)


def look_at(scaled: Scaled, table: pd.DataFrame) -> Look:
    """All repeats of a spec's table, by the test of the design that it was measured in."""
    evidence = evidence_of(scaled.spec, table, scaled.epsilons_left_out)
    return Look(Samples(evidence), evidence.design)


@singledispatch
def facts_of_arms(experiment: object, epsilons_left_out: LeftOut) -> dict[str, ArmFacts]:
    """By arm, what claims need to know of an experiment or of results from elsewhere besides the measurements."""
    raise TypeError(f"{type(experiment).__name__} has no arms")


@facts_of_arms.register
def _facts_of_experiment(experiment: Experiment, epsilons_left_out: LeftOut) -> dict[str, ArmFacts]:
    arms, places = {}, dict[str, dict[Place, dict[str, float]]]()
    batches = dict[str, dict[Place, tuple[int, float] | None]]()
    for variant in experiment.variants() if experiment.axes else ():
        known = {"delta": variant.setup.privacy.delta, "prior": variant.setup.prior}
        places.setdefault(variant.arm, {})[place(variant.place)] = known
        batches.setdefault(variant.arm, {})[place(variant.place)] = _batches_of(variant.setup)
    for name, arm in experiment.arms.items():
        shuffled = arm.training.sampling == "shuffle" and arm.privacy.sampling != "shuffle"
        drawn = [arm.dataset.content(), arm.preprocessing.model_dump(mode="json"), arm.sizes.model_dump(mode="json")]
        arms[name] = ArmFacts(
            delta=arm.privacy.delta,
            prior=arm.prior,
            at=places.get(name, {}),
            shuffled_epochs=arm.training.epochs if shuffled else None,
            batches=_batches_of(arm),
            batches_at=batches.get(name, {}),
            batch_clipped=arm.training.clipping == "batch",
            draws=fingerprint([*drawn, arm.split.content()]),
            epsilons_left_out=epsilons_left_out.get(name, ()),
        )
    return arms


@facts_of_arms.register
def _facts_of_results(results: ResultsFile, epsilons_left_out: LeftOut) -> dict[str, ArmFacts]:
    """Only what the spec says is known of the arms of results from elsewhere, nothing of training."""
    draws = "the same in all arms" if results.paired else ""
    return {name: ArmFacts(results.delta, results.prior_of(name), draws=draws) for name in results.arms}


def _batches_of(setup: Setup) -> tuple[int, float] | None:
    """Batches of an epoch and the share of the records in one of them; None where their number varies by chance."""
    if setup.split.size_varies:
        return None
    return batches_of_epoch(setup.train_size, setup.training.batch_size)


def control_facts_of(spec: Spec) -> ControlFacts:
    """What controls need to know of a spec's arms and attacks; nothing of results from elsewhere."""
    trained = spec.own_experiment
    if trained is None:
        return ControlFacts(spec.id)
    names = {name: arm.dataset.plugin_name() for name, arm in trained.arms.items()}
    blocks = {name: attack for name, attack in spec.attacks.items() if getattr(attack, "blocks", "") == "all"}
    sizes = {name: getattr(attack, "points", None) for name, attack in blocks.items()}
    return ControlFacts(
        spec.id,
        {arm: MOST_FREQUENT[name] for arm, name in names.items() if name in MOST_FREQUENT},
        {arm: other for arm in trained.arms if (other := _undefended(trained, arm)) is not None},
        {name: size for name, size in sizes.items() if size is not None},
    )


def _undefended(experiment: Experiment, arm: str) -> str | None:
    """The arm that differs from one in protection alone, and has none: no defence, and models without noise."""
    own = experiment.arms[arm]
    if own.defence == Undefended() and math.inf in experiment.levels(arm).get("epsilon", ()):
        return None
    for name, other in experiment.arms.items():
        if name == arm or other.defence != Undefended() or math.inf not in experiment.levels(name).get("epsilon", ()):
            continue
        if _without_protection(own) == _without_protection(other):
            return name
    return None


def _without_protection(arm: Setup) -> dict[str, object]:
    return arm.model_dump(mode="json", exclude={"label", "defence", "privacy"})
