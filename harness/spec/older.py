"""What measurements were named by before, so that a table made then can be shown to be of the same experiment.

Form 1 (until November 2026): arms differed from the experiment in four hand-picked fields, and the hash was of the
experiment as it was written down then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.experiment import Arm, Derived
from harness.hashing import fingerprint
from harness.spec.document import Document
from harness.spec.profile import Scaled
from harness.spec.surface import SHARED


def older_digests(scaled: Scaled, said: Document) -> Iterator[str]:
    """Every hash that an older form may have given the same experiment and attacks; none where it could not say it."""
    spec = scaled.spec
    if spec.experiment is None or spec.experiment.axes or spec.attack_axes:
        return
    for experiment in _form_1(scaled, said):
        attacks = {name: attack.content() for name, attack in spec.attacks.items()}
        yield fingerprint({"experiment": experiment, "attacks": attacks})


def _form_1(scaled: Scaled, said: Document) -> Iterator[dict[str, Any]]:
    """The experiment as form 1 wrote it. What arms have in common was the experiment's; the file says which."""
    experiment = scaled.spec.experiment
    assert experiment is not None
    arms = experiment.arms
    raw = said.data["experiment"]
    common = _common(raw, arms)
    if common is None:
        return
    rest = ("privacy", "training", "model", "split")
    same = [{k: v for k, v in _dumped(arm).items() if k not in rest} for arm in arms.values()]
    if any(other != same[0] for other in same):
        return
    for explicit in (True, False):
        written = {}
        for name, arm in arms.items():
            own: dict[str, Any] = {"split": arm.split.model_dump(mode="json"), "label": arm.label}
            if explicit or arm.privacy.accountant != common.privacy.accountant:
                own["accountant"] = arm.privacy.accountant
            if arm.training.clipping != common.training.clipping:
                own["clipping"] = arm.training.clipping
            if arm.model.l2 != common.model.l2:
                own["l2"] = arm.model.l2
            written[name] = own
        found = {
            "seed": experiment.seed,
            **same[0],
            "arms": written,
            "model": common.model.model_dump(mode="json"),
            "training": common.training.content(),
            "privacy": common.privacy.model_dump(mode="json"),
            "repeats": experiment.repeats,
        }
        yield found if experiment.redraw == "split" else {**found, "redraw": experiment.redraw}


def _dumped(arm: Arm) -> dict[str, Any]:
    return arm.model_dump(mode="json", by_alias=True, exclude={"label"})


def _common(raw: dict[str, Any], arms: dict[str, Arm]) -> Arm | None:
    """An arm with everything that the file gives for all of them, and nothing of its own; None where there is none."""
    first = next(iter(arms.values()))
    if isinstance(first.privacy.epsilons, Derived):
        return None
    shared = {name: raw[name] for name in SHARED if name in raw}
    privacy = {name: shared.get("privacy", {}).get(name, default) for name, default in _DEFAULTS["privacy"].items()}
    training = {"clipping": shared.get("training", {}).get("clipping", _DEFAULTS["training"]["clipping"])}
    model = {"l2": float(shared.get("model", {}).get("l2", _DEFAULTS["model"]["l2"]))}
    return first.model_copy(
        update={
            "privacy": first.privacy.model_copy(update=privacy),
            "training": first.training.model_copy(update=training),
            "model": first.model.model_copy(update=model),
        }
    )


_DEFAULTS: dict[str, dict[str, Any]] = {
    "privacy": {"accountant": "rdp", "sampling": "poisson"},
    "training": {"clipping": "per-example"},
    "model": {"l2": 0.0},
}
