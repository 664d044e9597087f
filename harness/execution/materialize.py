"""Turn a piece's description back into records: the data side of every cell.

Splits are keyed by the spec's root seed and their coordinates; a stored split holds row indices only.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from harness.arrays import Array
from harness.data.dataset import Dataset, TableDataset
from harness.data.encoding import Encoded, Preprocessing, encode
from harness.data.fetch import read_table
from harness.data.split import Draw, Records, ShadowDraw, Sizes, Source, Split, TableSource, TableSplit
from harness.errors import HarnessError
from harness.execution.plan import Piece
from harness.execution.store import Result, Store
from harness.experiment import AnyDataset, AnySplit
from harness.hashing import derive_seed, generator
from harness.paths import Project

NOT_COORDINATES = ("code", "packages", "metrics", "data", "engine", "defence")
"""What names a piece without choosing its random numbers: a changed version repeats the same draws, and an attack asks
the same questions whatever defends the target."""


def parse_as(kind: Any, value: Any) -> Any:
    """Validate a stored description as the plug-in that it describes."""
    return TypeAdapter(kind).validate_python(value)


def coordinates(piece: Piece) -> list[Any]:
    """What a piece's seed derives from: its description and its needs', without versions."""
    return [_strip(piece.description), [coordinates(need) for need in piece.needs]]


def _strip(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _strip(v) for k, v in value.items() if k not in NOT_COORDINATES}
    return value


def piece_seed(piece: Piece) -> int:
    """Seed of a piece's own random choices, from the root seed of the split that it stands on."""
    split = piece
    while split.needs:
        split = split.needs[0]
    return derive_seed(split.description["seed"], piece.kind, coordinates(piece))


@lru_cache(maxsize=2)
def _table(project: Project, dataset: TableDataset, digest: str) -> Any:
    table = read_table(project, dataset)
    if table.sha256 != digest:
        raise HarnessError(f"dataset {dataset.name}: the table changed while the run was under way; run again")
    return dataset.select(table.frame)


@lru_cache(maxsize=6)
def _encoded(
    project: Project, dataset: TableDataset, digest: str, preprocessing: Preprocessing, drop: tuple[str, ...]
) -> Encoded:
    return encode(_table(project, dataset, digest), dataset.schema_of_table(), preprocessing, drop)


def source_of(project: Project, description: dict[str, Any]) -> Source:
    dataset: Dataset = parse_as(AnyDataset, description["dataset"])
    if not isinstance(dataset, TableDataset):
        return dataset  # type: ignore[return-value]
    preprocessing = Preprocessing.model_validate(description["preprocessing"])
    encoder = partial(_encoded, project, dataset, description["data"], preprocessing)
    return TableSource(_table(project, dataset, description["data"]), encoder)


def _split_rng(description: dict[str, Any], *purpose: Any) -> np.random.Generator:
    where = {k: description[k] for k in ("dataset", "split", "sizes", "repeat")}
    # A turned split has the records that the same one leaves when it is not turned.
    where["split"] = {k: v for k, v in where["split"].items() if k != "turned"}
    return generator(description["seed"], "split", where, *purpose)


def do_split(project: Project, store: Store, piece: Piece) -> Result:
    """Keep the indices (tables) and the counts; generated records are drawn again when needed."""
    split: Split = parse_as(AnySplit, piece.description["split"])
    if piece.needs:
        places = split.divide(draw_of(project, piece.needs[0]), _split_rng(piece.description))
        return Result(places, {"facts": draw_of(project, piece.needs[0]).divided(places).facts})
    source = source_of(project, piece.description)
    draw = split.draw(source, Sizes.model_validate(piece.description["sizes"]), _split_rng(piece.description))
    return Result(draw.indices, {"facts": draw.facts})


@lru_cache(maxsize=2)
def draw_of(project: Project, piece: Piece) -> Draw:
    description = piece.description
    stored = Store(project.store).get("split", piece.key)
    if piece.needs:
        return draw_of(project, piece.needs[0]).divided(stored.arrays)
    source, split = source_of(project, description), parse_as(AnySplit, description["split"])
    if isinstance(split, TableSplit) and isinstance(source, TableSource):
        return split.from_indices(source, stored.arrays, stored.meta["facts"])
    drawn: Draw = split.draw(source, Sizes.model_validate(description["sizes"]), _split_rng(description))
    return drawn


def half_of(project: Project, split_piece: Piece, index: int) -> tuple[Records, Array]:
    """The records at stake and which of them, (n,) bool, the model of this index in a pool of halves is trained on.

    Models 2j and 2j + 1 have complementary halves, so each record is in exactly half of a pool (Carlini et al. 2022).
    """
    records = draw_of(project, split_piece).at_stake()
    chosen = np.zeros(len(records), dtype=bool)
    order = _split_rng(split_piece.description, "half", index // 2).permutation(len(records))
    half = len(records) // 2
    chosen[order[:half] if index % 2 == 0 else order[half : 2 * half]] = True
    return records, chosen


def shadow_of(project: Project, split_piece: Piece, index: int) -> ShadowDraw:
    description = split_piece.description
    source, split = source_of(project, description), parse_as(AnySplit, description["split"])
    sizes = Sizes.model_validate(description["sizes"])
    drawn: ShadowDraw = split.shadow(
        source, draw_of(project, split_piece), sizes, _split_rng(description, "shadow", index)
    )
    return drawn
