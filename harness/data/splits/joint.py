"""The split of dependent training records, one draw from a joint distribution (humphries2020, Algorithm 3)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from harness.data.dataset import GeneratorDataset
from harness.data.split import SPLITS, Draw, Records, ShadowDraw, Sizes, Source, Split


@SPLITS.register
class Joint(Split):
    """All members and test records come from one sub-population chosen at random; every non-member
    comes from a sub-population of its own choosing, so that the marginals agree (Definition 5.1).

    Shadow data: the paper does not say. `shadows: game` replays the experiment with a fresh
    sub-population for each shadow model; `shadows: same` gives the adversary the target's own.
    """

    kind: Literal["joint"] = "joint"
    shadows: Literal["game", "same"] = "game"
    """How shadow records are drawn (unstated in the paper)."""
    needs: ClassVar[tuple[Literal["table", "generator"], ...]] = ("generator",)

    def draw(self, source: Source, sizes: Sizes, rng: np.random.Generator) -> Draw:
        assert isinstance(source, GeneratorDataset)
        component = int(rng.integers(source.n_components))
        members = _draw_component(source, component, sizes.members, rng)
        test = _draw_component(source, component, sizes.test, rng)
        origin = rng.integers(source.n_components, size=sizes.nonmembers)
        others = Records(*source.sample(origin, rng))
        facts: dict[str, float] = {
            "members": sizes.members,
            "test": sizes.test,
            "nonmembers": sizes.nonmembers,
            "component": component,
            "nonmembers_of_same_component": int((origin == component).sum()),
        }
        return Draw(members, test, others, source.n_classes, facts=facts)

    def shadow(self, source: Source, draw: Draw, sizes: Sizes, rng: np.random.Generator) -> ShadowDraw:
        assert isinstance(source, GeneratorDataset)
        component = int(rng.integers(source.n_components))
        if self.shadows == "same":
            component = int(draw.facts["component"])
        inside = _draw_component(source, component, sizes.members, rng)
        origin = rng.integers(source.n_components, size=sizes.members)
        return ShadowDraw(inside, Records(*source.sample(origin, rng)))


def _draw_component(source: GeneratorDataset, component: int, n: int, rng: np.random.Generator) -> Records:
    """Draw `n` records of one sub-population."""
    return Records(*source.sample(np.full(n, component), rng))
