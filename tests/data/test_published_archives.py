"""Archives of the forms that Purchase-100, Texas-100, Location-30 and CH-MNIST are published in, through their own
loaders and the command line: read, recognised, and refused in one line where they are wrong.

Loaders are those that a user has, set to sizes that a test can write; nothing here reaches the network.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from harness.data.datasets.ch_mnist import CLASSES, TILES, ChMnist
from harness.data.datasets.privacytrustlab import LabelledBits, Location, Purchase, Texas
from harness.data.raw_files import check_raw_files
from harness.data.sources import PublishedHash, RawFile, Source, read_members
from harness.errors import HarnessError
from harness.paths import Project
from harness.spec.load import load_specs
from harness.spec.profile import choose, load_params, scale
from tests.conftest import PARAMS, REPO, run_cli

ROWS, FEATURES, KINDS = 40, 6, 4
NOTE = b"Mac OS X\0\xff no table"
PUBLISHED = {
    Purchase: ("git blob id", "3efa7476ad5ed7ac3e558d28585a186b38fc5f19"),
    Texas: ("git blob id", "966f7ff40b24cf5912ff84759aab9adb8c25f30e"),
    Location: ("git blob id", "0cfc2caa0c8c8569cd68a5d4ab369a98c1f98447"),
    ChMnist: ("MD5", "0ddbebfc56344752028fda72602aaade"),
}
LABELS = [i % KINDS + 1 for i in range(ROWS)]
BITS = np.random.default_rng(0).integers(0, 2, (ROWS, FEATURES)).tolist()


def joined(rows: list[list[object]]) -> bytes:
    return "".join(",".join(map(str, row)) + "\n" for row in rows).encode()


FEATS, COLUMN = joined(BITS), joined([[label] for label in LABELS])
TOGETHER = joined([[f'"{label}"', *row] for label, row in zip(LABELS, BITS, strict=True)])
OF_TEXAS = {
    "texas/100/feats": FEATS,
    "texas/100/labels": COLUMN,
    "texas/150/feats": b"1,1\n",
    "texas/150/labels": b"150\n",
    "texas/200/labels": b"200\n",
    "texas/300/feats": b"0\n",
}


def packed(path: Path, members: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def zipped_tiles(path: Path) -> Path:
    """Two tiles of each tissue, packed by macOS: beside each file, and in a folder of its own, notes by its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    top = "Kather_texture_2016_image_tiles_5000"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{top}/.DS_Store", NOTE)
        for kind in range(CLASSES):
            for number in range(2):
                out = io.BytesIO()
                Image.new("RGB", (150, 150), (10 * kind, 10 * kind, 10 * kind)).save(out, "TIFF")
                archive.writestr(f"{top}/0{kind + 1}_KIND/{number}.tif", out.getvalue())
                archive.writestr(f"{top}/0{kind + 1}_KIND/._{number}.tif", NOTE)
                archive.writestr(f"__MACOSX/{top}/0{kind + 1}_KIND/._{number}.tif", NOTE)
    return path


def state_hash(monkeypatch: pytest.MonkeyPatch, loader: type, path: Path) -> None:
    """Have the loader take this file for the published one."""
    (source,) = loader.sources
    (raw,) = source.files
    if raw.published.kind == "MD5":
        value = hashlib.md5(path.read_bytes()).hexdigest()
    else:
        value = subprocess.run(["git", "hash-object", path], capture_output=True, text=True, check=True).stdout.strip()
    file = RawFile(raw.name, raw.url, raw.sha256, PublishedHash(raw.published.kind, value))
    monkeypatch.setattr(loader, "sources", (Source(source.label, (file,)),))


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that can be told to fetch; loaders of small tables; no address answers."""
    for loader in (Purchase, Texas, Location):
        for field, value in (("rows", ROWS), ("features", FEATURES), ("classes", KINDS), ("canonical_sha256", None)):
            monkeypatch.setattr(loader, field, value)
    monkeypatch.setattr(ChMnist, "each", 2)

    def refuse(url: str, *_: object) -> None:
        raise HarnessError(f"{url}: refused")

    monkeypatch.setattr("harness.data.fetch.download", refuse)
    root = tmp_path / "project"
    (root / "specs").mkdir(parents=True)
    (root / "params.yaml").write_text(PARAMS)
    return root


ARCHIVES: dict[type, tuple[str, Callable[[Path], Path]]] = {
    Purchase: ("purchase100/dataset_purchase.tgz", lambda p: packed(p, {"dataset_purchase": TOGETHER})),
    Texas: ("texas100/dataset_texas.tgz", lambda p: packed(p, OF_TEXAS)),
    Location: ("location30/dataset_location.tgz", lambda p: packed(p, {"bangkok": TOGETHER})),
    ChMnist: (f"ch-mnist/{TILES}", zipped_tiles),
}


@pytest.mark.parametrize("loader", ARCHIVES, ids=lambda loader: loader.__name__)
def test_an_archive_of_the_published_form_is_read_and_recognised(
    loader: type, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, pack = ARCHIVES[loader]
    name, file = place.split("/")
    path = pack(tmp_path / "data" / place)
    environment = {"HARNESS_DATA": str(tmp_path / "data")}
    before = run_cli(small, "data", "status", name, **environment).stdout
    assert f"{name}\tno\t\tfetch finds its files in HARNESS_DATA" in before, before
    ran = run_cli(small, "data", "fetch", name, **environment)
    assert ran.returncode == 0, ran.stderr
    rows = 16 if loader is ChMnist else ROWS
    origin = f"HARNESS_DATA ({file})"
    kind, value = PUBLISHED[loader]
    assert ran.stderr.splitlines()[0] == (
        f"{name}: {rows} rows from {origin}, not the published archive, whose {kind} is {value}"
    )
    assert f"{origin}, not the published archive" in run_cli(small, "data", "status", name).stdout
    frame = pd.read_parquet(small / "data" / name / "table.parquet")
    if issubclass(loader, LabelledBits):
        assert frame["class"].tolist() == LABELS
        assert frame.drop(columns="class").to_numpy().tolist() == BITS
    else:
        assert frame["class"].tolist() == [k for k in range(CLASSES) for _ in range(2)]
    # The published one differs by nothing but its bytes.
    state_hash(monkeypatch, loader, path)
    again = run_cli(small, "data", "fetch", "--force", name, **environment)
    assert again.stderr.splitlines()[0] == f"{name}: {rows} rows from {origin}, the published archive"
    assert f"{origin}, the published archive" in run_cli(small, "data", "status", name).stdout
    (row,) = json.loads(run_cli(small, "data", "status", name, "--json").stdout)
    assert (row["published"], row["from"]) == (True, origin)
    # Nothing is said of a table that came from elsewhere since.
    frame.iloc[::-1].to_parquet(small / "data" / name / "table.parquet", index=False)
    (row,) = json.loads(run_cli(small, "data", "status", name, "--json").stdout)
    assert (row["there"], row["published"]) == (True, None)


def test_a_download_is_recognised_too(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "server" / "dataset_texas.tgz", OF_TEXAS)

    def give(url: str, target: Path, *_: object) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())

    monkeypatch.setattr("harness.data.fetch.download", give)
    state_hash(monkeypatch, Texas, path)
    ran = run_cli(small, "data", "fetch", "texas100")
    assert ran.stderr.splitlines()[0] == "texas100: 40 rows from Privacy and Trust Lab, the published archive"


def test_what_the_published_archives_are_recognised_by() -> None:
    stated = {
        loader: (raw.published.kind, raw.published.value)
        for loader in PUBLISHED
        for source in loader.sources
        for raw in source.files
        if raw.published is not None
    }
    assert stated == PUBLISHED
    assert Texas.separate == ("texas/100/feats", "texas/100/labels")


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({}, "no texas/100/feats, texas/100/labels in it; is it the published archive? This one holds no file"),
        ({"table": TOGETHER}, "no texas/100/feats, texas/100/labels in it; .* This one holds table"),
        ({"texas/150/feats": FEATS, "texas/150/labels": COLUMN}, "This one holds texas/150/feats, texas/150/labels"),
        ({f"part{i}": b"" for i in range(9)}, "This one holds part0, part1, part2, part3, part4, part5 and 3 more"),
        ({"texas/100/feats": FEATS}, r"no texas/100/labels in it; .* This one holds texas/100/feats"),
        ({"feats": FEATS, "labels": COLUMN}, "no texas/100/feats, texas/100/labels in it"),
        (OF_TEXAS | {"old/texas/100/feats": FEATS}, "holds texas/100/feats twice, the published archive holds it once"),
        (OF_TEXAS | {"texas/100/feats": TOGETHER}, "texas/100/feats: 7 columns, 6 are right (features alone)"),
        (OF_TEXAS | {"texas/100/feats": joined(BITS[1:])}, "texas/100/feats: 39 rows, 40 are right"),
        (OF_TEXAS | {"texas/100/labels": joined([[1], [2]])}, "texas/100/labels: 2 rows, 40 are right"),
        (OF_TEXAS | {"texas/100/labels": TOGETHER}, "texas/100/labels: 7 columns, 1 are right (a label a row)"),
        (OF_TEXAS | {"texas/100/labels": b"1\n" * 40}, "texas/100/labels: the first column is not a label"),
        (OF_TEXAS | {"texas/100/labels": b""}, "texas/100/labels: no table of comma-separated values: No columns"),
        (
            OF_TEXAS | {"texas/100/feats": joined([*BITS[:-1], [*BITS[-1][:-1], 2]])},
            "texas/100/feats: row 40, column 6: '2' is no binary feature; features are 0 and 1",
        ),
    ],
)
def test_a_wrong_archive_of_texas_is_one_line(
    small: Path, tmp_path: Path, members: dict[str, bytes], says: str
) -> None:
    packed(tmp_path / "data" / "texas100" / "dataset_texas.tgz", members)
    ran = run_cli(small, "data", "fetch", "texas100", HARNESS_DATA=str(tmp_path / "data"))
    assert ran.returncode == 2
    warning, failure = ran.stderr.splitlines()
    assert warning.startswith("harness: warning: dataset_texas.tgz: ")
    assert all(part in warning for part in says.split(" .* ")), warning
    assert failure.startswith("harness: dataset texas100: not to be had; tried: dataset_texas.tgz: ")
    assert not (small / "data").exists()


def test_what_macos_adds_to_an_archive_is_passed_over(small: Path, tmp_path: Path) -> None:
    added = {"._bangkok": NOTE, "__MACOSX/._bangkok": NOTE, "__MACOSX/bangkok": NOTE, ".DS_Store": NOTE}
    packed(tmp_path / "data" / "location30" / "dataset_location.tgz", {**added, "./bangkok": TOGETHER})
    of_texas = {f"{'/'.join(p[:-1])}/._{p[-1]}": NOTE for p in (name.split("/") for name in OF_TEXAS)}
    of_texas |= {f"__MACOSX/{name}": NOTE for name in OF_TEXAS}
    packed(tmp_path / "data" / "texas100" / "dataset_texas.tgz", of_texas | {f"./{n}": d for n, d in OF_TEXAS.items()})
    ran = run_cli(small, "data", "fetch", "location30", "texas100", HARNESS_DATA=str(tmp_path / "data"))
    assert ran.returncode == 0, ran.stderr
    tables = [pd.read_parquet(small / "data" / name / "table.parquet") for name in ("location30", "texas100")]
    assert tables[0].equals(tables[1])
    assert tables[0]["class"].tolist() == LABELS


def test_members_are_read_by_their_names_in_any_folder(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.tgz", {"x/one.bin": b"1", "x/two.bin": b"2", "x/y/three.bin": b"3", "one": b"4"})
    assert read_members(path, ("one.bin", "y/three.bin")) == {"one.bin": b"1", "y/three.bin": b"3"}
    assert list(read_members(path)) == ["x/one.bin", "x/two.bin", "x/y/three.bin", "one"]


def test_another_table_of_location_is_not_taken_for_it(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its table has a known hash: an archive packed anew is read, one with other records is refused."""
    path = packed(tmp_path / "data" / "location30" / "dataset_location.tgz", {"bangkok": TOGETHER})
    monkeypatch.setattr(Location, "canonical_sha256", Location.digest(Location.parse({path.name: path})))
    assert run_cli(small, "data", "fetch", "location30", HARNESS_DATA=str(tmp_path / "data")).returncode == 0
    packed(path, {"bangkok": TOGETHER.replace(b",1", b",0", 1)})
    ran = run_cli(small, "data", "fetch", "--force", "location30", HARNESS_DATA=str(tmp_path / "data"))
    assert ran.returncode == 2
    assert "corrupted: the table made from it has SHA-256" in ran.stderr


PAGE = (REPO / "docs" / "real-data.md").read_text()
RECOGNISED = {"location30", "purchase100", "texas100", "ch-mnist"}


def rows_of(header: str) -> list[list[str]]:
    """Cells of the page's table whose header begins so."""
    (body,) = re.findall(rf"(?m)^\| {header} \|.*\n\|[ |-]*\n((?:\|.*\n)+)", PAGE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in body.splitlines()]


def test_the_page_has_what_loaders_ask_for() -> None:
    stated = {name.strip("`"): (file.strip("`"), by) for name, file, _, _, by in rows_of("data set")}
    assert stated == {loader().name: (ARCHIVES[loader][0], " ".join(PUBLISHED[loader])) for loader in ARCHIVES}
    for loader in ARCHIVES:
        (raw,) = loader.sources[0].files
        assert ARCHIVES[loader][0] == f"{loader().name}/{raw.name}"


def test_the_page_has_all_specs_of_these_data_and_its_profile_runs_them_on_the_real_ones(tmp_path: Path) -> None:
    shutil.copytree(REPO / "specs", tmp_path / "specs")
    (profile,) = re.findall(r"<!-- profile -->\n```text\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "params.yaml").write_text((REPO / "params.yaml").read_text() + profile)
    ran = run_cli(tmp_path, "validate")
    assert ran.returncode == 0, ran.stderr
    used: dict[str, set[str]] = {}
    for one in load_specs(Project(tmp_path), []):
        if one.spec.own_experiment is not None:
            names = {arm.dataset.name for arm in one.spec.own_experiment.arms.values()} & RECOGNISED
            used |= {one.spec.id: names} if names else {}
    specs, data = zip(*((row[0].split(", "), row[1]) for row in rows_of("spec")), strict=True)
    assert {
        spec: set(re.findall(r"`(.*?)`", on)) for names, on in zip(specs, data, strict=True) for spec in names
    } == used
    decided = set(yaml.safe_load(profile)["real"]["decide"])
    assert decided == {spec for spec, names in used.items() if names - {"location30"}}
    name, chosen = choose(load_params(Project(tmp_path)), "real")
    for one in load_specs(Project(tmp_path), sorted(decided)):
        scaled = scale(one.spec, name, chosen)
        assert (scaled.substitution, scaled.reductions) == (None, ())


def test_an_archive_is_counted_while_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small archive of a large file, asked for or beside what is asked for, and one that is fetched."""
    path = tmp_path / "dataset.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("feats", "other"):
            about = tarfile.TarInfo(name)
            about.size = 3_000_000
            archive.addfile(about, io.BytesIO(b"0" * about.size))
    assert path.stat().st_size < 100_000
    assert len(read_members(path, ["feats"])["feats"]) == 3_000_000
    monkeypatch.setenv("HARNESS_MAX_UNPACKED_BYTES", "1000000")
    for names in (["feats"], ["labels"], []):
        with pytest.raises(HarnessError, match=r"dataset.tgz: .* bytes unpacked, more than 1,000,000; set HARNESS_MAX"):
            read_members(path, names)
    source = Source("mirror", (RawFile(path.name),))
    with pytest.raises(HarnessError, match=r"unpacks to more than 1,000,000 bytes"):
        check_raw_files(source, {path.name: path})
    known = Source("mirror", (RawFile(path.name, sha256=hashlib.sha256(path.read_bytes()).hexdigest()),))
    check_raw_files(known, {path.name: path})
