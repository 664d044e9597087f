"""How a check says that a plug-in does not do what its sort has to."""

from __future__ import annotations

from typing import Any

from harness.config import Plugin


class NonConformance(AssertionError):
    """A plug-in that does not keep the contract of its sort, in one line."""


def require(holds: object, message: str) -> None:
    """Raises NonConformance with the message where something does not hold."""
    if not holds:
        raise NonConformance(message)


def check_configuration(plugin: Plugin) -> None:
    """It is written and read back alike, and says in a few words what it is.

    Raises NonConformance for one that is not.
    """
    name, written = type(plugin).plugin_name(), plugin.model_dump(mode="json", by_alias=True)
    try:
        again: Any = type(plugin).model_validate(written)
    except ValueError as error:
        raise NonConformance(f"{name}: what it writes as JSON cannot be read back: {error}") from None
    require(again == plugin, f"{name}: read back from its JSON it is another; every field has to be a value of YAML")
    require(again.content() == plugin.content(), f"{name}: what is hashed of it differs once it is read back")
