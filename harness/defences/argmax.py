"""The defence that answers the most likely label alone (rahimian2021 Section 3.3)."""

from __future__ import annotations

from typing import ClassVar, Literal

from harness.defences.defence import DEFENCES, Defence
from harness.defences.oracle import Answered, LabelsOnly, Oracle


@DEFENCES.register
class Argmax(Defence):
    """The model answers the class with the highest posterior, and no posterior."""

    kind: Literal["argmax"] = "argmax"
    answers: ClassVar[Answered] = "labels"
    summary: ClassVar[str] = "the most likely label alone is answered"

    def wrap(self, oracle: Oracle, seed: int) -> Oracle:
        return LabelsOnly(oracle)
