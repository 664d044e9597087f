"""The exceptions that reach a user as a single clear line and exit code 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class HarnessError(Exception):
    """Bad input or an unusable environment, described for the person who can mend it.

    The message is one line: where (file, line, field, as far as they apply), what is wrong, and
    what would be right. The command line prints it without a traceback and exits with 2. Several faults are several
    arguments, a line each, so that a line break in a name is told from the end of a fault.
    """

    field: str = ""
    """Dotted path of the field of an experiment that it is about, such as `training.learning_rate`, where that shows
    only once data are at hand. Whoever knows the spec puts its file and line before the message."""
    arm: str = ""
    """The arm that it came up for, where that is known."""
    piece: str = ""
    """Name of the piece of work that it came up in, where it did."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))

    @property
    def lines(self) -> tuple[str, ...]:
        """Its faults, each meant as one line."""
        return self.args if all(isinstance(one, str) for one in self.args) else (str(self),)


def first_fault(error: ValidationError) -> str:
    """The first thing that pydantic found wrong with a file's content: its place and what is wrong there."""
    fault = error.errors()[0]
    place = ".".join(map(str, fault["loc"]))
    text = " ".join(fault["msg"].split()).removeprefix("Value error, ")
    return f"{place}: {text}" if place else text


class DatasetError(HarnessError):
    """The fault is in `dataset`, or in the table that it names."""

    field = "dataset"


class PreprocessingError(HarnessError):
    """The fault is in `preprocessing`."""

    field = "preprocessing"


class SplitError(HarnessError):
    """The fault is in an arm's `split`."""

    field = "split"


class SizesError(HarnessError):
    """The fault is in `sizes`."""

    field = "sizes"


class PrivacyError(HarnessError):
    """The fault is in `privacy`."""

    field = "privacy"


class ModelError(HarnessError):
    """The fault is in an arm's `model`."""

    field = "model"


class TrainingError(HarnessError):
    """The fault is in `training`."""

    field = "training"


class AttacksError(HarnessError):
    """The fault is in `attacks`, which no arm has."""

    field = "attacks"
