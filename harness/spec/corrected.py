"""Claims that stand in the place of one that is printed wrong: what they correct is a claim of the paper, as printed.

A printed error is judged as it is printed, and counted as the paper's; what is right beside it is `corrected` and names
the claim that it corrects.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.errors import HarnessError
from harness.spec.claim import Claim
from harness.spec.document import locate
from harness.spec.load import Loaded


def check_corrected(loaded: Sequence[Loaded]) -> None:
    """Raises HarnessError with a line on each corrected claim whose `corrects` names no claim of the same paper that is
    the paper's own and quotes what this one quotes. What is named in specs that are not among these is not asked."""
    claims = {f"{one.spec.id}#{claim.id}": claim for one in loaded for claim in one.spec.claims}
    known = {one.spec.id for one in loaded}
    faults = list[str]()
    for one in loaded:
        for index, claim in enumerate(one.spec.claims):
            if claim.corrects is None:
                continue
            name = claim.corrects if "#" in claim.corrects else f"{one.spec.id}#{claim.corrects}"
            if name.partition("#")[0] in known and (fault := _fault(claim, name, claims.get(name))):
                where = locate(one.document, ("claims", index, "corrects"))
                faults.append(f"{where}: claim {claim.id!r}: corrects: {fault}")
    if faults:
        raise HarnessError(*faults)


def _fault(claim: Claim, name: str, printed: Claim | None) -> str:
    """What is wrong with the claim that is corrected; empty where nothing is."""
    if printed is None:
        return f"there is no claim {name}; name the one that renders the sentence as it is printed"
    if printed.origin != "paper":
        return f"{name} is of origin `{printed.origin}`; what is corrected is the paper's claim, as it is printed"
    theirs = [piece for quote in printed.quotes for piece in quote.pieces()]
    mine = [piece for quote in claim.quotes for piece in quote.pieces()]
    if not any(one in other or other in one for one in mine for other in theirs):
        return f"{name} quotes other sentences; both quote the one that is wrong"
    return ""
