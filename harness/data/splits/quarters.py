"""The split into four equal parts: the training and test records of a target, and of a shadow model.

rahimian2021 Section 5.2 has it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.data.encoding import Encoded
from harness.data.split import SPLITS, Draw, Owners, Sizes, Source, TableSource, TableSplit
from harness.errors import SplitError


@SPLITS.register
class Quarters(TableSplit):
    """Members, non-members, and as many records each for a shadow model to be trained on and not, uniformly drawn.

    The target's accuracy is measured on the records that the attack has to tell from members, so `sizes.test` is
    `sizes.nonmembers`, and both are `sizes.members`.
    """

    kind: Literal["quarters"] = "quarters"
    hashed_as: ClassVar[dict[str, str]] = {"swap_roles": "turned"}
    swap_roles: bool = Field(default=False, exclude_if=lambda swapped: not swapped)
    """The target has the shadow model's parts, drawn from the records that the same split leaves without it:
    an arm with it is a shadow model, trained as the arm says."""
    needs: ClassVar[tuple[Literal["table", "generator"], ...]] = ("table",)

    def refuses(self, sizes: Sizes) -> str | None:
        if sizes.members == sizes.test == sizes.nonmembers:
            return None
        return (
            "split 'quarters' has parts of one size; set sizes.test and sizes.nonmembers to sizes.members "
            f"({sizes.members}), found {sizes.test} and {sizes.nonmembers}"
        )

    def owners(self, source: TableSource, encoded: Encoded, sizes: Sizes, rng: np.random.Generator) -> Owners:
        mask = np.zeros(len(encoded.labels), dtype=bool)
        mask[rng.permutation(len(mask))[: len(mask) // 2]] = True
        return Owners(mask)

    def draw(self, source: Source, sizes: Sizes, rng: np.random.Generator) -> Draw:
        """Draw members from one half of the table, the two parts of the shadow model from what is left of the other.

        Raises SplitError where a part has too few records.
        """
        drawn = super().draw(source, sizes.model_copy(update={"test": 0}), rng)
        indices = {**drawn.indices, "test": drawn.indices["nonmembers"]}
        facts = {**drawn.facts, "test": sizes.nonmembers}
        if not self.swap_roles:
            return replace(drawn, test=drawn.nonmembers, indices=indices, facts=facts)
        left = rng.permutation(indices["leftover"])
        if len(left) < 2 * sizes.members:
            raise SplitError(
                f"split quarters: {len(left)} records are left for the parts of a shadow model, which the target has "
                f"with swap_roles; the sizes ask for {2 * sizes.members}"
            )
        members, others = left[: sizes.members], left[sizes.members : 2 * sizes.members]
        leftover = np.concatenate([indices["members"], indices["nonmembers"], left[2 * sizes.members :]])
        parts = {"members": members, "test": others, "nonmembers": others, "leftover": leftover}
        facts["shadow_pool"] = len(leftover)
        return self.from_indices(source, {role: np.sort(rows) for role, rows in parts.items()}, facts)
