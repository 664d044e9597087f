"""Specs as they are run: what is inherited filled in, what a profile takes away taken away, as JSON.

Three files a spec, one for each stage that is told by the profile what to do or to say: DVC's stages depend on these
instead of on specs and profiles, so an edit that leaves what is run as it was (a comment, a claim, an epsilon that the
profile does not keep) runs nothing again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.files import write_text
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


def resolved(scaled: Scaled, left_out: bool, sequential: bool) -> dict[str, dict[str, Any]]:
    """What `train` and `attack` are to do, and `check` to say of the profile, by the name of their files.

    In a sequential design the claims decide what is trained, so they are part of it.
    """
    said = {"reductions": scaled.reductions, "deviations": scaled.deviations, "left_out": left_out}
    if left_out:
        return {"experiment": {"left_out": True}, "attacks": {"left_out": True}, "scale": said}
    found = content(scaled)
    claims = scaled.spec.model_dump(mode="json", by_alias=True, include={"claims"}) if sequential else {}
    return {
        "experiment": {"experiment": found["experiment"], **claims}, "attacks": {"attacks": found["attacks"]},
        "scale": said,
    }  # fmt: skip


def write_resolved(folder: Path, scaled: Scaled, left_out: bool, sequential: bool) -> None:
    """Write `<folder>/<spec>/experiment.json`, `attacks.json` and `scale.json`."""
    for name, what in resolved(scaled, left_out, sequential).items():
        write_text(folder / scaled.spec.id / f"{name}.json", json.dumps(what, indent=1, ensure_ascii=False) + "\n")
