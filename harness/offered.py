"""What an extension offers to the core under a group of entry points, loaded when it is asked for by name.

The core names a group and never a module, so that it imports no extension, and another package may take its place.
"""

from __future__ import annotations

from typing import Any

from harness.entry_points import MEND, entries_of, fault_of_value
from harness.errors import HarnessError

OWN = "harness.extensions."
"""Where the harness has extensions of its own, which it finds as it finds those of other packages."""
NOT_REGISTERED = (
    "the harness is not installed here, or was before its extensions had commands, so theirs are missing; pip install "
    "it again (in a checkout: pip install -e .)"
)


def load_offered(group: str, name: str) -> Any:
    """What installed packages offer in a group under a name, the harness's own first.

    Raises HarnessError where none offers it, or where it cannot be imported.
    """
    entries, faults = entries_of(group)
    mine = sorted((one for one in entries if one.name == name), key=lambda one: not one.value.startswith(OWN))
    if not mine:
        raise HarnessError(*faults, f"nothing is offered as {name} in the group {group}: {NOT_REGISTERED}")
    if (fault := fault_of_value(mine[0])) is not None:
        raise HarnessError(fault)
    try:
        return mine[0].load()
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise HarnessError(
            f"{name} ({mine[0].value}) of the group {group} cannot be loaded: {reason}; {MEND}"
        ) from error
