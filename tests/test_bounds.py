"""Inputs without a bound: what a stranger's folder may hold costs one line, and neither the memory nor the time."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import resource
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness import bounds
from harness.bounds import BOUNDS, SPEC_BYTES, TABLE_BYTES, NotAFile, TooLarge, check_unpacked, read_bytes
from harness.commands import app
from harness.errors import HarnessError
from harness.execution.planner import make_plan
from harness.extensions.audit.model.files import read_rows
from harness.npz import check_members, read_array
from harness.parquet import check_parquet
from harness.paths import Project
from harness.spec.document import load_document
from harness.spec.load import load_specs
from harness.spec.profile import load_params
from tests.conftest import PARAMS, REPO, SMALL_SPEC

Make = Callable[..., Project]
MEMORY = 3_000_000_000
"""Bytes of address space that a command gets here: what reads on ends without an answer."""


def run_bounded(folder: Path, *words: str, memory: int = MEMORY, timeout: float = 60) -> tuple[int, str]:
    """A command of the harness with little memory and time. Returns its exit code and what it wrote to its errors."""
    ran = subprocess.run(
        [sys.executable, "-m", "harness", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPO), "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return ran.returncode, ran.stderr


def test_the_docs_name_each_bound_and_what_raises_it() -> None:
    table = (REPO / "docs" / "what-may-enter.md").read_text()
    for bound in BOUNDS:
        row = next((line for line in table.splitlines() if f"`{bound.variable}`" in line), "")
        assert f"{bound.default:,} {bound.unit}" in row, bound


def test_a_variable_raises_a_bound_and_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("title: " + "x" * 3_000_000)
    with pytest.raises(TooLarge, match=rf"{path}: 3,000,007 bytes, more than 2,000,000; set HARNESS_MAX_SPEC_BYTES"):
        load_document(path)
    monkeypatch.setenv("HARNESS_MAX_SPEC_BYTES", "4000000")
    assert len(str(load_document(path).data["title"])) == 3_000_000
    for wrong in ("-1", "0", "many", "9" * 5000, "1e9"):
        monkeypatch.setenv("HARNESS_MAX_SPEC_BYTES", wrong)
        with pytest.raises(HarnessError, match="HARNESS_MAX_SPEC_BYTES: a whole number above 0 is needed"):
            load_document(path)


# --- what is no file


@pytest.fixture(params=["zero", "pipe", "socket", "folder"])
def endless(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A path that leads to something else than a file."""
    path = tmp_path / "odd"
    if request.param == "zero":
        return Path("/dev/zero")
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "socket":
        socket.socket(socket.AF_UNIX).bind(str(path))
    else:
        path.mkdir()
    return path


ODD = r"is a folder|a folder, not a file|a folder; a CSV|is a (device|pipe|socket), not a file"


def test_a_spec_reads_nothing_but_files(endless: Path, make_project: Make) -> None:
    """What it extends, its table, its results, the profiles, itself: one line, at once, with file and line."""
    project = make_project(f"extends: {endless}\n" + SMALL_SPEC, where="extends")
    with pytest.raises(HarnessError, match=rf"cancer\.yaml:1: extends: .*({ODD})"):
        load_specs(project, [])
    project = make_project(SMALL_SPEC.replace("path: cancer.csv", f"path: {endless}"), where="table")
    with pytest.raises(HarnessError, match=ODD):
        make_plan(project, load_specs(project, [])[0].spec)
    with pytest.raises(HarnessError, match=rf"experiment\.path: .*({ODD})"):
        load_specs(make_project(RESULTS_SPEC.format(path=endless), where="results"), [])
    project = make_project(where="params")
    project.params.unlink()
    project.params.symlink_to(endless)
    with pytest.raises(HarnessError, match=ODD):
        load_params(project)
    with pytest.raises(HarnessError, match=ODD):
        load_document(endless)


@pytest.mark.parametrize("words", [("validate",), ("store", "gc")])
def test_a_command_does_not_wait_for_a_pipe(words: tuple[str, ...], make_project: Make) -> None:
    project = make_project("extends: pipe\n" + SMALL_SPEC)
    os.mkfifo(project.specs / "own" / "pipe")
    code, text = run_bounded(project.root, *words)
    assert code == 2
    assert re.fullmatch(r"harness: \S+cancer\.yaml:1: extends: \S+ is a pipe, not a file; name a regular file\n", text)


RESULTS_SPEC = """\
paper: own
title: Results from elsewhere
where: here
experiment: {{kind: table, path: {path}, format: summary, metrics: {{score: [0, 1]}}, repeats: 4}}
claims:
  - {{id: high, where: here, statement: It is high., expect: {{kind: compare, left: {{metric: score}}, relation: ">", right: 0.5}}}}
"""


def test_a_link_to_a_file_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "own").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "own")
    assert read_bytes(tmp_path / "link", SPEC_BYTES) == b"abc"


def test_a_file_that_grows_past_what_it_says_is_refused() -> None:
    """Files of the system say that they are empty."""
    small = bounds.Bound(10, "HARNESS_MAX_TEST", "bytes", "a test")
    with pytest.raises(TooLarge, match="has more than 10 bytes"):
        read_bytes(Path("/proc/cpuinfo"), small)
    with pytest.raises(NotAFile, match="/dev/null: is a device"):
        read_bytes(Path("/dev/null"), small)


# --- YAML


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("title: [" + "a," * 900_000 + "]\n", "more than 200,000 values"),
        ("title:\n" + "- a\n" * 400_000, "more than 200,000 values"),
        ("title:\n" + "- - a\n" * 300_000, "more than 200,000 values"),
        ("x: y\n" * 14_000_000, "70,000,000 bytes, more than 2,000,000"),
        ("seed: 0x" + "f" * 100_000, r":1: not valid YAML: a whole number of 100,000 digits"),
        ("seed: " + "9" * 100_000, r":1: not valid YAML: a whole number of 100,000 digits"),
        ("seed: -0b" + "1" * 1200, r":1: not valid YAML: a whole number of 1,200 digits"),
        ("seed: 0x" + "f" * 300, r":1: not valid YAML: a whole number of 300 digits; numbers from -1e308 to 1e308"),
    ],
    ids=["flow", "block", "nested", "bytes", "hexadecimal", "decimal", "binary", "beyond"],
)
def test_a_file_of_yaml_is_counted_before_it_is_built(text: str, line: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    began = time.perf_counter()
    with pytest.raises(HarnessError, match=line) as raised:
        load_document(path)
    assert "\n" not in str(raised.value)
    assert time.perf_counter() - began < 20  # 60 MB took 40 s and 2 GB


def test_two_long_files_are_merged_in_linear_time(tmp_path: Path) -> None:
    """60,000 fields over 60,000 others took a look at each of the others for each."""
    (tmp_path / "base.yaml").write_text("".join(f"a{i}: {{b: 1}}\n" for i in range(15_000)))
    (tmp_path / "x.yaml").write_text("extends: base.yaml\n" + "".join(f"a{i}: {{c: 2}}\n" for i in range(15_000)))
    began = time.perf_counter()
    document = load_document(tmp_path / "x.yaml")
    assert time.perf_counter() - began < 60
    assert document.data["a7"] == {"b": 1, "c": 2}
    assert [document.place(("a7", name)) for name in "bc"] == [
        (tmp_path / "base.yaml", 8),
        (tmp_path / "x.yaml", 9),
    ]


# --- counts


def axis(name: str, number: int) -> str:
    """An axis of so many values between 0 and 1, as a spec writes it."""
    return f"{{axis: {name}, values: [{', '.join(str((i + 1) / 1000) for i in range(number))}]}}"


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("repeats: 2", "repeats: 1000000000", r":\d+: experiment.repeats: 1,000,000,000 is more than 1,000,000"),
        ("epochs: 3", "epochs: 10000000", r"experiment.training.epochs: 10,000,000 is more than 1,000,000"),
        ("epochs: 3", "epochs: {axis: e, values: [1, 10000000]}", r"training.epochs.values.1: 10,000,000 is more"),
        ("{kind: logistic}", "{kind: mlp, hidden: [1000000000]}", r"experiment.model.hidden.0: 1,000,000,000 is more"),
        ("members: 120", "members: 1000000000000", r"experiment.sizes.members: 1,000,000,000,000 is more"),
        (
            "  repeats: 2",
            "  pools: {p: {count: 1000000}}\n  repeats: 2",
            r"pools.p.count: 1,000,000 is more than 100,000",
        ),
        (
            "learning_rate: 0.05, batch_size: 20",
            f"learning_rate: {axis('a', 300)}, momentum: {axis('b', 300)}, batch_size: 20",
            r":\d+: experiment: 540,000 places \(the product of what varies\), more than 100,000; set HARNESS_MAX_PLACES",
        ),
        (
            "    iid: {split: {kind: random}}\n",
            "    iid: {split: {kind: random}}\n" + "".join(f"    a{i}: {{extends: iid}}\n" for i in range(1500)),
            r"experiment.arms: 1,502 arms, more than 1,000",
        ),
    ],
    ids=["repeats", "epochs", "axis", "hidden", "members", "pool", "product", "arms"],
)
def test_a_count_that_nobody_runs_is_refused_where_it_stands(
    before: str, after: str, line: str, make_project: Make
) -> None:
    assert before in SMALL_SPEC
    project = make_project(SMALL_SPEC.replace(before, after))
    with pytest.raises(HarnessError, match=line) as raised:
        load_specs(project, [])
    assert "own/cancer.yaml:" in str(raised.value)


def test_counts_of_other_readings_and_of_profiles_are_bounded_too(make_project: Make) -> None:
    readings = (
        "ambiguities:\n  - {choice: how long, field: experiment.training.epochs, chosen: 3, alternatives: [2000000], "
        "why: it is not said}\n"
    )
    with pytest.raises(HarnessError, match=r"alternatives.0: 2,000,000 is more than 1,000,000, the bound of epochs"):
        load_specs(make_project(SMALL_SPEC + readings), [])
    project = make_project(where="profile")
    project.params.write_text(PARAMS + "  much: {repeats: 1, max_repeats: 10000000}\n")
    with pytest.raises(HarnessError, match=r"params.yaml:5: profiles.much.max_repeats: 10,000,000 is more than"):
        load_params(project)


def test_a_bound_of_counts_can_be_multiplied(make_project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(SMALL_SPEC.replace("epochs: 3", "epochs: 2000000"))
    monkeypatch.setenv("HARNESS_MAX_COUNTS", "2")
    assert load_specs(project, [])[0].spec.own_experiment is not None


def test_a_grid_of_a_formula_that_is_computed_is_bounded(make_project: Make) -> None:
    over = "{a: {low: 0, high: 1, points: 1000}, b: {low: 0, high: 1, points: 1000}}"
    claim = (
        "claims:\n  - id: much\n    where: here\n    statement: It holds.\n    expect: {kind: inequality, left: "
        "{formula: dp-hypothesis-testing, of: {epsilon: a, delta: b}}, relation: '<=', right: 2, over: " + over + "}\n"
    )
    text = "paper: own\ntitle: t\nwhere: w\n" + claim
    project = make_project(text)
    try:
        load_specs(project, [])
    except HarnessError as error:
        assert re.search(r"claims.0.expect: 1,000,000 places|formula", str(error)), error


def test_plan_and_gc_refuse_what_they_could_not_hold(make_project: Make) -> None:
    project = make_project(
        SMALL_SPEC.replace("repeats: 2", "repeats: 900000").replace("engine: tf-privacy", "engine: fast")
    )
    for words in (("plan",), ("store", "gc")):
        code, text = run_bounded(project.root, *words)
        assert code == 2
        assert re.search(
            r"pieces in [\d,]+ repeats, more than 1,000,000; set HARNESS_MAX_PIECES to raise the bound", text
        )


# --- what is compressed


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_what_unpacks_to_more_is_refused_while_it_is_counted(
    pack: Callable[[bytes], bytes], make_project: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As a table, as results, and as records of an audit. The bound is lowered; what is read past it is a block."""
    text = b"score,score_spread\n" + b"0.5,0.1\n" * 500_000
    (tmp_path / "x.csv").write_bytes(pack(text))
    monkeypatch.setenv(TABLE_BYTES.variable, "2000000")
    with pytest.raises(TooLarge, match="unpacks to more than 2,000,000 bytes; set HARNESS_MAX_TABLE_BYTES"):
        check_unpacked(tmp_path / "x.csv", TABLE_BYTES)
    with pytest.raises(HarnessError, match=r"experiment.path: .*unpacks to more than 2,000,000 bytes"):
        load_specs(make_project(RESULTS_SPEC.format(path=tmp_path / "x.csv"), where="results"), [])
    project = make_project(SMALL_SPEC.replace("path: cancer.csv", f"path: {tmp_path / 'x.csv'}"), where="table")
    with pytest.raises(HarnessError, match=r"unpacks to more than 2,000,000 bytes.* \(dataset csv, field path\)"):
        make_plan(project, load_specs(project, [])[0].spec)
    with pytest.raises(HarnessError, match=r"x\.csv: unpacks to more than 2,000,000 bytes"):
        read_rows([tmp_path / "x.csv"], "score", [])
    monkeypatch.delenv(TABLE_BYTES.variable)
    check_unpacked(tmp_path / "x.csv", TABLE_BYTES)


def test_damage_is_left_to_whoever_reads_it(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(b"abc" * 1000)[:30])
    check_unpacked(tmp_path / "x", TABLE_BYTES)


def parquet_of_one_value(path: Path, rows: int, length: int) -> None:
    """A table that says the same in each of its rows, a million or less at a time."""
    group = min(rows, 1_000_000)
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(group, np.int32)), pa.array(["x" * length]))
    table = pa.table({"score": column})
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(rows // group):
            writer.write_table(table, group)


def test_a_parquet_file_is_told_by_its_footer(tmp_path: Path, make_project: Make) -> None:
    path = tmp_path / "many.parquet"
    parquet_of_one_value(path, 51_000_000, 3)
    assert path.stat().st_size < 200_000
    with pytest.raises(TooLarge, match=r"51,000,000 cells \(rows x columns\), more than 50,000,000"):
        check_parquet(path)
    with pytest.raises(HarnessError, match=r"experiment.path: .*51,000,000 cells"):
        load_specs(make_project(RESULTS_SPEC.format(path=path)), [])


def test_a_long_value_that_a_dictionary_holds_once_is_counted_as_often_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    parquet_of_one_value(path, 5_000, 1_000_000)
    assert path.stat().st_size < 100_000
    with pytest.raises(TooLarge, match="5,000,000,000 bytes of text once it is unpacked, more than 1,000,000,000"):
        check_parquet(path)
    parquet_of_one_value(path, 100, 1_000_000)
    check_parquet(path)


# --- arrays


def npy(shape: str, body: bytes = b"\0" * 8) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (64 - (len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


def test_a_header_takes_no_memory_that_its_file_does_not_fill(tmp_path: Path) -> None:
    assert read_array(npy("(1,)")).tolist() == [0.0]
    for shape in ("(1000000000000,)", "(10**18,)", "(-1,)", "(0,)", "(2,)", "()", "(1, 100000000000000)"):
        if shape == "()":
            assert read_array(npy(shape)).shape == ()
            continue
        with pytest.raises(ValueError, match=r"an array of|Cannot parse header|header|malformed"):
            read_array(npy(shape))
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as member:
        for _ in range(200):
            member.write(b"\0" * 1_000_000)
    with zipfile.ZipFile(path) as archive, pytest.raises(ValueError, match="that unpack to 200,000,000 are no arrays"):
        check_members(archive, path.stat().st_size, "x")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (4,), (2, 3), (2, 3, 4)])
def test_an_array_is_read_as_numpy_reads_it(shape: tuple[int, ...], order: str, tmp_path: Path) -> None:
    for dtype in ("<f4", "<i8", "u1", "<U3", "bool"):
        array = np.asarray(np.arange(int(np.prod(shape))).reshape(shape), dtype=dtype, order=order)  # type: ignore[call-overload]
        np.save(tmp_path / "x.npy", array)
        read = read_array((tmp_path / "x.npy").read_bytes())
        expected = np.load(tmp_path / "x.npy")
        assert (read == expected).all()
        assert (read.dtype, read.shape) == (expected.dtype, expected.shape)
        assert not read.size or read.strides == expected.strides
        assert read.flags.writeable


# --- the end of memory and of the stack


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "out of memory"),
        (RecursionError("maximum depth"), "an input is nested too deeply (maximum depth)"),
    ],
)
def test_the_end_of_memory_is_one_line_and_not_the_exit_code_of_a_verdict(
    error: Exception, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> int:
        raise error

    monkeypatch.setattr(app, "app", fail)
    assert app._run_command() == 2
    text = capsys.readouterr().err
    assert text.startswith(f"harness: {line}")
    assert text.count("\n") == 1


def test_a_table_that_does_not_fit_into_memory_is_one_line(make_project: Make, tmp_path: Path) -> None:
    """A real one, of 4.5 million cells, where a command has little more memory than it needs to start."""
    path = tmp_path / "x.csv"
    path.write_bytes(b"score,score_spread,n\n" + b"0.512345,0.1,4\n" * 1_500_000)
    project = make_project(RESULTS_SPEC.format(path=path))
    code, text = run_bounded(project.root, "validate", memory=1_000_000_000)
    assert code == 2, text
    assert text.startswith("harness: out of memory")
    assert len(text.strip().splitlines()) == 1
