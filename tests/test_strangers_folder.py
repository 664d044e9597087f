"""A stranger's folder: nothing of it runs but what was asked for, whatever its files are called and git is told in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import processes
from harness.data.download import from_package
from harness.data.sources import PackageMember
from harness.errors import HarnessError
from harness.git import ask_git
from harness.paths import Project
from harness.pipeline.parallel import FEW_TASKS
from harness.tracking import commit
from tests.conftest import PARAMS, REPO, SMALL_SPEC, empty_tracking_store, run_cli, write_cancer

INSTALLED = (
    *("numpy", "pandas", "scipy", "pyarrow", "pydantic", "rich", "typer", "yaml", "matplotlib", "jinja2", "requests"),
    *("tensorflow", "keras", "mlflow", "dvc", "distributed", "pip", "setuptools", "sklearn", "dp_accounting", "joblib"),
)
SCRIPT = """\
import sys
from harness.__main__ import main
if __name__ == "__main__":
    for words in " ".join(sys.argv[1:]).split("; "):
        sys.argv[1:] = words.split()
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise
"""
"""What pip writes for an entry of `project.scripts`, for several commands apart by `; `."""
TRAIN = "import numpy as np\n\ndef train(features, labels, seed):\n    return [np.zeros((features.shape[1], 2))]\n"


def write_traps(root: Path, names: tuple[str, ...] = ()) -> None:
    """A file for each module of the standard library and many others, which writes down that it was run."""
    for name in names or {*sys.stdlib_module_names, *INSTALLED}:
        (root / f"{name}.py").write_text(
            f"with open({str(root / 'RAN')!r}, 'a') as log: log.write('{name} ')\nraise ImportError('trap')\n"
        )


def run_here(root: Path, script: Path, way: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process whose current folder is `root`, as users start it."""
    started = {"script": [str(script)], "-P": ["-P", "-m", "harness"], "-m": ["-m", "harness"]}[way]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HARNESS_", "MLFLOW_", "PYTHON"))}
    return subprocess.run(
        [sys.executable, *started, *arguments], cwd=root, env={**kept, "PYTHONPATH": str(REPO)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bin") / "harness"
    path.write_text(SCRIPT)
    return path


NUMBERS = """\
paper: own
title: Two numbers
where: Section 1
claims:
  - {id: two, where: here, kind: theory, statement: 2 is below 3., expect: {kind: inequality, left: 2, relation: "<", right: 3, over: {}}}
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with verdicts and a page, of so many specs that helpers judge and draw them."""
    root = tmp_path_factory.mktemp("judged") / "project"
    (root / "specs" / "own").mkdir(parents=True)
    (root / "specs" / "own" / "cancer.yaml").write_text(SMALL_SPEC)
    for number in range(FEW_TASKS):
        (root / "specs" / "own" / f"numbers{number}.yaml").write_text(NUMBERS)
    (root / "params.yaml").write_text(PARAMS)
    (root / "f.py").write_text(TRAIN)
    write_cancer(root / "cancer.csv")
    assert run_cli(root, "run", "-q", "-p", "one").returncode == 0
    assert run_cli(root, "compare", "--update", "-q", "-p", "one").returncode == 0
    return root


STARTED = {
    "compare": "compare -q -p one",
    "without helpers": "judge -q -p one -j 1; explain own/cancer#counts -p one; site -p one; status -p one; list; validate; "
    "plan -p one; bundle own/cancer#counts -p one -o x.zip; audit f.py:train --epsilon 1 --runs 8 -q",
    "-P": "report --brief -p one",
}
"""Commands, one after another in one process: what each imports, and starts, is looked for anew."""


@pytest.mark.integration
@pytest.mark.parametrize("way", STARTED)
def test_no_file_of_the_folder_is_taken_for_a_module(way: str, judged: Path, script: Path, tmp_path: Path) -> None:
    root = tmp_path / "there"
    shutil.copytree(judged, root)
    make_repository(root)
    name_programs(root, root / "RAN")
    write_traps(root, (*sorted({*sys.stdlib_module_names, *INSTALLED}), "harness"))
    ran = run_here(root, script, "-P" if way == "-P" else "script", *STARTED[way].split())
    assert not (root / "RAN").exists(), (root / "RAN").read_text()
    assert ran.returncode == 0, ran.stderr
    assert (root / "x.zip").is_file() == ("bundle" in STARTED[way])


@pytest.mark.integration
def test_without_the_safe_flag_the_folder_is_left_behind_at_once(judged: Path, script: Path, tmp_path: Path) -> None:
    """`python -m harness`: all but a `harness` of the folder, which Python runs itself."""
    root = tmp_path / "there"
    shutil.copytree(judged, root)
    write_traps(root)
    ran = run_here(root, script, "-m", "compare", "-q", "-p", "one")
    assert not (root / "RAN").exists(), (root / "RAN").read_text()
    assert ran.returncode == 0, ran.stderr


@pytest.mark.integration
def test_a_faulty_spec_runs_nothing_either(judged: Path, script: Path, tmp_path: Path) -> None:
    """Helpers start before specs are read."""
    root = tmp_path / "there"
    shutil.copytree(judged, root)
    (root / "specs" / "own" / "cancer.yaml").write_text("paper: [")
    write_traps(root)
    ran = run_here(root, script, "script", "judge", "-q")
    assert ran.returncode == 2
    assert not (root / "RAN").exists(), (root / "RAN").read_text()


@pytest.mark.integration
def test_workers_do_not_take_it_for_a_module(judged: Path, script: Path, tmp_path: Path) -> None:
    root = tmp_path / "there"
    shutil.copytree(judged, root, ignore=shutil.ignore_patterns(".harness", "reports"))
    shutil.copy(empty_tracking_store(), root / "mlflow.db")
    make_repository(root)
    name_programs(root, root / "RAN")
    write_traps(root)
    (root / "specs" / "own" / "cancer.yaml").write_text(
        SMALL_SPEC.replace("epsilons: [1, 10, .inf]", "epsilons: [.inf, 1]")
    )
    commands = "survey cancer.csv --label target --list -q -o s.yaml; run -q -p one -j 2"
    ran = run_here(root, script, "script", *commands.split())
    assert not (root / "RAN").exists(), (root / "RAN").read_text()
    assert ran.returncode == 0, ran.stderr
    assert (root / "s.yaml").is_file()
    assert (root / "reports/one/own/cancer/verdicts.json").is_file()


def test_the_traps_work(script: Path, tmp_path: Path) -> None:
    """A Python that is started without protection runs one."""
    write_traps(tmp_path, ("selectors",))
    subprocess.run([sys.executable, "-c", "import selectors"], cwd=tmp_path, capture_output=True, check=False)
    assert (tmp_path / "RAN").read_text() == "selectors "


def test_pip_of_the_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_traps(tmp_path, ("pip", "json"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(HarnessError, match="No matching distribution"):
        from_package(PackageMember("no-such-package-of-anyone==1", None, "x"), tmp_path / "x", None)
    assert not (tmp_path / "RAN").exists()


def test_processes_are_started_where_they_are_protected() -> None:
    """Modules that start processes are known by name; a new one is to import `harness.processes`, and to be named."""
    protected = {}
    for path in sorted((REPO / "harness").rglob("*.py")):
        text = path.read_text()
        if re.search(
            r"^\s*(import|from) (subprocess|multiprocessing)\b|\bProcessPoolExecutor\b|\bos\.(system|spawn|exec|popen)",
            text,
            re.M,
        ):
            protected[path.relative_to(REPO / "harness").as_posix()] = "from harness.processes import" in text
    assert protected == {
        "data/download.py": True,
        "execution/executors.py": True,
        "extensions/audit/functions.py": True,
        "git.py": False,  # no Python
        "pipeline/parallel.py": True,
        "training/function_process.py": True,
    }


def test_the_users_own_value_reaches_the_users_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for own in (None, "1"):
        processes.set_variable(processes.SAFE_PATH, own)
        processes.protect_processes()
        assert os.environ[processes.SAFE_PATH]
        assert processes.users_safe_path() == own
    monkeypatch.delenv(processes.SAFE_PATH)


# --- git


def make_repository(root: Path) -> None:
    """Make a folder a repository with one commit."""
    root.mkdir(exist_ok=True)
    (root / "a.txt").write_text("a\n")
    (root / ".gitattributes").write_text("* filter=theirs\n")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments], cwd=root, check=True
        )  # fmt: skip


def name_programs(root: Path, log: Path) -> None:
    """Have a repository's own configuration name a program, which writes to `log`, for all that git does as it reads."""
    program = root / ".git" / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {log}\ncat\n")
    program.chmod(0o755)
    hooks = root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "pre-auto-gc"):
        shutil.copy(program, hooks / name)
    with (root / ".git" / "included").open("w") as stream:
        stream.write(f'[filter "other"]\n\tprocess = {program}\n\trequired = true\n')
    with (root / ".git" / "config").open("a") as stream:
        stream.write(
            f"[core]\n\tfsmonitor = {program}\n\tpager = {program}\n\tsshCommand = {program}\n[gpg]\n\tprogram = {program}\n"
            f'[log]\n\tshowSignature = true\n[filter "theirs"]\n\tclean = {program}\n\tsmudge = {program}\n'
            f"[pager]\n\tstatus = true\n\tlog = true\n[include]\n\tpath = included\n[diff]\n\texternal = {program}\n"
        )


@pytest.mark.parametrize("modified", [False, True])
def test_git_runs_nothing_of_the_repository(tmp_path: Path, modified: bool) -> None:
    """Monitor, hooks, filters, a check of signatures and programs that fetch: what git says is the same."""
    root = tmp_path / "repository"
    make_repository(root)
    name_programs(root, tmp_path / "RAN")
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()  # fmt: skip
    (root / "a.txt").write_text("b\n" if modified else "a\n")
    os.utime(root / "a.txt", (1, 1))  # so that git has to look at its content
    assert commit(Project(root)) == head + ("-dirty" if modified else "")
    assert not (tmp_path / "RAN").exists()
    subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, check=False)
    assert (tmp_path / "RAN").exists(), "so that the programs would run"


def test_git_checks_no_signature(tmp_path: Path) -> None:
    """Which a signed commit would have it do, by the program that the repository names."""
    root = tmp_path / "repository"
    make_repository(root)
    asked = ["git", "cat-file", "commit", "HEAD"]
    unsigned = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=True).stdout
    head, _, message = unsigned.partition("\n\n")
    signed = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n{message}"
    write = ["git", "hash-object", "-t", "commit", "-w", "--stdin"]
    name = subprocess.run(write, cwd=root, input=signed, capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["git", "reset", "-q", "--soft", name], cwd=root, check=True)
    name_programs(root, tmp_path / "RAN")
    asked = ["git", "log", "-1", "--format=%cI"]
    date = ask_git(root, *asked[1:])
    assert date is not None
    assert not (tmp_path / "RAN").exists()
    subprocess.run(asked, cwd=root, capture_output=True, check=False)
    assert (tmp_path / "RAN").exists(), "so that the program would run"


def test_git_looks_into_no_repository_below(tmp_path: Path) -> None:
    """A submodule has a configuration of its own."""
    root = tmp_path / "repository"
    make_repository(root)
    make_repository(root / "below")
    subprocess.run(["git", "add", "-A"], cwd=root, capture_output=True, check=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "b"], cwd=root, check=True)
    (root / ".gitmodules").write_text('[submodule "below"]\n\tpath = below\n\turl = ./below\n\tignore = none\n')
    name_programs(root / "below", tmp_path / "RAN")
    assert commit(Project(root)).endswith("-dirty")
    assert not (tmp_path / "RAN").exists()
    subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, check=False)
    assert (tmp_path / "RAN").exists(), "so that the programs would run"


def test_git_fetches_nothing(tmp_path: Path) -> None:
    """A clone that lacks its commit, with an origin that is a program."""
    root = tmp_path / "repository"
    make_repository(root)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()  # fmt: skip
    program = tmp_path / "program"
    program.write_text(f"touch {tmp_path / 'RAN'}\n")
    (root / ".git" / "objects" / head[:2] / head[2:]).unlink()
    with (root / ".git" / "config").open("a") as stream:
        stream.write(
            f'[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n[protocol "ext"]\n\tallow = always\n'
            f'[remote "origin"]\n\turl = "ext::/bin/sh {program}"\n\tpromisor = true\n'
        )
    assert commit(Project(root)) == "unknown"
    assert not (tmp_path / "RAN").exists()
    subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, check=False)
    assert (tmp_path / "RAN").exists(), "so that the program would run"


@pytest.mark.parametrize("where", ["a file beside the configuration", "a name with an equals sign"])
def test_git_runs_no_filter_of_the_repository_wherever_it_is_defined(where: str, tmp_path: Path) -> None:
    """`git config --local` does not list what `config.worktree` says, and `-c` takes no name with `=` in it."""
    root, program = tmp_path / "repository", tmp_path / "program"
    make_repository(root)
    program.write_text(f"#!/bin/sh\necho ran >> {tmp_path / 'RAN'}\ncat\n")
    program.chmod(0o755)
    beside = where == "a file beside the configuration"
    name = "theirs" if beside else "a=b"
    (root / ".gitattributes").write_text(f"* filter={name}\n")
    with (root / ".git" / "config").open("a") as stream:
        stream.write("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n")
    with (root / ".git" / ("config.worktree" if beside else "config")).open("a") as stream:
        stream.write(f'[filter "{name}"]\n\tclean = {program}\n')
    os.utime(root / "a.txt", (1, 1))
    state = ask_git(root, "status", "--porcelain")
    assert state == "" if beside else state is None
    assert not (tmp_path / "RAN").exists()
    subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, check=False)
    assert (tmp_path / "RAN").exists(), "so that the program would run"


def test_git_writes_nothing(tmp_path: Path) -> None:
    """`git status` would refresh the index of a folder that is only read."""
    root = tmp_path / "repository"
    make_repository(root)
    os.utime(root / "a.txt", (1, 1))
    before = (root / ".git" / "index").read_bytes()
    assert not commit(Project(root)).endswith("-dirty")
    assert (root / ".git" / "index").read_bytes() == before
    subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, check=True)
    assert (root / ".git" / "index").read_bytes() != before, "so that it would be written"
