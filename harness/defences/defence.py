"""The base of defences, which stand between a trained model and those who ask it."""

from __future__ import annotations

from typing import ClassVar, Literal

from harness.config import Plugin, Registry
from harness.defences.oracle import Answered, Oracle


class Defence(Plugin):
    """Base of all defences that change what a model answers. Training with noise, or stopping early, is training."""

    answers: ClassVar[Answered] = "posteriors"
    """What is left to ask for."""

    def wrap(self, oracle: Oracle, seed: int) -> Oracle:
        """The model with the defence in front of it; here, without any. Random answers derive from `seed`."""
        return oracle


# The registered defences by the `kind` that a spec writes.
DEFENCES: Registry[Defence] = Registry("defence")


@DEFENCES.register
class Undefended(Defence):
    """The model answers posteriors as they are."""

    kind: Literal["none"] = "none"
    summary: ClassVar[str] = "no defence: posteriors are answered"
