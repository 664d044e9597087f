"""Stores that are shared: a directory, and a real S3 server on loopback."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.errors import HarnessError
from harness.execution.sharing import Shared, pull, push
from harness.execution.store import Result, Store
from harness.hashing import digest_arrays, fingerprint
from harness.progress import Progress
from tests.conftest import run_cli

QUIET = Progress(quiet=True)


def filled(root: Path, count: int = 12, first: int = 0) -> Store:
    store = Store(root)
    for i in range(first, first + count):
        arrays = {"w0": np.full(100, float(i))}
        description = {"index": i}
        meta = {"description": description, "needs": [], "arrays_sha256": digest_arrays(arrays)}
        store.put("train", fingerprint(["train", description, []]), Result(arrays, meta))
    return store


def names(store: Store) -> set[str]:
    return {key for key, _ in store.files("train")}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A bucket of an S3 server on loopback."""
    import boto3
    from moto.server import ThreadedMotoServer

    result = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    result.start()
    host, port = result.get_host_and_port()
    before = dict(os.environ)
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
    }
    boto3.client("s3").create_bucket(Bucket="shared")
    yield "s3://shared/store"
    result.stop()
    os.environ.clear()
    os.environ |= before


@pytest.fixture(params=["directory", "s3"])
def address(request: Any, tmp_path: Path) -> str:
    if request.param == "directory":
        return str(tmp_path / "shared")
    return f"{request.getfixturevalue('server')}/{tmp_path.name}"


def test_what_was_pushed_can_be_pulled(address: str, tmp_path: Path) -> None:
    here, there = filled(tmp_path / "here"), Store(tmp_path / "there")
    first = push(here, Shared(address), QUIET)
    assert (first.moved, first.there, first.faults) == (12, 0, [])
    again = push(here, Shared(address), QUIET)
    assert (again.moved, again.there) == (0, 12)
    one = sorted(names(here))[0]
    part = pull(there, Shared(address), QUIET, {("train", one)})
    assert (part.moved, names(there)) == (1, {one})
    rest = pull(there, Shared(address), QUIET)
    assert (rest.moved, rest.there) == (11, 1)
    assert rest.bytes > 11 * 800
    for key in names(here):
        assert there.get("train", key).digest == here.get("train", key).digest


def test_writers_do_not_disturb_each_other(address: str, tmp_path: Path) -> None:
    stores = [filled(tmp_path / str(i), 20, 10 * i) for i in range(4)]  # each shares half with the next
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda store: push(store, Shared(address), QUIET), stores))
    assert all(not result.faults for result in done)
    everything = Store(tmp_path / "all")
    assert pull(everything, Shared(address), QUIET).moved == 50
    assert names(everything) == set().union(*map(names, stores))


def test_damage_is_not_passed_on(address: str, tmp_path: Path) -> None:
    here, shared = filled(tmp_path / "here", 3), Shared(address)
    broken, foreign, whole = sorted(names(here))
    here.path("train", broken).write_bytes(b"not a result")
    sent = push(here, shared, QUIET)
    assert [(key, fault) for _, key, fault in sent.faults] == [(broken, "cannot be read whole")]
    assert sent.moved == 2
    shared.put("train", foreign, here.bytes("train", whole))
    shared.put("train", broken, here.bytes("train", whole)[:200])
    there = Store(tmp_path / "there")
    got = pull(there, shared, QUIET)
    assert {key: fault for _, key, fault in got.faults} == {
        broken: "cannot be read whole",
        foreign: "its description belongs to another name",
    }
    assert names(there) == {whole}


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("nowhere://bucket", "Protocol not known"),
        ("/proc/version/store", "NotADirectoryError"),
        ("s3://no-such-bucket-here/x", "cannot be used"),
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(bad: str, what: str, tmp_path: Path, server: str) -> None:
    with pytest.raises(HarnessError, match=what) as raised:
        push(filled(tmp_path / "here", 1), Shared(bad), QUIET)
    assert "\n" not in str(raised.value)


def test_a_run_elsewhere_takes_what_was_pulled(make_project: Any, tmp_path: Path, server: str) -> None:
    """By the commands: a second checkout that pulls a spec's pieces computes none."""
    project = make_project()
    assert run_cli(project.root, "run", "--quiet").returncode == 0
    sent = run_cli(project.root, "store", "push", f"{server}/runs", "--json", "--quiet")
    assert sent.returncode == 0, sent.stderr
    assert json.loads(sent.stdout)["pushed"] > 20
    other = make_project(where="other")
    got = run_cli(other.root, "store", "pull", f"{server}/runs", "--spec", "own/cancer", "--json", "--quiet")
    assert got.returncode == 0, got.stderr
    assert json.loads(got.stdout)["pulled"] > 20
    plan = run_cli(other.root, "plan", "--json")
    assert [row["missing"] for row in json.loads(plan.stdout)["specs"]] == [0]
    assert run_cli(other.root, "store", "pull", "nowhere://x").returncode == 2
