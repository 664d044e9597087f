"""One's own specs, the profile's page, and damaged tables: from the command line."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from harness import config
from harness.errors import HarnessError
from harness.paths import Project
from tests.conftest import REPO, SMALL_SPEC, run_cli, run_process

Make = Callable[..., Project]
PARAMS = "profile: small\nprofiles:\n  small: {repeats: 1, epochs: 1, epsilons: [1], attacks: [shokri]}\n"


def test_an_own_spec_runs_as_declared_onto_a_page_of_its_own(make_project: Make) -> None:
    """The profile would keep one repeat of one epsilon and no attack; none of it holds for a file outside of specs/."""
    project = make_project()
    project.params.write_text(PARAMS)
    mine = project.root / "mine.yaml"
    mine.write_text(SMALL_SPEC)
    ran = run_cli(project.root, "run", "mine.yaml")
    assert ran.returncode == 0, ran.stderr
    assert "report: reports/own/mine/site/index.html" in ran.stdout
    table = pd.read_parquet(project.reports / "own/mine/measurements.parquet")
    assert (table["repeat"].nunique(), table["epsilon"].nunique(), set(table["attack"])) == (2, 3, {"", "logloss"})
    verdicts = json.loads((project.reports / "own/mine/verdicts.json").read_text())["verdicts"]
    assert {(v["rests_on"]["data"], v["claim"]["origin"]) for v in verdicts} == {("own", "ours")}
    assert [v["id"] for v in verdicts] == ["mine#biased-beats-iid", "mine#iid-held", "mine#counts"]
    assert not (project.reports / "small").exists()
    assert json.loads(run_cli(project.root, "judge", "mine.yaml", "--json").stdout)[0]["profile"] == "own"
    assert run_cli(project.root, "compare", "mine.yaml", "--update").returncode == 0
    assert run_cli(project.root, "compare", "mine.yaml").returncode == 0


def test_running_one_spec_leaves_the_others_on_the_page(make_project: Make) -> None:
    project = make_project()
    (project.specs / "own" / "second.yaml").write_text(SMALL_SPEC.replace("Breast cancer", "Second"))
    assert run_cli(project.root, "run").returncode == 0
    root = project.reports / "full"
    names = ("site/index.html", "site/papers/own.html", "verdicts.json", "metrics.json", "summary.md", "claims.csv")
    before = {name: (root / name).read_text() for name in names}
    assert json.loads(before["metrics.json"])["claims"] == 6
    ran = run_cli(project.root, "run", "own/second")
    assert ran.returncode == 0, ran.stderr
    assert "with 1 other specs of the profile" in ran.stdout
    assert "own/cancer#counts" not in ran.stdout
    assert {name: (root / name).read_text() for name in names} == before
    assert run_cli(project.root, "report", "own/second").returncode == 0
    assert {name: (root / name).read_text() for name in names} == before
    second = project.specs / "own" / "second.yaml"
    second.write_text(second.read_text().partition("  - id: counts")[0])  # judged, and gone from the spec since
    ran = run_cli(project.root, "report")
    assert ran.returncode == 0, ran.stderr
    ids = [v["id"] for v in json.loads((root / "verdicts.json").read_text())["verdicts"]]
    assert "own/second#counts" not in ids
    assert len(ids) == 5


def test_names_inside_the_figures_of_a_page_do_not_collide(make_project: Make) -> None:
    project = make_project()
    (project.specs / "own" / "second.yaml").write_text(SMALL_SPEC)
    assert run_cli(project.root, "run").returncode == 0
    page = (project.reports / "full/site/papers/own.html").read_text()
    assert page.count('class="canvas"') >= 2, "each spec has figures of the same names"
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    inside = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL))
    used = set(re.findall(r'(?:url\(#|href="#)([^")]*)', inside))
    assert used
    assert used <= set(ids)
    # Sentences under a claim end before the next begins.
    assert not re.search(r"[a-z0-9)]\.[A-Z][a-z]+: ", re.sub(r"<[^>]*>", "", page))


def test_specs_without_verdicts_are_named_on_the_page(make_project: Make) -> None:
    project = make_project()
    (project.specs / "own" / "second.yaml").write_text(SMALL_SPEC)
    assert run_cli(project.root, "run", "own/second").returncode == 0
    page = (project.reports / "full/site/index.html").read_text()
    assert "Not run yet under this profile, and not on this page: own/cancer." in page


def test_a_damaged_table_is_one_clear_line(make_project: Make) -> None:
    project = make_project()
    assert run_cli(project.root, "run").returncode == 0
    path = project.reports / "full/own/cancer/measurements.parquet"
    path.write_bytes(path.read_bytes()[:2000])
    for command in ("judge", "compare", "report"):
        ran = run_cli(project.root, command)
        assert ran.returncode == 2
        assert "measurements.parquet: damaged, not a readable Parquet table" in ran.stderr
        assert len(ran.stderr.strip().splitlines()) == 1


def test_a_damaged_file_of_the_override_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "compas"
    folder.mkdir(parents=True)
    (folder / "compas-scores-two-years.csv").write_text("not,the,file\n")
    code = (
        "import os; from pathlib import Path; from harness.paths import Project\n"
        "from harness.data import fetch as f; from harness.data.datasets.compas import Compas\n"
        "from harness.progress import Progress\n"
        "f._from_remote = lambda *a: (_ for _ in ()).throw(f.HarnessError('no network'))\n"
        f"try: f.fetch(Project(Path({str(tmp_path)!r})), Compas(), Progress(True))\n"
        "except f.MissingData: pass\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"HARNESS_DATA": str(tmp_path / "data"), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert "harness: warning:" in ran.stderr
    assert "compas-scores-two-years.csv" in ran.stderr
    assert "is passed over, other sources of compas are tried" in ran.stderr


def test_the_example_package_adds_five_things_and_edits_nothing(tmp_path: Path) -> None:
    """Installed as a stranger would, apart from this environment; every file under 60 lines, of public names alone."""
    source = REPO / "examples" / "plugins"
    for path in (source / "mi_example").glob("*.py"):
        text = path.read_text()
        assert len(text.splitlines()) < 60, path.name
        assert not [
            line
            for line in text.splitlines()
            if "import" in line and ("harness." in line and "harness.plugins" not in line)
        ]
    copy = tmp_path / "source"
    shutil.copytree(source, copy)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--disable-pip-version-check",
            "--target",
            str(tmp_path / "site"),
            str(copy),
        ],
        check=True,
        capture_output=True,
    )
    root = tmp_path / "p"
    (root / "specs").mkdir(parents=True)
    shutil.copy(REPO / "specs" / "papers.yaml", root / "specs")
    root.joinpath("params.yaml").write_text("profile: full\nprofiles:\n  full: {}\n")
    shutil.copy(source / "blobs.yaml", root)
    import os

    env = {
        **{k: v for k, v in os.environ.items() if not k.startswith("HARNESS_")},
        "PYTHONPATH": str(tmp_path / "site"),
    }
    ran = subprocess.run(
        [sys.executable, "-m", "harness", "run", "blobs.yaml", "-j", "1"],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    result = json.loads((root / "reports/own/blobs/verdicts.json").read_text())["verdicts"]
    assert {v["id"]: v["verdict"] for v in result} == {
        "blobs#noise-hides-members": "reproduced",
        "blobs#precise": "reproduced",
        "blobs#above-the-best": "reproduced",
    }
    table = pd.read_parquet(root / "reports/own/blobs/measurements.parquet")
    assert {"precision", "advantage"} <= set(table.loc[table["attack"] == "correct", "metric"])


@pytest.mark.parametrize("classes", [2, 14])
def test_clusters_are_drawn_as_likely_with_and_without_listing(classes: int) -> None:
    import numpy as np

    from harness.data.splits.kmeans import _draw_by_counting, _draw_from_list

    rng = np.random.default_rng(1)
    counts = rng.integers(3, 9, size=(min(classes, 5), 2))
    low, high = int(counts.sum() * 0.4), int(counts.sum() * 0.6)
    drawn = [
        [tuple(f(counts, low, high, np.random.default_rng(s))[0]) for s in range(3000)]
        for f in (_draw_from_list, _draw_by_counting)
    ]  # type: ignore[index]
    shares = [pd.Series(d).value_counts(normalize=True) for d in drawn]
    assert set(shares[0].index) == set(shares[1].index)
    assert (shares[0] - shares[1]).abs().max() < 0.03
    if classes > 12:  # 2^300 assignments
        many = rng.integers(1, 50, size=(300, 2))
        result = _draw_by_counting(many, int(many.sum() * 0.45), int(many.sum() * 0.5), rng)
        assert result is not None
        size = many[np.arange(300), result[0]].sum()
        assert 0.45 * many.sum() - 1 <= size <= 0.5 * many.sum()
    assert _draw_by_counting(counts, int(counts.sum()) + 1, int(counts.sum()) + 2, rng) is None


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "from typing import Literal\n"
            "from harness.attacks.attack import ATTACKS\n"
            "from harness.attacks.logloss import Logloss\n"
            "@ATTACKS.register\n"
            "class Mine(Logloss):\n"
            '    kind: Literal["logloss"] = "logloss"\n',
            "attack 'logloss' is registered twice: harness.attacks.logloss.Logloss and mine.Mine",
        ),
        (
            "from typing import Literal\n"
            "from harness.plugins import ATTACKS, PooledAttack\n"
            "@ATTACKS.register\n"
            "class Mine(PooledAttack):\n"
            '    kind: Literal["mine"] = "mine"\n'
            "    def fit_halves(self, models, seed):\n"
            "        return {}\n",
            "mine.Mine: fit_halves is not asked any more; write fit(pool, seed), whose pool has candidates and masks",
        ),
        ("import nowhere\n", "No module named 'nowhere'"),
        ("raise RuntimeError\n", "RuntimeError"),
    ],
    ids=["taken", "former", "missing", "raises"],
)
def test_a_package_that_cannot_be_loaded_is_one_line(
    code: str, message: str, make_project: Callable[..., Project], tmp_path: Path
) -> None:
    project = make_project()
    packages = tmp_path / "packages"
    described = packages / "mine-1.0.dist-info"
    described.mkdir(parents=True)
    (packages / "mine.py").write_text(code)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[harness.plugins]\nmine = mine\n")
    ran = run_process(project.root, "validate", PYTHONPATH=f"{packages}:{REPO}")
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith("harness: the plug-in mine of the package mine cannot be loaded: ")
    assert message in line
    assert line.endswith("pip uninstall the package")


@pytest.mark.parametrize(
    "metadata", ["Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", None], ids=["named", "nameless"]
)
@pytest.mark.parametrize(
    "entry", ["mine", "mine =", "mine = my-module", "mine = mine:", "= ../mine.py"], ids=lambda entry: entry
)
def test_an_entry_point_that_is_malformed_is_one_line(
    entry: str,
    metadata: str | None,
    make_project: Callable[..., Project],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    described = tmp_path / "packages" / "mine-1.0.dist-info"
    described.mkdir(parents=True)
    if metadata is not None:
        (described / "METADATA").write_text(metadata)
    (described / "entry_points.txt").write_text(f"[console_scripts]\na = a:b\n[harness.plugins]\n# ours\n{entry}\n")
    if metadata is not None or entry == "mine":
        ran = run_process(make_project().root, "validate", PYTHONPATH=f"{described.parent}:{REPO}")
        assert ran.returncode == 2
        (line,) = ran.stderr.splitlines()
    else:  # what a command prints of it is the same, so that it is not started once more
        monkeypatch.syspath_prepend(described.parent)
        monkeypatch.setattr(config, "_loaded", False)
        with pytest.raises(HarnessError) as refused:
            config.load_external_plugins()
        line = f"harness: {refused.value}"
    package = "mine" if metadata is not None else described.parent
    assert line.startswith(
        f"harness: the package {package}: entry point {entry!r} of the group harness.plugins names no"
    )
    assert line.endswith(
        "right is `name = module`, or `name = module:attribute`; mend it, or pip uninstall the package"
    )
