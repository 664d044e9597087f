"""The split of independent records, the baseline: members and non-members are from one population."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from harness.data.dataset import GeneratorDataset
from harness.data.encoding import Encoded
from harness.data.split import SPLITS, Draw, Owners, Records, ShadowDraw, Sizes, Source, TableSource, TableSplit


@SPLITS.register
class Random(TableSplit):
    """Uniform over the table's rows; on a generator, every record is drawn independently."""

    kind: Literal["random"] = "random"
    drop: tuple[str, ...] = ()
    """Columns removed before encoding, to match another arm's features."""
    needs: ClassVar[tuple[Literal["table", "generator"], ...]] = ("table", "generator")

    def drops(self) -> tuple[str, ...]:
        return self.drop

    def owners(self, source: TableSource, encoded: Encoded, sizes: Sizes, rng: np.random.Generator) -> Owners:
        """The owner set, a share of the rows that is chosen so that neither set runs short."""
        n, need = len(encoded.labels), sizes.members + sizes.test
        share = need / (need + sizes.nonmembers)
        mask = np.zeros(n, dtype=bool)
        mask[rng.permutation(n)[: max(need, int(share * n))]] = True
        return Owners(mask)

    def draw(self, source: Source, sizes: Sizes, rng: np.random.Generator) -> Draw:
        if isinstance(source, TableSource):
            return super().draw(source, sizes, rng)
        members, test, others = (
            _draw_independent(source, n, rng) for n in (sizes.members, sizes.test, sizes.nonmembers)
        )
        return Draw(members, test, others, source.n_classes, facts={"members": len(members)})

    def shadow(self, source: Source, draw: Draw, sizes: Sizes, rng: np.random.Generator) -> ShadowDraw:
        if isinstance(source, TableSource):
            return super().shadow(source, draw, sizes, rng)
        return ShadowDraw(_draw_independent(source, sizes.members, rng), _draw_independent(source, sizes.members, rng))


def _draw_independent(source: GeneratorDataset, n: int, rng: np.random.Generator) -> Records:
    """Draw `n` records, each of a sub-population of its own."""
    return Records(*source.sample(rng.integers(source.n_components, size=n), rng))
