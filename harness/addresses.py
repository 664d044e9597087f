"""Addresses as they may be shown: without the passwords and keys that are written into them."""

from __future__ import annotations

import re

_USER = re.compile(r"://(?!\[)(?:[^\s/?#'\"]*@|[^\s/:?#@'\"]*:(?!\d*(?:[/?#\s'\")\]]|$))[^\s'\"]*@)")
"""What stands before the host: also a password with `@` or, against the rules of addresses, with `/`, `?` or `#`."""
_CUT = re.compile(r"(://(?!\[)[^\s/:@?#'\"]*:)(?!\d*(?:[/?#\s'\",;)\]:]|$))[^\s'\"]*")
"""A name and the beginning of a password, of an address whose end is missing."""
_QUERY = re.compile(r"(?<=[^\s?])\?[^\s?=&'\"]+=[^\s'\"<>)\]]*")
_FRAGMENT = re.compile(r"(://[^\s#'\"]*)#[^\s#=&'\"]+=[^\s'\"<>)\]]*")


_SHORTEST = 4
"""Of a password that is looked for by itself: a shorter one is part of too many words."""


def hide_secrets(text: str, address: str = "") -> str:
    """A text whose addresses have no user and password, and no values of a query (`?token=…`).

    `address`: one whose user and password go wherever they stand, since a library may quote a part of it.
    """
    for user in re.findall(r"://([^\s/?#]*)@", address):
        password = user.partition(":")[2]
        text = text.replace(f"{user}@", "")
        text = text.replace(password, "…") if len(password) >= _SHORTEST else text
    if "://" in text:
        text = _FRAGMENT.sub(r"\1#…", _CUT.sub(r"\1…", _USER.sub("://", text)))
    return _QUERY.sub("?…", text) if "?" in text else text
