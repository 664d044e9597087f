"""Where the tolerances of a paper's claims come from: each claim that has one says so."""

from __future__ import annotations

from collections.abc import Sequence

from harness.claims.origin import TOLERANCE_SOURCES
from harness.errors import HarnessError
from harness.spec.document import locate
from harness.spec.load import Loaded


def check_tolerances(loaded: Sequence[Loaded]) -> None:
    """Raises HarnessError with a line on each claim of a paper, or in the place of one, that has a tolerance and does
    not say where it comes from."""
    faults = []
    for one in loaded:
        for index, claim in enumerate(one.spec.claims):
            if claim.origin in ("paper", "corrected") and claim.has_tolerance and claim.tolerance_from is None:
                faults.append(
                    f"{locate(one.document, ('claims', index))}: claim {claim.id!r}: tolerance_from is missing; say "
                    f"where its tolerance comes from: {', '.join(TOLERANCE_SOURCES)}"
                )
    if faults:
        raise HarnessError(*faults)
