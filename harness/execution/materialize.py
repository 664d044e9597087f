"""The records that pieces stand for: the data side of every cell.

Splits are keyed by the spec's root seed and their coordinates; a stored split holds row indices only.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from harness.arrays import Array
from harness.data.dataset import GeneratorDataset, TableDataset
from harness.data.encoding import Encoded, Preprocessing, encode
from harness.data.fetch import read_table
from harness.data.split import Draw, Records, ShadowDraw, Sizes, Source, Split, TableSource, TableSplit
from harness.errors import HarnessError
from harness.execution.plan import Piece
from harness.execution.store import Result, Store
from harness.hashing import generator
from harness.identity import split_coordinates
from harness.paths import Project


@lru_cache(maxsize=2)
def _table(project: Project, dataset: TableDataset, digest: str) -> Any:
    """The table of a dataset, kept, since the pieces of a worker ask for the same few. Raises HarnessError."""
    table = read_table(project, dataset)
    if table.sha256 != digest:
        raise HarnessError(f"dataset {dataset.name}: the table changed while the run was under way; run again")
    return dataset.select(table.frame)


@lru_cache(maxsize=6)
def _encode_table(
    project: Project, dataset: TableDataset, digest: str, preprocessing: Preprocessing, drop: tuple[str, ...]
) -> Encoded:
    """The encoded table without the columns in `drop`, kept for the arms that a worker is at."""
    return encode(_table(project, dataset, digest), dataset.schema_of_table(), preprocessing, drop)


def source_of(project: Project, piece: Piece) -> Source:
    """The table or generator that a split draws its records from.

    Raises HarnessError where the table is missing, damaged, or another one than was planned with.
    """
    dataset: Any = piece.settings["dataset"]
    if not isinstance(dataset, TableDataset):
        assert isinstance(dataset, GeneratorDataset)
        return dataset
    digest = piece.description["data"]
    encoder = partial(_encode_table, project, dataset, digest, piece.settings["preprocessing"])
    return TableSource(_table(project, dataset, digest), encoder)


def split_generator(piece: Piece, *purpose: Any) -> np.random.Generator:
    """The random number generator of a split for one purpose."""
    return generator(piece.description["seed"], *split_coordinates(piece.description), *purpose)


def compute_split(project: Project, store: Store, piece: Piece) -> Result:
    """The result of drawing a split: row indices (of tables) and counts.

    Records of a generator are drawn again when they are needed. Raises SplitError where there are too few records.
    """
    split, sizes = _split(piece)
    if piece.needs:
        places = split.divide(draw_of(project, piece.needs[0]), split_generator(piece))
        return Result(places, {"facts": draw_of(project, piece.needs[0]).divide(places).facts})
    draw = split.draw(source_of(project, piece), sizes, split_generator(piece))
    return Result(draw.indices, {"facts": draw.facts})


def _split(piece: Piece) -> tuple[Split, Sizes]:
    """The split and the sizes that a piece's settings hold."""
    split, sizes = piece.settings["split"], piece.settings["sizes"]
    assert isinstance(split, Split)
    assert isinstance(sizes, Sizes)
    return split, sizes


@lru_cache(maxsize=2)
def draw_of(project: Project, piece: Piece) -> Draw:
    """The records of a split: selected from its table by the stored indices, or drawn again from its generator."""
    stored = Store(project.store).get("split", piece.key)
    if piece.needs:
        return draw_of(project, piece.needs[0]).divide(stored.arrays)
    source, (split, sizes) = source_of(project, piece), _split(piece)
    if isinstance(split, TableSplit) and isinstance(source, TableSource):
        return split.from_indices(source, stored.arrays, stored.meta["facts"])
    return split.draw(source, sizes, split_generator(piece))


def half_of(project: Project, split_piece: Piece, index: int) -> tuple[Records, Array]:
    """The candidate records and which of them, (n,) bool, the model of this index in a pool of halves is trained on.

    Models 2j and 2j + 1 have complementary halves, so each record is in exactly half of a pool (Carlini et al. 2022).
    """
    records = draw_of(project, split_piece).candidates()
    chosen = np.zeros(len(records), dtype=bool)
    order = split_generator(split_piece, "half", index // 2).permutation(len(records))
    half = len(records) // 2
    chosen[order[:half] if index % 2 == 0 else order[half : 2 * half]] = True
    return records, chosen


def shadow_of(project: Project, split_piece: Piece, index: int) -> ShadowDraw:
    """The records that a shadow model of this index is trained on, and those that it is not."""
    split, sizes = _split(split_piece)
    rng = split_generator(split_piece, "shadow", index)
    return split.shadow(source_of(project, split_piece), draw_of(project, split_piece), sizes, rng)
