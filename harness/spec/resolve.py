"""Specs as they are run: what is inherited filled in, what a profile takes away taken away, as JSON.

Two files a spec, one for each stage that computes: DVC's stages depend on these instead of on the specs, so an edit
that leaves what is run as it was (a comment, a claim, an epsilon that the profile does not keep) runs nothing again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.files import write_text
from harness.spec.model import Spec
from harness.spec.profile import Scaled


def content(scaled: Scaled) -> dict[str, Any]:
    """The experiment and the attacks under the profile: what measurements follow from."""
    found = scaled.spec.model_dump(mode="json", by_alias=True, include={"experiment", "attacks"})
    found["attacks"] = {name: attack.content() for name, attack in scaled.spec.attacks.items()}
    if scaled.spec.experiment is not None:
        found["experiment"]["training"] = scaled.spec.experiment.training.content()
        if scaled.spec.experiment.redraw == "split":
            del found["experiment"]["redraw"]  # measurements older than the choice made it so
    return found


def resolved(spec: Spec, scaled: Scaled | None, sequential: bool) -> dict[str, dict[str, Any]]:
    """What `train` and `attack` are to do, by the name of their files. `scaled`: None where the profile leaves it out.

    In a sequential design the claims decide what is trained, so they are part of it.
    """
    if scaled is None:
        return {"experiment": {"left_out": True}, "attacks": {"left_out": True}}
    found = content(scaled)
    claims = spec.model_dump(mode="json", by_alias=True, include={"claims"}) if sequential else {}
    return {"experiment": {"experiment": found["experiment"], **claims}, "attacks": {"attacks": found["attacks"]}}


def write_resolved(folder: Path, spec: Spec, scaled: Scaled | None, sequential: bool) -> None:
    """Write `<folder>/<spec>/experiment.json` and `attacks.json`."""
    for name, what in resolved(spec, scaled, sequential).items():
        write_text(folder / spec.id / f"{name}.json", json.dumps(what, indent=1, ensure_ascii=False) + "\n")
