"""`harness compare` on a copy of committed results: it passes, and each kind of tampering fails it by name."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from harness.claims.words import Word
from harness.verdicts.baseline import Accepted, Baseline, compare
from tests.conftest import REPO, run_cli

SPECS = ["humphries2020/fig1", "humphries2020/fig4"]


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Figure 4 at the paper's scale, as committed, and two quick claims of Figure 1, with a baseline."""
    tmp_path = tmp_path_factory.mktemp("accepted")
    shutil.copytree(REPO / "specs" / "humphries2020", tmp_path / "specs" / "humphries2020")
    for path in (tmp_path / "specs" / "humphries2020").glob("*.yaml"):
        if f"humphries2020/{path.stem}" not in SPECS and not path.name.startswith("_"):
            path.unlink()
    shutil.copy(REPO / "specs" / "papers.yaml", tmp_path / "specs")
    figure = tmp_path / "specs/humphries2020/fig1.yaml"
    head, *claims = re.split(r"(?m)^(?=  - id: )", figure.read_text())
    claims[-1] = claims[-1].split("\nfigure:")[0] + "\n"
    figure.write_text(head + "".join(c for c in claims if re.match(r"  - id: (yeom-bound|bound-gap)\n", c)))
    for name in ("params.yaml", "dvc.yaml", "pyproject.toml"):
        shutil.copy(REPO / name, tmp_path)
    shutil.copytree(
        REPO / "reports" / "paper" / "humphries2020" / "fig4", tmp_path / "reports/paper/humphries2020/fig4"
    )
    assert verify(tmp_path, "--update").returncode == 0
    return tmp_path


@pytest.fixture
def project(tmp_path: Path, accepted: Path) -> Path:
    """A copy of it that a test may change."""
    shutil.copytree(accepted, tmp_path, dirs_exist_ok=True)
    return tmp_path


def verify(project: Path, *options: str):  # type: ignore[no-untyped-def]
    return run_cli(project, "compare", "-p", "paper", *options)


def test_passes_on_what_was_accepted_and_changes_nothing(project: Path) -> None:
    before = {p: p.read_bytes() for p in project.rglob("*") if p.is_file()}
    result = verify(project)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "as accepted" in result.stdout
    assert {p: p.read_bytes() for p in project.rglob("*") if p.is_file()} == before


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_tampered_table_fails(project: Path) -> None:
    path = project / "reports/paper/humphries2020/fig4/measurements.parquet"
    table = pd.read_parquet(path)
    attributes = table.attrs
    table.loc[table["metric"] == "advantage", "value"] -= 0.5
    table.attrs = attributes
    table.to_parquet(path)
    result = verify(project)
    assert result.returncode == 1
    assert "humphries2020/fig4: the measurements changed" in result.stdout
    assert "humphries2020/fig4#average-not-killed: reproduced accepted, " in result.stdout


def test_a_changed_spec_fails(project: Path) -> None:
    edit(project / "specs/humphries2020/fig1.yaml", "right: 0.15", "right: 0.16")
    result = verify(project)
    assert result.returncode == 1
    assert "humphries2020/fig1: the spec changed" in result.stdout
    assert verify(project, "--update").returncode == 0
    assert verify(project).returncode == 0


def test_a_spec_that_only_other_defaults_change_is_the_accepted_one(project: Path) -> None:
    """The full content of a spec has another hash once the harness adds a field; its files say what they said."""
    path = project / "reports/paper/baseline.json"
    baseline = json.loads(path.read_text())
    accepted = baseline["specs"]["humphries2020/fig1"]
    accepted["spec_sha256"] = "0" * 64
    path.write_text(json.dumps(baseline))
    result = verify(project)
    assert result.returncode == 0, result.stdout
    # A baseline of a version that did not note what was declared has the full content alone to go by.
    del accepted["declared_sha256"]
    path.write_text(json.dumps(baseline))
    result = verify(project)
    assert result.returncode == 1
    assert "humphries2020/fig1: the spec changed: 0000000000000000 accepted" in result.stdout


def test_a_changed_verdict_and_a_missing_claim_fail(project: Path, tmp_path: Path) -> None:
    path = project / "specs/humphries2020/fig1.yaml"
    edit(path, "right: 0.15", "right: 0.19")
    edit(path, "id: yeom-bound", "id: yeom-renamed")
    junit, summary = tmp_path / "out" / "claims.xml", tmp_path / "out" / "claims.md"
    result = verify(project, "--junit", str(junit), "--summary", str(summary))
    assert result.returncode == 1
    for line in (
        "fig1#bound-gap: reproduced accepted, violated found",
        "fig1#yeom-bound: the claim is gone",
        "fig1#yeom-renamed: a new claim",
    ):
        assert line in result.stdout
    tree = ElementTree.parse(junit).getroot()
    assert int(tree.get("failures", 0)) == 4  # the spec's hash is the fourth
    assert "bound-gap: violated" in {case.get("name") for case in tree.iter("testcase")}
    assert "| `humphries2020/fig1#bound-gap` | reproduced accepted, violated found |" in summary.read_text()


def test_a_moved_interval_fails_and_last_digits_do_not(project: Path) -> None:
    path = project / "reports/paper/baseline.json"
    accepted = json.loads(path.read_text())
    effects = accepted["specs"]["humphries2020/fig4"]["effects"]
    claim = next(name for name, (_, low, _) in effects.items() if low is not None)
    shown = effects[claim]
    effects[claim] = [number * (1 + 1e-8) for number in shown]
    path.write_text(json.dumps(accepted))
    assert verify(project).returncode == 0
    effects[claim] = [shown[0], shown[1] - 1e-4, shown[2]]
    path.write_text(json.dumps(accepted))
    result = verify(project)
    assert result.returncode == 1
    assert f"humphries2020/fig4#{claim}: effect and interval" in result.stdout


@pytest.mark.parametrize(
    ("version", "found", "differs"),
    [("0.4.3", 0.2008, True), ("0.6.0", 0.2008, False), ("0.6.0", 0.21, True), ("0.4.3", 0.2, False)],
)
def test_an_effect_that_another_version_computed_may_be_a_hundredth_apart(
    version: str, found: float, differs: bool
) -> None:
    """A later dp-accounting bounds some mechanisms more tightly, which moves no verdict."""

    def baseline(effect: float, version: str) -> Baseline:
        accepted = Accepted(
            spec_sha256="a",
            measurements_sha256=None,
            verdicts={"c": Word.REPRODUCED},
            effects={"c": (effect, None, None)},
            computed_by={"c": version},
        )
        return Baseline(profile="p", specs={"s": accepted})

    assert bool(compare(baseline(0.2, "0.4.3"), baseline(found, version))) == differs


def test_the_committed_baseline_says_what_computed_its_effects() -> None:
    accepted = json.loads((REPO / "reports/sequential/baseline.json").read_text())["specs"]["humphries2020/games"]
    assert accepted["computed_by"]["rdp-tightest"]
    assert "no-general-bound" not in accepted["computed_by"]  # proved


def test_a_part_is_verified_and_accepted_alone(project: Path) -> None:
    edit(project / "specs/humphries2020/fig1.yaml", "right: 0.15", "right: 0.16")
    assert verify(project, "humphries2020/fig4").returncode == 0
    assert verify(project, "--update", "humphries2020/fig1").returncode == 0
    accepted = json.loads((project / "reports/paper/baseline.json").read_text())
    assert set(accepted["specs"]) == set(SPECS)
    assert verify(project).returncode == 0


def test_a_vanished_spec_fails(project: Path) -> None:
    (project / "specs/humphries2020/fig1.yaml").unlink()
    result = verify(project)
    assert result.returncode == 1
    assert "humphries2020/fig1: the spec is gone" in result.stdout


@pytest.mark.parametrize("content", [None, "{", '{"schema_version": 2}'])
def test_no_baseline_is_one_clear_line(project: Path, content: str | None) -> None:
    path = project / "reports/paper/baseline.json"
    path.unlink()
    if content is not None:
        path.write_text(content)
    result = verify(project)
    assert result.returncode == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert "baseline.json" in result.stderr


def test_a_baseline_of_the_first_version_is_one_clear_line(project: Path) -> None:
    path = project / "reports/paper/baseline.json"
    accepted = json.loads(path.read_text())
    path.write_text(json.dumps({**accepted, "schema_version": 1}))
    refused = verify(project)
    assert refused.returncode == 2
    (line,) = refused.stderr.strip().splitlines()
    assert "baseline.json" in line
    assert "harness compare --update" in line


# Verdicts on theory are derived by hand, and held to that, in tests/theory/test_claims.py.
MEASURED = sorted(
    path.relative_to(REPO / "specs").with_suffix("").as_posix()
    for paper in ("humphries2020", "jayaraman2019")
    for path in (REPO / "specs" / paper).glob("*.yaml")
    if path.stem not in ("fig1", "games", "theory") and not path.name.startswith("_")
)


@pytest.mark.parametrize(
    ("profile", "specs"),
    [
        ("paper", ["humphries2020/fig4", "jayaraman2019/lr-cifar100"]),
        ("sequential", ["humphries2020/fig6", "jayaraman2019/clipping", "harness"]),
        # The rest takes as long as all other tests of verdicts together, and CI judges it on every commit (action.yml).
        pytest.param("sequential", MEASURED, marks=pytest.mark.slow, id="sequential-all"),
    ],
)
def test_the_committed_state_is_as_accepted(profile: str, specs: list[str]) -> None:
    """What `harness compare` says on a fresh clone: every verdict, spec and table is the committed one."""
    result = run_cli(REPO, "compare", "-p", profile, "-j", "1", *specs)
    assert result.returncode == 0, result.stdout + result.stderr
