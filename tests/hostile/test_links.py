"""Links in the place of what commands write to: an archive or git brings them, and they lead to a user's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import run_cli
from tests.hostile.projects import build_neighbours, build_project


@pytest.mark.parametrize("name", [".harness", "data", "mlflow.db"])
def test_what_commands_write_to_is_no_link_out_of_the_project(name: str, tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    build_project(root)
    build_neighbours(outside)
    (outside / "other.db").touch()
    (root / name).symlink_to(outside / "other.db" if name == "mlflow.db" else outside)
    before = sorted(outside.rglob("*"))
    for command in (("judge",), ("data", "fetch"), ("store", "verify"), ("run",)):
        ran = run_cli(root, *command)
        assert ran.returncode == 2
        assert f"{root / name}: is a link that leads out of {root}" in ran.stderr
        assert "HARNESS_FOLLOW_LINKS=1 if you made it" in ran.stderr
    assert sorted(outside.rglob("*")) == before


def test_a_user_may_keep_them_on_another_disk(tmp_path: Path) -> None:
    root, disk = tmp_path / "project", tmp_path / "disk"
    build_project(root)
    disk.mkdir()
    (root / ".harness").symlink_to(disk)
    for command in (("run", "-q"), ("judge", "--brief")):
        ran = run_cli(root, *command, HARNESS_FOLLOW_LINKS="1")
        assert ran.returncode == 0, ran.stderr
    assert list(disk.rglob("*.json"))


@pytest.mark.parametrize(
    "name", [".harness/store", ".harness/store/train", ".harness/raw", ".harness/raw/adult", "data/adult"]
)
def test_no_folder_in_them_is_a_link_out_of_the_project(name: str, tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    build_project(root)
    build_neighbours(outside)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).symlink_to(outside)
    before = sorted(outside.rglob("*"))
    for command in (("data", "fetch", "adult"), ("store", "verify"), ("run",)):
        ran = run_cli(root, *command)
        assert ran.returncode == 2
        assert f"{root / name}: is a link that leads out of {root}" in ran.stderr
    assert sorted(outside.rglob("*")) == before


def test_files_may_be_links_to_a_cache(tmp_path: Path) -> None:
    """As DVC makes them. They are replaced, and not written through; so are folders that stay in the project."""
    root, cache = tmp_path / "project", tmp_path / "cache"
    build_project(root)
    build_neighbours(cache)
    (root / "data" / "adult").mkdir(parents=True)
    (root / "data" / "adult" / "table.parquet").symlink_to(cache / "secret.csv")
    (root / ".harness").mkdir()
    (root / "large").mkdir()
    (root / ".harness" / "store").symlink_to(root / "large")
    ran = run_cli(root, "store", "verify")
    assert ran.returncode == 0, ran.stderr
