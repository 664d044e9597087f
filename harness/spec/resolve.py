"""Specs as they are run: what is inherited filled in, what a profile takes away taken away, as JSON.

Three files a spec, one for each stage that is told by the profile what to do or to say: DVC's stages depend on these
instead of on specs and profiles, so an edit that leaves what is run as it was (a comment, a claim, an epsilon that the
profile does not keep) runs nothing again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from harness.attacks.attack import table_metrics
from harness.files import write_text
from harness.hashing import fingerprint
from harness.spec.model import Spec
from harness.spec.profile import Scaled


def content(scaled: Scaled) -> dict[str, object]:
    """The experiment and the attacks under the profile: what measurements follow from."""
    spec = scaled.spec
    axes = {
        name: {axis: definition.content(spec.attacks[name]) for axis, definition in axes.items()}
        for name, axes in spec.attack_axes.items()
    }
    return {
        "experiment": None if spec.experiment is None else spec.experiment.content(),
        "attacks": {name: attack.content() for name, attack in spec.attacks.items()},
        **({"attack_axes": axes} if axes else {}),
    }


def resolve(scaled: Scaled, sequential: bool, data: Mapping[str, str | None]) -> dict[str, dict[str, object]]:
    """What `train` and `attack` are to do, and `judge` to judge and say, by the name of their files.

    `data`: what names the data, by dataset. In a sequential design the claims decide what is trained, so they are part
    of it. A spec about theory has the last one alone.
    """
    dumped = scaled.spec.model_dump(mode="json", by_alias=True, exclude={"experiment", "attacks", "attack_axes"})
    unread = ("figure", "layout", "title")
    judged = {
        **{key: value for key, value in dumped.items() if key not in unread},
        "reductions": scaled.reductions,
        "deviations": scaled.deviations,
        **_seen_before(scaled.spec),
    }
    if scaled.spec.experiment is None:
        return {"claims": judged}
    inputs = content(scaled)
    claims = {"claims": dumped["claims"], **_seen_before(scaled.spec)} if sequential else {}
    if sequential and scaled.max_repeats is not None:
        claims["max_repeats"] = scaled.max_repeats
    attacks = {name: value for name, value in inputs.items() if name != "experiment"}
    if undecided := [name for name, attack in scaled.spec.attacks.items() if table_metrics(attack) != attack.measures]:
        attacks["without_threshold"] = undecided
    if curves := [panel for panel in dumped["figure"] if panel["curve"] is not None]:
        attacks["curves"] = curves  # they are drawn of what attacks left behind
    trained = {"experiment": inputs["experiment"], "data": dict(data), **claims}
    return {"experiment": trained, "attacks": attacks, "claims": judged}


def _seen_before(spec: Spec) -> dict[str, object]:
    """Of each claim that was put on record when something had been measured, a hash of what that was."""
    seen = {claim.id: spec.seen_before(claim.id) for claim in spec.claims}
    told = {
        name: None if cells is None else fingerprint(sorted(map(str, cells.items()))) for name, cells in seen.items()
    }
    return {"seen": told} if any(cells is None or cells for cells in seen.values()) else {}


def write_resolved(folder: Path, scaled: Scaled, sequential: bool, data: Mapping[str, str | None]) -> None:
    """Write `<folder>/<spec>/experiment.json`, `attacks.json` and `claims.json`."""
    for name, what in resolve(scaled, sequential, data).items():
        write_text(folder / scaled.spec.id / f"{name}.json", json.dumps(what, indent=1, ensure_ascii=False) + "\n")
