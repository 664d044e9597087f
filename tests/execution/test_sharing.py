"""Stores that are shared: a directory, and a real S3 server on loopback."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from s3fs import S3FileSystem

from harness.errors import HarnessError
from harness.execution.sharing import Shared, Transfer, pull, push
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


@pytest.fixture(autouse=True)
def new_connections() -> None:
    """What s3fs keeps between tests would still ask another test's server."""
    S3FileSystem.clear_instance_cache()


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
        ("s3://no-such-bucket-here/x", "NoSuchBucket.*: The specified bucket does not exist"),
        ("s3://no-such-bucket-here", "404.*HeadBucket.*Not Found"),
    ],
)
@pytest.mark.parametrize("count", [0, 1])
def test_an_address_that_cannot_be_used_is_one_line(
    bad: str, what: str, count: int, tmp_path: Path, server: str
) -> None:
    """Also where there is nothing to copy: it does not look like an empty store."""
    for move in (push, pull):
        with pytest.raises(HarnessError, match=what) as raised:
            move(filled(tmp_path / "here", count), Shared(bad), QUIET)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("move", [push, pull])
def test_a_bucket_is_looked_for_where_a_folder_is_not_there(
    move: Callable[..., Transfer], tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some services answer for a bucket that does not exist as for an empty folder."""
    shared = Shared("s3://gone/x")

    def info(path: str) -> None:
        raise FileNotFoundError(path)

    monkeypatch.setattr(shared.files, "info", info)
    with pytest.raises(HarnessError, match="s3://gone/x: there is no bucket gone"):
        move(Store(tmp_path / "here"), shared, QUIET)


class Answers(BaseHTTPRequestHandler):
    """A server that says the same to whatever it is asked."""

    status, body = 200, b"<html></html>"

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(self.body)

    do_GET = do_HEAD = do_PUT = do_POST = answer

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering(status: int) -> Iterator[str]:
    """The address of a server that answers everything with this status."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), type("Of", (Answers,), {"status": status}))
    Thread(target=httpd.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()


@pytest.mark.parametrize("move", [push, pull])
@pytest.mark.parametrize("count", [0, 1])
def test_who_may_not_read_a_bucket_is_told_so(
    move: Callable[..., Transfer], count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    with answering(403) as there:
        monkeypatch.setenv("AWS_ENDPOINT_URL", there)
        with pytest.raises(HarnessError, match="s3://refused/x: cannot be used: PermissionError"):
            move(filled(tmp_path / "here", count), Shared("s3://refused/x"), QUIET)


@pytest.mark.parametrize("move", [push, pull])
def test_a_bucket_that_nothing_answers_for_is_told(
    move: Callable[..., Transfer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(HarnessError, match="s3://away/x: cannot be used: EndpointConnectionError"):
        move(Store(tmp_path / "here"), Shared("s3://away/x"), QUIET)


def test_a_place_that_does_not_keep_what_is_put_there_is_told(tmp_path: Path) -> None:
    """It accepts every piece, and lists none."""
    with answering(200) as there, pytest.raises(HarnessError, match="/x: 3 of 3 pieces are not there once copied"):
        push(filled(tmp_path / "here", 3), Shared(f"{there}/x"), QUIET)


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_web_server_that_refuses_is_no_empty_store(status: int, tmp_path: Path) -> None:
    with answering(status) as there, pytest.raises(HarnessError, match=rf"/x: cannot be used: .*{status}"):
        pull(Store(tmp_path / "here"), Shared(f"{there}/x"), QUIET)


def test_a_shared_folder_is_read_through_a_web_server(tmp_path: Path) -> None:
    here = filled(tmp_path / "web" / "shared", 3)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "web"))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=httpd.serve_forever, daemon=True).start()
    there = Store(tmp_path / "there")
    assert pull(there, Shared(f"http://127.0.0.1:{httpd.server_port}/shared"), QUIET).moved == 3
    httpd.shutdown()
    httpd.server_close()
    assert names(there) == names(here)


def test_a_folder_below_another_store_is_not_listed_with_it(tmp_path: Path) -> None:
    """Nor is a file that lies where no result would be looked for."""
    here = filled(tmp_path / "shared" / "copies" / "old", 2)
    key = min(names(here))
    stray = tmp_path / "shared" / "train" / "zz" / f"{key}.npz"
    stray.parent.mkdir(parents=True)
    stray.write_bytes(here.bytes("train", key))
    assert Shared(str(tmp_path / "shared")).list_results() == set()


def test_before_anything_leaves_it_is_said_what_that_is(make_project: Any, tmp_path: Path) -> None:
    project = make_project()
    filled(project.store, 2)
    told = run_cli(project.root, "store", "push", str(tmp_path / "shared"))
    assert told.returncode == 0, told.stderr
    assert told.stderr.startswith("harness: what is copied holds row numbers of members and non-members, each record's")
    assert told.stderr.count("log-probabilities") == 1
    assert "log-probabilities" not in run_cli(project.root, "store", "push", str(tmp_path / "shared"), "-q").stderr
    nowhere = run_cli(project.root, "store", "push", "nowhere://x/y")
    assert nowhere.returncode == 2


def test_what_is_damaged_here_is_pulled_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here, there = filled(tmp_path / "here", 4), filled(tmp_path / "there", 4)
    push(there, Shared(str(tmp_path / "shared")), QUIET)
    cut, foreign, whole, _ = sorted(names(here))
    here.path("train", cut).write_bytes(b"")
    shutil.copy(here.path("train", whole), here.path("train", foreign))
    transfer = pull(here, Shared(str(tmp_path / "shared")), QUIET)
    assert (transfer.moved, transfer.there) == (2, 2)
    assert all(here.get("train", key).digest == there.get("train", key).digest for key in names(there))
    assert capsys.readouterr().err == (
        f"harness: warning: train/{foreign} is damaged (its description belongs to another name); it is pulled anew\n"
    )


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
