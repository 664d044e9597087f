"""IDX files of the published form, small ones made here, how they can be wrong, and what models see of images."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from harness.data.dataset import Schema
from harness.data.datasets.cifar10 import Cifar10
from harness.data.datasets.mnist import Mnist
from harness.data.encoding import Preprocessing, encode
from harness.data.fetch import fetch, read_table
from harness.data.scattering import Scattering, scatter
from harness.errors import HarnessError
from harness.paths import Project
from harness.progress import Progress

QUIET = Progress(quiet=True)


class Small(Mnist):
    """Five and three images."""

    kind: str = "small"  # type: ignore[assignment]
    parts: ClassVar[Mapping[str, int]] = {"train": 5, "t10k": 3}
    canonical_sha256: ClassVar[str | None] = None


def idx(values: np.ndarray) -> bytes:
    return gzip.compress(struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape) + values.tobytes())


def write(folder: Path, **changed: bytes) -> Path:
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in Small.parts.items():
        images = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        labels = np.arange(count, dtype=np.uint8)
        for kind, values in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
            name = f"{part}-{kind}"
            (folder / f"{name}.gz").write_bytes(changed.get(name.replace("-", "_"), idx(values)))
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    write(tmp_path / "override" / "small")
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "override"))
    monkeypatch.setenv("HARNESS_STORE", str(tmp_path / "store" / "cells"))
    result = Project(tmp_path / "p")
    fetch(result, Small(), QUIET)
    return result


def test_images_come_out_with_their_labels_training_first(project: Project, tmp_path: Path) -> None:
    table = read_table(project, Small()).frame
    assert table["class"].tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    with gzip.open(tmp_path / "override" / "small" / "t10k-images-idx3-ubyte.gz") as stream:
        last = np.frombuffer(stream.read(), np.uint8)[-784:]
    assert np.array_equal(np.round(table.iloc[7, 1:].to_numpy(float) * 255), last)


def test_scattering_features_are_made_once_and_stay_on_disk(project: Project) -> None:
    dataset = Small(scattering=Scattering(groups=None))
    first = read_table(project, dataset).frame
    pixels = read_table(project, Small()).frame.iloc[:, 1:].to_numpy(np.float32).reshape(8, 28, 28)
    assert first.iloc[:, 1:].to_numpy() == pytest.approx(scatter(pixels).reshape(8, -1))
    derived = (project.store.parent / "derived").glob("*.npy")
    (kept,) = (path for path in derived if np.load(path, mmap_mode="r").shape == (8, 3969))
    stamp = kept.stat().st_mtime_ns
    again = read_table(project, dataset).frame
    assert kept.stat().st_mtime_ns == stamp
    pd.testing.assert_frame_equal(first, again)
    encoded = encode(again, dataset.schema_of_table(), Preprocessing(scaling="none"))
    assert not encoded.features.flags.owndata  # read from the disk where it is wanted
    assert encoded.columns[0] == "s0000"


@pytest.mark.parametrize("make", [lambda f: f, lambda f: f.astype({"x": np.float64}), lambda f: f.assign(x=[1, None])])
def test_features_that_are_taken_as_they_are_are_those_that_are_encoded(make: Callable) -> None:
    """Numbers in single precision without gaps take the short way; others the long one, to the same numbers."""
    frame = make(
        pd.DataFrame({"label": [3, 5], "x": np.array([1.5, -2], np.float32), "y": np.array([0, 7], np.float32)})
    )
    result = encode(frame, Schema("label", ()), Preprocessing(scaling="none"))
    filled = frame["x"].fillna(frame["x"].mean())
    assert result.features.tolist() == np.stack([filled, frame["y"]], axis=1).tolist()
    assert result.features.dtype == np.float32
    assert (result.labels.tolist(), result.classes, result.columns) == ([0, 1], ("3", "5"), ("x", "y"))


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "train_images_idx3_ubyte",
            b"no gzip",
            "train-images-idx3-ubyte.gz: not the published IDX file: Not a gzipped file",
        ),
        (
            "train_images_idx3_ubyte",
            idx(np.zeros((4, 28, 28), np.uint8)),
            r"images.*: cannot reshape .* into shape \(5,28,28\)",
        ),
        ("t10k_labels_idx1_ubyte", gzip.compress(b"short"), "labels.*: offset must be"),
        (
            "t10k_labels_idx1_ubyte",
            gzip.compress(gzip.decompress(idx(np.zeros(3, np.uint8)))[:-1]),
            "t10k-labels.* of size 2 into",
        ),
        (
            "train_labels_idx1_ubyte",
            idx(np.zeros(5, np.uint8))[:-9],
            "not the published IDX file: Compressed file ended",
        ),
    ],
    ids=["not gzip", "too few images", "no head", "a byte short", "cut off"],
)
def test_what_is_wrong_is_named(tmp_path: Path, file: str, content: bytes, message: str) -> None:
    folder = write(tmp_path, **{file: content})
    with pytest.raises(HarnessError, match=message):
        Small.parse({path.name: path for path in folder.iterdir()})


def test_ways_to_see_an_image_that_cannot_be() -> None:
    for fields, message in (
        ({"components": 5, "scattering": {}}, "two ways to see an image"),
        ({"scattering": {"pooled": 2}}, "28 x 28 pixels cannot be averaged over 8 x 8"),
        ({"scattering": {"groups": 10}}, "81 channels cannot be put into 10 groups"),
        ({"components": 785}, "at most 784"),
    ):
        with pytest.raises(ValidationError, match=message):
            Mnist.model_validate(fields)
    assert Cifar10.model_validate({"scattering": {"pooled": 2}}).derivation() == {
        "scattering": {"scales": 2, "pooled": 2, "groups": 27}
    }
