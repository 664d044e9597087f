"""Whether the claims of a spec could have failed: each judged on its controls, or as it was before on the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

from harness.claims.contrasts import Comparisons
from harness.claims.results import Part
from harness.claims.verdict import Controls, Verdict
from harness.controls.severity import Worlds, is_severe, severity_of_claim, severity_of_part
from harness.hashing import code_fingerprint, fingerprint
from harness.imports import closure
from harness.spec.claim import Claim
from harness.spec.model import Spec
from harness.verdicts.evidence import Evidence, control_facts_of, evidence_of
from harness.verdicts.left_out import part_left_out
from harness.verdicts.provenance import judging_code
from harness.verdicts.rates import rate_not_shown

DRAWN_BY = "harness.controls.severity"
"""The module that draws controls."""
Known = Mapping[str, Controls]
"""By claim: what controls said of it before."""


def controls_of(own: Evidence, claims: Collection[str], known: Known) -> dict[str, Controls]:
    """What controls say of each of these claims that is on measurements; nothing where there are none.

    `known` counts where it follows from the same claim, table and code. Raises HarnessError for what was not measured.
    """
    spec = own.scaled.spec
    if own.table is None or spec.experiment is None:
        return {}
    facts, worlds, found = control_facts_of(spec), None, dict[str, Controls]()
    content = fingerprint([own.table_sha256, own.scaled.epsilons_left_out, asdict(facts)])
    for claim in spec.claims:
        if claim.theory or claim.id not in claims:
            continue
        key = _key_of(claim, spec, content)
        before = known.get(claim.id)
        if own.table_sha256 and before is not None and before.key == key:
            found[claim.id] = before
            continue
        worlds = worlds or Worlds(evidence_of(spec, own.table, own.scaled.epsilons_left_out), facts)
        found[claim.id] = _draw(claim, spec, worlds, key)
    return found


def is_met_without_signal(controls: Controls | None) -> bool:
    """Whether a claim is met where it ought to fail, so that it could not have failed."""
    return controls is not None and not is_severe(controls.outcomes)


def known_controls(verdicts: Sequence[Verdict]) -> dict[str, Controls]:
    """What controls said of each claim, from verdicts that were written before."""
    return {v.id.split("#")[1]: v.controls for v in verdicts if v.controls is not None}


def _key_of(claim: Claim, spec: Spec, content: str) -> str:
    parts = spec.parts(claim)
    declared = [part.model_dump(mode="json") for part in parts]
    drawn = code_fingerprint(*closure(DRAWN_BY))
    return fingerprint([claim.id, declared, spec.level, content, judging_code(parts), drawn])[:16]


def _draw(claim: Claim, spec: Spec, worlds: Worlds, key: str) -> Controls:
    parts, table, outcomes = spec.parts(claim), worlds.table, []
    for index, part in enumerate(parts):
        if part_left_out(part, spec, table) or rate_not_shown(part, table):
            continue
        compared = part.contrasts(table)
        if isinstance(compared, Comparisons):
            which = Part(index, len(parts), spec.level / 2)
            outcomes.append(severity_of_part(compared, worlds, which))
            if outcomes[-1] and outcomes[-1][0].supported == 0:
                break  # one part that always fails is enough
    return Controls(outcomes=severity_of_claim(outcomes), key=key)
