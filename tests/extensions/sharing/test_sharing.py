"""Stores that are shared: a directory, and a real S3 server on loopback."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
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
from harness.execution.store import NOTICE, NOTICE_TEXT, Result, Store
from harness.extensions.sharing.store_key import NO_TAG, WRONG_TAG, StoreKey
from harness.extensions.sharing.transfer import Shared, Transfer, pull, push
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
    assert Shared(str(tmp_path / "shared")).list_results().sizes == {}


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
    assert len(nowhere.stderr.splitlines()) == 1


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


# --- whoever can write to a shared store


def forged(kind: str = "train", index: int = 0, **more: Any) -> tuple[str, Result]:
    """The result of a piece as somebody makes it up: its description is right, its arrays are any."""
    description = {"index": index}
    meta = {"description": description, "needs": [], **more}
    return fingerprint([kind, description, []]), Result({"w0": np.full(100, 6.66)}, meta)


def put_unchecked(shared: Path, kind: str, key: str, result: Result, name: str = "") -> None:
    """Write an object as an attacker does, wherever that is."""
    meta = np.frombuffer(json.dumps(result.meta).encode(), dtype=np.uint8)
    path = shared / kind / key[:2] / (name or f"{key}.npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        np.savez(stream, __meta__=meta, **result.arrays)


def test_a_result_without_the_hash_of_its_arrays_is_not_taken(tmp_path: Path) -> None:
    key, result = forged()
    put_unchecked(tmp_path / "shared", "train", key, result)
    there = Store(tmp_path / "there")
    transfer = pull(there, Shared(str(tmp_path / "shared")), QUIET)
    assert transfer.faults == [("train", key, "it has no hash of its arrays (arrays_sha256)")]
    assert names(there) == set()


def test_a_result_is_compared_with_the_kind_that_it_is_asked_for(tmp_path: Path) -> None:
    """A model under `split`, a split under `train`, and calibrated noise with arrays or without noise."""
    arrays = {"w0": np.full(3, 1.0)}
    of_train = {"description": {"index": 0}, "needs": [], "arrays_sha256": digest_arrays(arrays)}
    put_unchecked(tmp_path / "shared", "split", fingerprint(["train", {"index": 0}, []]), Result(arrays, of_train))
    noise = fingerprint({"epsilon": 1})
    put_unchecked(tmp_path / "shared", "noise", noise, Result({}, {"description": {"epsilon": 1}}))
    other = fingerprint({"epsilon": 2})
    told = {"description": {"epsilon": 2}, "noise_multiplier": 1.5}
    put_unchecked(tmp_path / "shared", "noise", other, Result(arrays, told))
    transfer = pull(Store(tmp_path / "there"), Shared(str(tmp_path / "shared")), QUIET)
    assert {(kind, fault) for kind, _, fault in transfer.faults} == {
        ("split", "its description belongs to another name"),
        ("noise", "it has no noise multiplier"),
        ("noise", "it holds arrays, of which it has none"),
    }


@pytest.mark.parametrize("kind", ["..", "index", "", "other", "tr\x1b[2Jain", "train\n"])
def test_nothing_is_written_outside_of_the_kinds_of_results(kind: str, tmp_path: Path) -> None:
    key, result = forged(kind, arrays_sha256=digest_arrays({"w0": np.full(100, 6.66)}))
    shared, store = tmp_path / "above" / "shared", Store(tmp_path / "deep" / "there")
    put_unchecked(shared, kind, key, result)
    transfer = pull(store, Shared(str(shared)), QUIET)
    assert (transfer.moved, transfer.faults) == (0, [])
    with pytest.raises(HarnessError, match="no name of a result") as raised:
        store.put(kind, key, result)
    assert str(raised.value).isprintable()
    with pytest.raises(HarnessError, match="no name of a result"):
        Shared(str(shared)).get(kind, key)
    assert not (tmp_path / "deep").exists()


@pytest.mark.parametrize("key", ["../" * 3 + "x", "AB" * 32, "ab" * 31, "ab" * 32 + "\n", "a" * 63 + "/"])
def test_a_key_is_a_hash(key: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="no name of a result"):
        Store(tmp_path).path("train", key)


def test_a_store_that_unpacks_to_more_or_is_nested_ends_no_pull(tmp_path: Path) -> None:
    """Deflated zeros, a record of 100,000 brackets and one just as deep as it can be read: each is one line."""
    here = filled(tmp_path / "shared", 1)
    bomb, deep, deeper = (fingerprint(["train", {"index": i}, []]) for i in (7, 8, 9))
    nested = here.root / "train" / bomb[:2]
    nested.mkdir(parents=True, exist_ok=True)
    with (
        zipfile.ZipFile(nested / f"{bomb}.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("w0.npy", "w") as member,
    ):
        for _ in range(300):
            member.write(b"\0" * 1_000_000)
    for key, depth in ((deep, 100_000), (deeper, 900)):
        record = f'{{"description": {"[" * depth}{"]" * depth}, "needs": []}}'.encode()
        path = here.root / "train" / key[:2] / f"{key}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            np.savez(stream, __meta__=np.frombuffer(record, np.uint8))
    there = Store(tmp_path / "there")
    transfer = pull(there, Shared(str(tmp_path / "shared")), QUIET)
    assert transfer.moved == 1
    assert sorted(key for _, key, _ in transfer.faults) == sorted([bomb, deep, deeper])
    assert there.faults_of_records("train", [bomb]) == [("train", bomb, "is not in the store")]
    assert {fault for *_, fault in here.faults_of_records("train", [deep, deeper])} <= {
        "cannot be read whole",
        "its description belongs to another name",
    }


def test_an_object_larger_than_its_bound_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path / "shared", 2)
    monkeypatch.setenv("HARNESS_MAX_UNPACKED_BYTES", "100")
    shared = Shared(str(tmp_path / "shared"))
    monkeypatch.setattr(shared, "get", lambda *_: pytest.fail("it was fetched"))
    transfer = pull(Store(tmp_path / "there"), shared, QUIET)
    assert len(transfer.faults) == 2
    assert "set HARNESS_MAX_UNPACKED_BYTES to raise the bound" in transfer.faults[0][2]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_web_server_that_cannot_be_reached_is_no_empty_store(scheme: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"cannot be used|lists no result"):
        pull(Store(tmp_path / "here"), Shared(f"{scheme}://127.0.0.1:9/x"), QUIET)


@pytest.mark.parametrize("cache", ["simplecache", "filecache", "blockcache"])
def test_a_web_address_takes_no_cache_which_an_endless_answer_would_fill(cache: str) -> None:
    with pytest.raises(HarnessError, match=r"takes no cache before it; right is http://127\.0\.0\.1:9/x$"):
        Shared(f"{cache}::http://127.0.0.1:9/x")


def test_a_web_page_that_lists_nothing_is_no_empty_store(tmp_path: Path) -> None:
    with answering(200) as there, pytest.raises(HarnessError, match="/x: lists no result; right is the address of"):
        pull(Store(tmp_path / "here"), Shared(f"{there}/x"), QUIET)


@contextmanager
def endless(page: str) -> Iterator[str]:
    """A web server that lists one result, and whose listing or result has no end, whatever it says of the size."""
    key = fingerprint(["train", {"index": 0}, []])
    sent = [0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", "100")
            self.end_headers()

        def do_GET(self) -> None:
            parts = ["x", "train", key[:2], f"{key}.npz"]
            depth = len([one for one in self.path.split("/") if one])
            is_listing = depth < len(parts)
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if is_listing else "application/zip")
            if is_listing and page == "result":
                body = f'<a href="{parts[depth]}{"/" if depth < 3 else ""}">x</a>'.encode()
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                while sent[0] < 300_000_000:
                    self.wfile.write(b"186a0\r\n" + b" " * 100_000 + b"\r\n")
                    sent[0] += 100_000
            except OSError:
                pass
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}/x"
    httpd.shutdown()
    httpd.server_close()
    assert sent[0] < 250_000_000


@pytest.mark.parametrize("page", ["listing", "result"])
def test_an_answer_without_an_end_is_left_at_the_bound(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_MAX_UNPACKED_BYTES", "2000000")
    with endless(page) as there, pytest.raises(HarnessError, match="more than 2,000,000 bytes; set HARNESS_MAX_UNPACK"):
        pull(Store(tmp_path / "here"), Shared(there), QUIET)


def test_a_store_that_was_pulled_or_pushed_says_what_it_holds(address: str, tmp_path: Path) -> None:
    """As one that a run fills does."""
    push(filled(tmp_path / "here", 1), Shared(address), QUIET)
    shared = Shared(address)
    assert shared.files.cat_file(f"{shared.root}/{NOTICE}") == NOTICE_TEXT.encode()
    there = Store(tmp_path / "there")
    pull(there, Shared(address), QUIET)
    assert (there.root / NOTICE).read_text() == NOTICE_TEXT


# --- the key of a shared store

SECRET, OTHER = StoreKey(b"a key of a group of people"), StoreKey(b"a key of some other people")


def test_with_a_key_nothing_is_taken_without_its_tag(address: str, tmp_path: Path) -> None:
    """Of a result that lacks one, of one that another key made, and of one put in the place of another."""
    shared = Shared(address)
    push(filled(tmp_path / "ours", 4), shared, QUIET, None, SECRET)
    push(filled(tmp_path / "others", 2, first=10), shared, QUIET, None, OTHER)
    push(filled(tmp_path / "unkeyed", 3, first=20), shared, QUIET)
    first, second, *_ = sorted(names(Store(tmp_path / "ours")))
    forged_key, result = forged(index=30, arrays_sha256=digest_arrays({"w0": np.full(100, 6.66)}))
    made_up = Store(tmp_path / "made-up")
    made_up.put("train", forged_key, result)
    shared.put("train", forged_key, made_up.bytes("train", forged_key))
    shared.put_tag("train", forged_key, shared.tag("train", first))  # a tag that is right, of another result
    there = Store(tmp_path / "there")
    transfer = pull(there, shared, QUIET, None, SECRET)
    assert names(there) == names(Store(tmp_path / "ours"))
    faults = [fault for *_, fault in transfer.faults]
    assert (faults.count(NO_TAG), faults.count(WRONG_TAG)) == (3, 3)
    assert second in names(there)
    everything = Store(tmp_path / "everything")
    assert pull(everything, shared, QUIET).moved == 10  # without a key as ever


def test_a_result_that_is_changed_does_not_fit_its_tag(tmp_path: Path) -> None:
    shared = Shared(str(tmp_path / "shared"))
    push(filled(tmp_path / "ours", 1), shared, QUIET, None, SECRET)
    key, result = forged(arrays_sha256=digest_arrays({"w0": np.full(100, 6.66)}))
    put_unchecked(tmp_path / "shared", "train", key, result)
    assert pull(Store(tmp_path / "unkeyed"), shared, QUIET).moved == 1
    assert pull(Store(tmp_path / "keyed"), shared, QUIET, None, SECRET).faults == [("train", key, WRONG_TAG)]


def test_what_lay_there_without_a_tag_is_pushed_anew_with_one(tmp_path: Path) -> None:
    shared, here = Shared(str(tmp_path / "shared")), filled(tmp_path / "here", 3)
    push(here, shared, QUIET)
    assert push(here, shared, QUIET, None, SECRET).moved == 3
    assert push(here, shared, QUIET, None, SECRET).moved == 0
    assert pull(Store(tmp_path / "there"), shared, QUIET, None, SECRET).moved == 3


def test_the_commands_take_the_key_from_the_environment_and_never_print_it(make_project: Any, tmp_path: Path) -> None:
    project, shared = make_project(), tmp_path / "shared"
    filled(project.store, 3)
    key = "0123456789abcdef-secret"
    file = tmp_path / "key"
    file.write_text(f"{key}\n")
    sent = run_cli(project.root, "store", "push", str(shared), "-q", HARNESS_STORE_KEY=key)
    assert sent.returncode == 0, sent.stderr
    other = make_project(where="other")
    filled(shared, 2, first=5)
    got = run_cli(other.root, "store", "pull", str(shared), "-q", HARNESS_STORE_KEY_FILE=str(file))
    assert got.returncode == 1
    assert got.stdout.splitlines()[0] == (
        "refused by the key (HARNESS_STORE_KEY): 2 pieces without a tag, 0 with a wrong one"
    )
    assert "3 pieces pulled" in got.stdout
    short = run_cli(other.root, "store", "pull", str(shared), "-q", HARNESS_STORE_KEY="short-secret")
    both = run_cli(other.root, "store", "pull", str(shared), HARNESS_STORE_KEY=key, HARNESS_STORE_KEY_FILE=str(file))
    none = run_cli(other.root, "store", "pull", str(shared), HARNESS_STORE_KEY_FILE=str(tmp_path / "none"))
    assert [one.returncode for one in (short, both, none)] == [2, 2, 2]
    assert "fewer than 16 bytes" in short.stderr
    assert "both are set" in both.stderr
    assert "cannot be read: No such file" in none.stderr
    for one in (sent, got, short, both, none):
        assert "secret" not in one.stdout + one.stderr.replace("secrets.token_hex", "").replace("import secrets", "")
    assert "secret" not in repr(StoreKey(key.encode()))
