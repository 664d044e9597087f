"""Names of results in a store: a kind that the harness knows and a hash, and nothing that leads anywhere else."""

from __future__ import annotations

import re

from harness.errors import HarnessError
from harness.identity import KINDS

SMALL_KINDS = ("noise",)
"""Calibrations: tiny, and costlier to find again than to keep. They stand on nothing."""
STORED_KINDS = (*KINDS, *SMALL_KINDS)
KEY = re.compile(r"[0-9a-f]{64}").fullmatch


def is_name(kind: str, key: str) -> bool:
    """Whether a result may be called so."""
    return kind in STORED_KINDS and KEY(key) is not None


def check_name(kind: str, key: str) -> None:
    """Raises HarnessError for a name that no result has."""
    if not is_name(kind, key):
        raise HarnessError(
            f"{kind!r}/{key!r}: no name of a result; its kind is one of {', '.join(STORED_KINDS)}, its key 64 digits "
            "(0-9, a-f) of a SHA-256"
        )
