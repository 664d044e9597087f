"""The key of a shared store, which is optional.

Who pushes with it writes a tag beside each result, and who pulls with it takes nothing else.

The tag is the HMAC-SHA256 of the result's name and bytes. It says that somebody who has the key pushed them; a store
without a key is as trustworthy as whoever can write to it. The key itself is never printed or stored.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass, field
from pathlib import Path

from harness.bounds import Bound, read_bytes
from harness.errors import HarnessError

VARIABLE, FILE_VARIABLE = "HARNESS_STORE_KEY", "HARNESS_STORE_KEY_FILE"
"""The environment variables that hold a key, or name a file that does."""
FEWEST_BYTES = 16
"""The bytes below which a key is too short to be secret."""
KEY_BYTES = Bound(10_000, "HARNESS_MAX_KEY_BYTES", "bytes", "the file of a store's key")
"""The largest file that is read as a key."""
PURPOSE = b"mi-dp-harness result 1"
"""The beginning of what is tagged, so that a tag made with the key for anything else fits no result."""
NO_TAG = "it has no tag of the key"
WRONG_TAG = "its tag is not that of the key, its name and its bytes"
"""The faults of a result without a tag, or with another one."""
MAKE_ONE = "python -c 'import secrets; print(secrets.token_hex(32))' prints a new one"


@dataclass(frozen=True)
class StoreKey:
    """The secret that those share who trust each other's results."""

    secret: bytes = field(repr=False)

    def tag(self, kind: str, key: str, data: bytes) -> bytes:
        """The tag of a result: 64 hexadecimal digits."""
        message = b"\0".join((PURPOSE, kind.encode(), key.encode(), hashlib.sha256(data).digest()))
        return hmac.new(self.secret, message, hashlib.sha256).hexdigest().encode()

    def fits(self, tag: bytes, kind: str, key: str, data: bytes) -> bool:
        """Whether a tag is that of a result, compared in a time that tells nothing of the key."""
        return hmac.compare_digest(tag.strip(), self.tag(kind, key, data))


def read_store_key() -> StoreKey | None:
    """The key that the environment names, itself or by a file; None where it names none.

    Raises HarnessError for both at once, a file that cannot be read, and a key that is too short to be secret.
    """
    text, file = os.environ.get(VARIABLE, ""), os.environ.get(FILE_VARIABLE, "")
    if text and file:
        raise HarnessError(f"{VARIABLE}, {FILE_VARIABLE}: both are set; set one of them")
    if not text and not file:
        return None
    try:
        secret = read_bytes(Path(file), KEY_BYTES).strip() if file else text.strip().encode()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise HarnessError(f"{FILE_VARIABLE}: {file}: cannot be read: {reason}") from None
    if len(secret) < FEWEST_BYTES:
        named = FILE_VARIABLE if file else VARIABLE
        raise HarnessError(f"{named}: a key of fewer than {FEWEST_BYTES} bytes; {MAKE_ONE}")
    return StoreKey(secret)
