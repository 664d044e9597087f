"""Names of results in a store: a kind that the harness knows and a hash, and nothing that leads anywhere else."""

from __future__ import annotations

import re

from harness.errors import HarnessError
from harness.identity import KINDS

SMALL_KINDS = ("noise",)
"""The kinds of calibrations, which are tiny, costlier to find again than to keep, and stand on nothing."""
STORED_KINDS = (*KINDS, *SMALL_KINDS)
"""The kinds of results that a store may hold."""
KEY = re.compile(r"[0-9a-f]{64}").fullmatch
"""The form of a key: the digits of a SHA-256."""


def is_name(kind: str, key: str) -> bool:
    """Whether a result may have this kind and key.

    >>> is_name("train", "0" * 64), is_name("train", "../secret")
    (True, False)
    """
    return kind in STORED_KINDS and KEY(key) is not None


def check_name(kind: str, key: str) -> None:
    """Raise HarnessError for a name that no result has."""
    if not is_name(kind, key):
        raise HarnessError(
            f"{kind!r}/{key!r}: no name of a result; its kind is one of {', '.join(STORED_KINDS)}, its key 64 digits "
            "(0-9, a-f) of a SHA-256"
        )
