"""Addresses are shown without what is secret in them, wherever they come up."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import requests

from harness.addresses import hide_secrets
from harness.data.download import download
from harness.errors import HarnessError
from harness.progress import Progress
from tests.conftest import run_cli


@pytest.mark.parametrize(
    ("text", "printable"),
    [
        ("http://bob:SECRET@host:5000/api?x=SECRET: no", "http://host:5000/api?… no"),
        ("http://SECRET@host/x", "http://host/x"),
        ("sftp://bob:SEC/R?E#T@host/x", "sftp://host/x"),
        ("http://bob:p@SECRET@host/", "http://host/"),
        ("http://bob:SECR", "http://bob:…"),
        ("simplecache::s3://key:SECRET@bucket/folder", "simplecache::s3://bucket/folder"),
        ("https://host/file?X-Signature=SECRET&b=SECRET", "https://host/file?…"),
        ("https://host/#access_token=SECRET", "https://host/#…"),
        ("retries exceeded with url: /api/2.0?token=SECRET (Caused", "retries exceeded with url: /api/2.0?… (Caused"),
        ("two: http://a:SECRET@b and http://c:SECRET@d/e", "two: http://b and http://d/e"),
        ("postgresql://u:SECRET@host:5432/db", "postgresql://host:5432/db"),
    ],
)
def test_secrets_are_hidden(text: str, printable: str) -> None:
    assert hide_secrets(text) == printable


@pytest.mark.parametrize(
    "text",
    [
        *("s3://bucket/folder", "tcp://node1:8786 does not answer", "http://host:5000, and more", "http://[::1]:80/x"),
        *("http://[2001:db8::1]:80/", "sqlite:////home/x/mlflow.db", "https://github.com/@user", "why? a=b", "a@b.org"),
    ],
)
def test_what_has_none_stays(text: str) -> None:
    assert hide_secrets(text) == text


@pytest.fixture
def port() -> int:
    """One at which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.parametrize("command", ["store pull", "store push"])
@pytest.mark.parametrize(
    "address", ["http://bob:SECRET@127.0.0.1:{port}/x?key=SECRET", "nosuch://bob:SECRET@host/x", "s3:bob:SECRET@host/x"]
)
def test_a_shared_store_that_cannot_be_used(command: str, address: str, port: int, tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "params.yaml").write_text("profile: a\nprofiles: {a: {}}\n")
    for more in ([], ["--json"], ["--no-such-option"]):
        ran = run_cli(tmp_path, *command.split(), address.format(port=port), *more, HARNESS_TRACEBACK="1")
        assert "SECRET" not in ran.stdout + ran.stderr
        if "nosuch" in address:
            assert ran.returncode == 2
    ran = run_cli(tmp_path, *command.split(), address.format(port=port), "-q", "--spec", "http://bob:SECRET@host")
    assert "SECRET" not in ran.stdout + ran.stderr


def test_a_download_that_fails(port: int, tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as raised:
        download(f"http://bob:SECRET@127.0.0.1:{port}/x?key=SECRET", tmp_path / "x", None, Progress(quiet=True))
    assert "SECRET" not in str(raised.value)
    assert f"http://127.0.0.1:{port}/x" in str(raised.value)


def test_a_tracking_server_that_fails(
    port: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where its client puts the address into the error, and the line is cut behind it."""
    from harness import tracking
    from harness.paths import Project

    address = f"http://bob:{'SECRET' * 30}@127.0.0.1:{port}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    answers = [requests.ConnectionError(address), ValueError(f"API request to {address}/api/2.0?t=SECRET failed")]
    for error in answers:

        def fail(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(tracking, "_try_writing", fail)
        assert tracking.log_run(Project(tmp_path), None, "", None, None, Progress(quiet=True)) is None  # type: ignore[arg-type]
    text = capsys.readouterr().err
    assert text.count("MLflow: not logged") == 2
    assert "SECRET" not in text


def test_a_scheduler_that_does_not_answer(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.extensions.cluster import dask_cluster as cluster
    from harness.paths import Project

    monkeypatch.setattr(cluster, "CONNECT_TIMEOUT_S", 1)
    with pytest.raises(HarnessError) as raised:
        cluster.DaskCluster(Project(tmp_path), f"tcp://bob:SECRET@127.0.0.1:{port}", Progress(quiet=True))
    assert "SECRET" not in str(raised.value)


def test_progress_and_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress.warn("http://bob:SECRET@host is slow")
    progress.say("http://bob:SECRET@host is there")
    assert capsys.readouterr().err == "harness: warning: http://host is slow\nhttp://host is there\n"
