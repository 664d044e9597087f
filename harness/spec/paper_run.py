"""What the paper itself ran: what a run is held against."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from harness.claims.declared import describe_unknown_name
from harness.claims.origin import Quote
from harness.config import Config, one_or_many
from harness.data.dataset import DATASETS
from harness.experiment.experiment import Arm

_NAME = re.compile(r"[a-z0-9]+([-_.][a-z0-9]+)*")


class PaperRun(Config):
    """What the paper ran where it makes these claims: a run on other data, or smaller, is read as such."""

    data: Annotated[
        tuple[str, ...], BeforeValidator(one_or_many(str, int), json_schema_input_type=str | tuple[str, ...])
    ]
    """Data sets, by the `kind` that specs give them."""
    members: int | dict[str, int] | None = None
    """Members, or their number by data set; none: the paper does not say."""
    epochs: int | None = Field(default=None, ge=1)
    repeats: int | None = Field(default=None, ge=1)
    """Runs that it averages over."""
    model: str = ""
    """In words."""
    other_model: str = Field(default="", exclude_if=lambda model: not model)
    """What is trained here where that is a model of another kind, in words: the paper's claims then agree or differ."""
    smaller: tuple[str, ...] = ()
    """What else is smaller here than there, such as the model, in words."""
    quote: Quote | None = None
    """Where it says so."""

    @field_validator("data")
    @classmethod
    def _check_names(cls, data: tuple[str, ...]) -> tuple[str, ...]:
        """Raises ValueError for what is no name, or nearly that of a data set; others are sets that are not here."""
        known = [name for name, _ in DATASETS]
        for name in data:
            if name in known:
                continue
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not the kind of one data set; list several, as in [cifar10, cifar100]")
            if difflib.get_close_matches(name, known, n=1, cutoff=0.8):
                raise ValueError(describe_unknown_name("data set", name, known))
        return data

    def reductions(self, arms: Sequence[Arm], repeats: int) -> list[str]:
        """What a run has less of, in words: of arms that differ in it, the most that any has."""
        here: Mapping[str, tuple[int | None, int]] = {
            "epochs": (self.epochs, max(arm.training.epochs for arm in arms)),
            "repeats": (self.repeats, repeats),
        }
        fewer = [f"{name} {now:,} of {was:,}" for name, (was, now) in here.items() if was is not None and now < was]
        members = {
            f"members {arm.sizes.members:,} of {was:,}": None
            for arm in arms
            if (was := self._members_of(arm.dataset.plugin_name())) is not None and arm.sizes.members < was
        }
        return [*members, *fewer, *self.smaller]

    def _members_of(self, dataset: str) -> int | None:
        return self.members.get(dataset) if isinstance(self.members, dict) else self.members
