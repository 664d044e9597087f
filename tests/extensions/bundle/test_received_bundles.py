"""Bundles of a stranger's: judged by the installed code, whatever the archive brings and is."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.conftest import REPO, run_cli

SPEC = """\
paper: nobody2024
title: Results of nobody
where: Table 1
experiment: {kind: table, path: PATH, format: wide, columns: {repeat: seed}, metrics: {accuracy: [0, 1]}}
claims:
  - {id: good, where: README, statement: It is good., expect: {kind: compare, left: {metric: accuracy}, relation: ">", right: {value: 0.8}}}
"""
RECORDED = "reports/mine/good/verdicts.json"
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two bundles: `profile.zip`, of a spec below specs/, and `own.zip`, of one beside it."""
    root = tmp_path_factory.mktemp("made")
    (root / "specs").mkdir()
    (root / "specs" / "good.yaml").write_text(SPEC.replace("PATH", "../results.csv"))
    (root / "mine.yaml").write_text(SPEC.replace("PATH", "results.csv"))
    (root / "params.yaml").write_text("profile: mine\nprofiles: {mine: {}}\n")
    (root / "results.csv").write_text("seed,accuracy\n" + "".join(f"{seed},0.9{seed}\n" for seed in range(8)))
    for spec, name in (("good", "profile.zip"), ("mine.yaml", "own.zip")):
        assert run_cli(root, "judge", "-q", spec).returncode == 0
        ran = run_cli(root, "bundle", f"{spec}#good", "-o", name)
        assert ran.returncode == 0, ran.stderr
    return root


@pytest.fixture(scope="module")
def content(made: Path) -> Mapping[str, bytes]:
    """Files of `profile.zip`."""
    with zipfile.ZipFile(made / "profile.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def pack(folder: Path, files: Mapping[str, bytes]) -> Path:
    """An archive of these files."""
    with zipfile.ZipFile(folder / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return folder / "x.zip"


def test_a_bundle_is_judged_by_the_installed_code(made: Path, tmp_path: Path) -> None:
    for name in ("profile.zip", "own.zip"):
        ran = run_cli(tmp_path, "judge", "-q", "--bundle", str(made / name))
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "no code of the archive was run" in ran.stdout
        assert "files, all as installed" in ran.stdout
        assert "1 claims judged, as in the bundle" in ran.stdout
        assert "not known: whether the numbers in results.csv were measured as the spec says" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_of_this_repository_too(tmp_path: Path) -> None:
    """A spec on measurements, with what it extends, its other claims and the lock file."""
    packed = tmp_path / "cap.zip"
    claim = "humphries2020/fig6#logloss-cap"
    assert run_cli(REPO, "bundle", claim, "-p", "sequential", "-o", str(packed)).returncode == 0
    ran = run_cli(tmp_path, "judge", "-q", "--bundle", str(packed), "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = json.loads(ran.stdout)
    assert told["differences"] == [], told["differences"]
    assert told["code"]["other"] == told["code"]["only_in_bundle"] == told["code"]["only_installed"] == []
    assert claim in {one["id"] for one in told["verdicts"]}


@pytest.mark.integration
def test_nothing_of_the_archive_is_run(content: Mapping[str, bytes], tmp_path: Path) -> None:
    """Neither its harness, nor plug-ins, nor what passes for a module; unpacked, the README's other way runs it."""
    trap = f"open({str(tmp_path / 'RAN')!r}, 'a').write('ran ')\n".encode()
    modules = ("json", "selectors", "numpy", "sitecustomize", "usercustomize", "conftest", "setup")
    files = {name: trap + data if name.endswith(".py") else data for name, data in content.items()}
    files |= {f"{name}.py": trap for name in modules} | {"plugins/mine.py": trap, "harness/new.py": trap}
    files |= {"plugins/mine-1.dist-info/entry_points.txt": b"[harness.plugins]\nmine = mine\n", "x.pth": b"import mine"}
    packed = pack(tmp_path, files)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HARNESS_", "PYTHON"))}
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "harness", "judge", "-q", "--bundle", str(packed)],
        cwd=tmp_path, env={**env, "PYTHONPATH": str(REPO)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not (tmp_path / "RAN").exists()
    assert ran.returncode == 0, ran.stderr
    assert "files that differ from the installed ones: harness/__init__.py, " in ran.stdout
    assert "1 files that the installed harness does not have: harness/new.py" in ran.stdout
    assert "not known: programs, none of which is run: conftest.py, " in ran.stdout
    zipfile.ZipFile(packed).extractall(tmp_path / "there")
    subprocess.run(
        [sys.executable, "-m", "harness", "--version"], cwd=tmp_path / "there", env=env, capture_output=True, check=False
    )  # fmt: skip
    assert (tmp_path / "RAN").exists(), "so that the traps work"


def forged(change: Callable[[Files], None]) -> Callable[[Mapping[str, bytes]], Files]:
    def forge(content: Mapping[str, bytes]) -> Files:
        files = dict(content)
        change(files)
        return files

    return forge


def replaced(name: str, old: bytes, new: bytes) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        assert old in files[name]
        files[name] = files[name].replace(old, new)

    return change


def both_verdicts(old: bytes, new: bytes) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        for name in (RECORDED, "verdict.json"):
            replaced(name, old, new)(files)

    return change


FORGED = {
    "another verdict": (both_verdicts(b'"reproduced"', b'"violated"'), "good#good: violated in the bundle, reproduced found"),
    "another verdict in one of two files": (replaced("verdict.json", b'"reproduced"', b'"violated"'), "verdict.json is not what"),
    "other results": (replaced("results.csv", b"0.90", b"0.10"), "in the bundle, inconclusive found"),
    "another claim": (replaced("specs/good.yaml", b"value: 0.8", b"value: 0.99"), "reproduced in the bundle, violated found"),
    "a field that no comparison of verdicts looks at": (both_verdicts(b"It is good.", b"It is very good."), "good#good: in the bundle it has another statement"),
    "a claim that the spec does not have": (replaced(RECORDED, b'"id": "good#good"', b'"id": "good#best"'), "good#best: the claim is gone"),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_what_is_forged_differs(what: str, content: Mapping[str, bytes], tmp_path: Path) -> None:
    change, message = FORGED[what]
    ran = run_cli(tmp_path, "judge", "-q", "--bundle", str(pack(tmp_path, forged(change)(content))))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert message in ran.stdout


def test_other_code_is_named_and_a_verdict_can_be_required(content: Mapping[str, bytes], tmp_path: Path) -> None:
    """With other code the words that it writes may differ; the verdict may not."""
    files = dict(content)
    files["harness/claims/combine.py"] += b"\n# other\n"
    del files["harness/claims/kinds/__init__.py"]
    both_verdicts(b"It is good.", b"It is very good.")(files)
    packed = str(pack(tmp_path, files))
    ran = run_cli(tmp_path, "judge", "-q", "--bundle", packed)
    assert ran.returncode == 0, ran.stdout
    assert "not known: why good#good: in the bundle it has another statement; another version" in ran.stdout
    assert "1 files that differ from the installed ones: harness/claims/combine.py" in ran.stdout
    assert "1 files of the installed harness that it lacks: harness/claims/kinds/__init__.py" in ran.stdout
    assert run_cli(tmp_path, "judge", "-q", "--bundle", packed, "--require", "violated").returncode == 1


def test_plug_ins_and_versions_that_are_not_here_are_named(content: Mapping[str, bytes], tmp_path: Path) -> None:
    files = dict(content)
    installed = json.loads(files["installed.json"])
    installed["plugins"] = [{"package": "theirs", "version": "1\x1b[2J", "sha256": "0"}, "x", {"package": 3}]
    files["installed.json"] = json.dumps(installed).encode()
    replaced("requirements.installed.txt", b"numpy==", b"numpy==0.0.1+")(files)
    ran = run_cli(tmp_path, "judge", "-q", "--bundle", str(pack(tmp_path, files)))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert r"plug-ins of 'theirs' '1\x1b[2J': the package is not installed here; its code is not run" in ran.stdout
    assert "packages of other versions: numpy 0.0.1+" in ran.stdout
    replaced("specs/good.yaml", b"title:", b"attacks: {a: {kind: theirs}}\ntitle:")(files)
    ran = run_cli(tmp_path, "judge", "-q", "--bundle", str(pack(tmp_path, files)))
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)


def member(name: str, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


NAMES = {
    **{name: member(name) for name in ("../out", "/out", "a/../../out", "a//b", "C:/out", "a\\..\\out", "./a", "a\x1b[2J", "a.")},
    "a link": member("link", stat.S_IFLNK | 0o777),
    "a pipe": member("pipe", stat.S_IFIFO | 0o644),
    "a device": member("device", stat.S_IFCHR | 0o644),
    "a file twice": member("params.yaml"),
    "a file in another case": member("Params.yaml"),
    "a file in a file": member("params.yaml/x"),
}  # fmt: skip


@pytest.mark.parametrize("what", NAMES)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_are_unpacked_only_where_their_names_are_safe(
    what: str, content: Mapping[str, bytes], tmp_path: Path
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    packed = pack(tmp_path, content)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr(NAMES[what], "/etc/passwd")
    ran = run_cli(here, "judge", "-q", "--bundle", str(packed))
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), ran.stdout + ran.stderr
    assert "x.zip: " in ran.stderr
    assert "\x1b" not in ran.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"here", "x.zip"}
    assert list(here.iterdir()) == []


def tar_bytes() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("params.yaml"))
    return stream.getvalue()


def test_what_is_no_bundle_is_one_line(made: Path, content: Mapping[str, bytes], tmp_path: Path) -> None:
    damaged = bytearray((made / "profile.zip").read_bytes())
    damaged[3000:3100] = b"x" * 100
    without = {name: {k: v for k, v in content.items() if k != name} for name in ("params.yaml", "verdict.json", RECORDED, "specs/good.yaml")}  # fmt: skip
    twice = {**content, "reports/other/good/verdicts.json": content[RECORDED]}
    cases = [
        (tar_bytes(), "not a readable ZIP archive"),
        (b"", "not a readable ZIP archive"),
        (bytes(damaged), "not a readable ZIP archive"),
        (without["params.yaml"], "no params.yaml in it"),
        (without["verdict.json"], "no verdict.json in it"),
        (without[RECORDED], "0 files reports/PROFILE/SPEC/verdicts.json in it"),
        (without["specs/good.yaml"], "no specs/good.yaml in it"),
        (twice, "2 files reports/PROFILE/SPEC/verdicts.json in it"),
        ({**content, RECORDED: b"{}"}, "reports/mine/good/verdicts.json: not a verdict"),
        ({**content, "verdict.json": b"[" * 100_000}, "verdict.json: not a verdict"),
        ({**content, "specs/good.yaml": b"paper: ["}, "specs/good.yaml:2: not valid YAML"),
        ({**content, "params.yaml": b"profile: x\nprofiles: {x: {}}\n"}, "mine"),
    ]
    for data, message in cases:
        packed = tmp_path / "x.zip"
        if isinstance(data, bytes):
            packed.write_bytes(data)
        else:
            pack(tmp_path, data)
        ran = run_cli(tmp_path, "judge", "-q", "--bundle", str(packed))
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), (message, ran.stderr)
        assert ran.stderr.startswith(f"harness: {packed}: ")
        assert message in ran.stderr
        assert "harness-bundle-" not in ran.stderr, "the folder it was unpacked to is gone"
    assert run_cli(tmp_path, "judge", "--bundle", "none.zip").returncode == 2
    ran = run_cli(tmp_path, "judge", "own/x", "--bundle", str(packed))
    assert "--bundle: brings its own spec and profile" in ran.stderr
    assert "only for --bundle" in run_cli(tmp_path, "judge", "--max-bytes", "5").stderr


def test_an_archive_unpacks_to_so_much_and_no_more(content: Mapping[str, bytes], tmp_path: Path) -> None:
    """2 GiB of zeros in 2 MB, refused by what the archive says; a bound that is asked for."""
    packed = pack(tmp_path, content)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("zeros", "w", force_zip64=True) as stream:  # fmt: skip
        for _ in range(64):
            stream.write(bytes(1 << 20))
    size = str(32 << 20)
    ran = run_cli(tmp_path, "judge", "-q", "--bundle", str(packed), "--max-bytes", size)
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
    assert "above 33,554,432; --max-bytes allows more" in ran.stderr
    assert run_cli(tmp_path, "judge", "-q", "--bundle", str(packed)).returncode == 0


@pytest.mark.parametrize("name", ["specs/good.yaml", "params.yaml"])
def test_a_bundle_reads_no_file_of_this_machine(name: str, content: Mapping[str, bytes], tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: [SECRET\n")
    spec = content["specs/good.yaml"]
    cases = [b"extends: %s\n" % str(secret).encode() + spec, spec.replace(b"../results.csv", str(secret).encode())]
    for changed in cases if name.startswith("specs") else [b"extends: %s\nprofile: mine\n" % str(secret).encode()]:
        ran = run_cli(tmp_path, "judge", "-q", "--bundle", str(pack(tmp_path, {**content, name: changed})))
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
        assert "SECRET" not in ran.stderr
        assert "lies outside of" in ran.stderr


def test_the_readme_says_whose_code_runs_and_names_what_is_there(content: Mapping[str, bytes]) -> None:
    readme = content["README.md"].decode()
    safe, own = readme.index("harness judge --bundle FILE"), readme.index("runs code that is in this archive")
    assert safe < own
    assert "whoever made it can\nrun anything, and print any verdict" in readme
    for name in re.findall(r"-r (\S+)|`([\w.]+\.(?:json|txt|lock))`", readme):
        assert {*name} - {""} <= set(content), name
    assert ("--require-hashes" in readme) == ("requirements.lock" in content)
    assert not re.search(r"(?<!-P )-m (pip|venv)", readme)
