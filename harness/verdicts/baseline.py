"""The committed verdicts, and what differs from them now.

Of a profile whose tables are committed, tables have to be the accepted ones, and every claim's effect and interval with
them, but for the last digits, which processors compute differently. Of another, whose numbers each machine measures
anew, their means have to be within a tolerance of the accepted ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from harness.bounds import read_text
from harness.claims.verdict import Verdict
from harness.claims.words import Word
from harness.config import Config
from harness.errors import HarnessError, first_fault
from harness.files import sha256_content
from harness.spec.load import Loaded

COMPARED = ("advantage", "accuracy_train", "accuracy_test")
"""Metrics, between 0 and 1, whose means are compared within a tolerance."""


SAME = 1e-6
"""How far, relatively, an effect or an end of an interval may be from the accepted one, where tables are the same."""
ACCOUNTANT = "dp-accounting"
"""The package whose next version may bound the same mechanism more tightly."""
SAME_BY_OTHER_VERSION = 0.01
"""The same for an effect that another version of that package computed: 0.6 is 0.4% below 0.4.3 where it differs."""
EffectInterval = tuple[float | None, float | None, float | None]
"""An effect and its interval."""


class Accepted(Config):
    """What is accepted of one spec."""

    spec_sha256: str
    declared_sha256: str | None = None
    """Hash of what its files say; none: of a baseline that an earlier version wrote."""
    measurements_sha256: str | None
    """Hash of `measurements.parquet`; none where the spec has no measurements."""
    verdicts: dict[str, Word]
    effects: dict[str, EffectInterval] | None = None
    """By claim: its effect and the ends of its interval; where there is no tolerance."""
    computed_by: dict[str, str] = Field(default={}, exclude_if=lambda computed_by: not computed_by)
    """By claim on theory whose effect is computed, not proved: the version of dp-accounting that was there."""
    values: dict[str, float] = {}
    """Mean over repeats of each of `COMPARED`, by arm, attack, metric and place; where there is a tolerance."""


class Baseline(Config):
    """`reports/<profile>/baseline.json`."""

    schema_version: Literal[2] = 2
    profile: str
    tolerance: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """How far a mean may be from the accepted one; none: tables have to be the accepted ones, byte by byte."""
    adaptive: bool = Field(default=False, exclude_if=lambda adaptive: not adaptive)
    """Where means are compared: which places are measured depends on what was found, as in a sequential design, so a
    mean that only one side has is no difference."""
    specs: dict[str, Accepted]


class Difference(Config):
    """One thing that is not as accepted."""

    where: str
    """A spec or a claim."""
    what: str


def gather(
    profile: str,
    checked: Iterable[tuple[Loaded, Path, Sequence[Verdict]]],
    tolerance: float | None = None,
    means: Mapping[str, Mapping[str, float]] | None = None,
    adaptive: bool = False,
) -> Baseline:
    """The baseline of (spec, measurements file, verdicts), as they are now.

    With a `tolerance`, `means` of each spec in the place of hashes of tables; `adaptive`: which means there are depends
    on what was found.
    """
    specs = {}
    for loaded, measurements, verdicts in checked:
        specs[loaded.spec.id] = Accepted(
            spec_sha256=loaded.sha256,
            declared_sha256=loaded.declared_sha256,
            measurements_sha256=sha256_content(measurements) if tolerance is None and measurements.is_file() else None,
            verdicts=_outcomes(verdicts),
            effects=_effects(verdicts) if tolerance is None else None,
            computed_by=_computed_by(verdicts) if tolerance is None else {},
            values={} if tolerance is None else dict((means or {}).get(loaded.spec.id, {})),
        )
    return Baseline(profile=profile, tolerance=tolerance, adaptive=adaptive and tolerance is not None, specs=specs)


def _is_other_spec(old: Accepted, new: Accepted) -> bool:
    """Whether a spec's files say something else. Defaults that another version of the harness adds are not theirs."""
    if old.declared_sha256 is not None and new.declared_sha256 is not None:
        return old.declared_sha256 != new.declared_sha256
    return old.spec_sha256 != new.spec_sha256


def _outcomes(verdicts: Sequence[Verdict]) -> dict[str, Word]:
    """Verdicts by claim, and by claim and other reading."""
    outcomes: dict[str, Word] = {}
    for v in verdicts:
        name = v.id.split("#")[1]
        outcomes[name] = v.verdict
        outcomes |= {f"{name} [{r.text}]": r.verdict for r in v.rests_on.readings}
    return outcomes


def _effects(verdicts: Sequence[Verdict]) -> dict[str, EffectInterval]:
    """Effect and interval by claim, of claims that have either."""

    def round_digits(number: float | None) -> float | None:
        return None if number is None else float(f"{number:.9g}")

    effects = {}
    for v in verdicts:
        low, high = v.numbers.interval or (None, None)
        shown = round_digits(v.numbers.effect), round_digits(low), round_digits(high)
        if shown != (None, None, None):
            effects[v.id.split("#")[1]] = shown
    return effects


def _computed_by(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """By claim whose effect is computed: the version of the accountants' package that was there."""
    return {
        v.id.split("#")[1]: v.provenance.packages[ACCOUNTANT]
        for v in verdicts
        if v.rests_on.basis == "computed" and v.numbers.effect is not None and ACCOUNTANT in v.provenance.packages
    }


def _are_close(was: EffectInterval | None, now: EffectInterval | None, apart: float) -> bool:
    """Whether two effects and intervals are at most so far apart, relatively."""
    if was is None or now is None:
        return was is now
    return all(
        a is b if a is None or b is None else math.isclose(a, b, rel_tol=apart, abs_tol=SAME * SAME)
        for a, b in zip(was, now, strict=True)
    )


def read(path: Path, writes: str = "harness compare --update") -> Baseline:
    """Read a baseline. Raises HarnessError where it is missing or malformed. `writes`: what to type for one."""
    try:
        return Baseline.model_validate_json(read_text(path))
    except FileNotFoundError:
        raise HarnessError(f"{path}: no baseline yet; `{writes}` writes one") from None
    except ValidationError as error:
        raise HarnessError(
            f"{path}: not a baseline: {first_fault(error)}; delete it, and `{writes}` writes it anew"
        ) from None
    except (ValueError, OSError) as error:
        raise HarnessError(f"{path}: not a baseline: {error}; delete it") from None


def text(baseline: Baseline) -> str:
    """The content of the baseline's file."""
    document = baseline.model_dump(mode="json")
    if baseline.tolerance is None:
        del document["tolerance"]
    for accepted in document["specs"].values():
        del accepted["values" if baseline.tolerance is None else "effects"]
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def read_of_profile(path: Path, profile: str) -> Baseline:
    """Read a baseline that judges in the place of the project's own. Raises HarnessError where it is missing, malformed
    or of another profile."""
    if not path.is_file():
        raise HarnessError(f"--baseline {path}: no such file; name a baseline.json")
    accepted = read(path)
    if accepted.profile != profile:
        raise HarnessError(f"--baseline {path}: is of the profile {accepted.profile!r}, not of {profile!r}")
    return accepted


def compare(accepted: Baseline, now: Baseline, whose: str = "accepted") -> list[Difference]:
    """All differences between the accepted baseline and the present one, in either direction.

    `whose`: what messages call a value of the former.
    """
    differences = []
    for spec in sorted(accepted.specs.keys() | now.specs.keys()):
        old, new = accepted.specs.get(spec), now.specs.get(spec)
        if old is None or new is None:
            differences.append(
                Difference(where=spec, what="not in the baseline" if old is None else "the spec is gone")
            )
            continue
        if _is_other_spec(old, new):
            what = f"the spec changed: {old.spec_sha256[:16]} {whose}, {new.spec_sha256[:16]} found"
            differences.append(Difference(where=spec, what=what))
        if old.measurements_sha256 != new.measurements_sha256:
            shown = [(h or "none")[:16] for h in (old.measurements_sha256, new.measurements_sha256)]
            differences.append(
                Difference(where=spec, what=f"the measurements changed: {shown[0]} {whose}, {shown[1]} found")
            )
        for name in sorted(old.values.keys() | new.values.keys()):
            mean, mean_now = old.values.get(name), new.values.get(name)
            if (mean is None or mean_now is None) and accepted.adaptive:
                continue
            if mean is None or mean_now is None:
                what = f"{name}: a new mean" if mean is None else f"{name}: not measured any more"
                differences.append(Difference(where=spec, what=what))
            elif not abs(mean - mean_now) <= (accepted.tolerance or 0.0):
                what = f"{name}: {mean:g} {whose}, {mean_now:g} found, more than {accepted.tolerance:g} apart"
                differences.append(Difference(where=spec, what=what))
        for claim in sorted(old.verdicts.keys() | new.verdicts.keys()):
            was, is_now = old.verdicts.get(claim), new.verdicts.get(claim)
            if was is None or is_now is None:
                what = "a new claim, not in the baseline" if was is None else f"the claim is gone; it was {was}"
                differences.append(Difference(where=f"{spec}#{claim}", what=what))
            elif was != is_now:
                differences.append(Difference(where=f"{spec}#{claim}", what=f"{was} {whose}, {is_now} found"))
            elif old.effects is not None and new.effects is not None:
                effect, effect_now = old.effects.get(claim), new.effects.get(claim)
                by_other_version = old.computed_by.get(claim) != new.computed_by.get(claim)
                if not _are_close(effect, effect_now, SAME_BY_OTHER_VERSION if by_other_version else SAME):
                    what = f"effect and interval {_text(effect)} {whose}, {_text(effect_now)} found"
                    differences.append(Difference(where=f"{spec}#{claim}", what=what))
    return differences


def _text(shown: EffectInterval | None) -> str:
    if shown is None:
        return "none"
    effect, low, high = ("none" if number is None else f"{number:.9g}" for number in shown)
    return f"{effect} [{low}, {high}]"
