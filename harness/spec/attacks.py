"""What a spec asks of its attacks: pools that they can learn from, places of their axes, and what a figure draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from pydantic import ValidationError

from harness.attacks import Attack, ScoringAttack
from harness.attacks.attack import table_metrics
from harness.attacks.logloss import Logloss
from harness.coordinates import Level
from harness.errors import first_fault
from harness.experiment.axes import Axis
from harness.experiment.experiment import set_at
from harness.experiment.setup import ShadowPool
from harness.identity import THRESHOLD_FROM
from harness.metrics.curves import Of
from harness.metrics.metric import metrics_of
from harness.spec.page import Panel


def has_curve(attack: Attack, of: Of) -> bool:
    """Whether an attack leaves behind what a curve is drawn of."""
    if of == "losses":
        return isinstance(attack, Logloss)
    return (
        isinstance(attack, ScoringAttack) if of == "scores" else set(metrics_of("per_record")) <= set(attack.measures)
    )


def check_pool(where: str, attack: Attack, pool: ShadowPool, name: str) -> None:
    """Raises ValueError where an attack cannot learn from the pool that it names."""
    wanted = "halves" if attack.needs_halves else "leftover"
    if pool.trained_on != wanted:
        raise ValueError(f"{where} learns from models on {wanted}; set trained_on: {wanted} in the pool {name!r}")
    if refusal := attack.refuses(pool.count):
        raise ValueError(f"{where}: {refusal}")


def attack_variants(attack: Attack, axes: dict[str, Axis]) -> Iterable[tuple[dict[str, Level], Attack]]:
    """An attack at every place of its axes. Raises ValueError for a value that its field cannot have there."""
    for chosen in product(*(axis.values for axis in axes.values())):
        data = attack.model_dump(by_alias=True)
        for axis, value in zip(axes.values(), chosen, strict=True):
            set_at(data, axis.field, value)
        try:
            variant = type(attack).model_validate(data) if axes else attack
        except ValidationError as error:
            raise ValueError(first_fault(error)) from None
        if table_metrics(variant) != table_metrics(attack):
            raise ValueError(f"{THRESHOLD_FROM}: none holds at all places of an attack; declare a second attack for it")
        yield dict(zip(axes, chosen, strict=True)), variant


def refuse_missing_decisions(panel: Panel, attacks: Mapping[str, Attack]) -> None:
    """Raises ValueError for a figure of what depends on decisions, of attacks that make none."""
    named = [attacks[name] for name in panel.attacks or attacks if name in attacks]
    for metric in panel.metrics:
        missing = [attack.threshold_policy.leaves_out(metric) for attack in named]
        if any(missing) if panel.attacks else missing and all(missing):
            raise ValueError(
                f"figure {panel.title!r}: {metric} depends on decisions, and an attack that is drawn makes none "
                f"({THRESHOLD_FROM}: none); leave it out, or draw what its scores tell, such as auc"
            )
