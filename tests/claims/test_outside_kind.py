"""A kind of claim that another package adds, in one file: it is judged, told, drawn and counted as the harness' own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from harness.paths import Project
from tests.conftest import REPO, run_in_turn
from tests.results.files import experiment, log

KIND = '''
"""A kind of claim: one side is at least half of another, but for a tolerance."""

from dataclasses import replace
from typing import ClassVar, Literal

from harness.plugins import (
    CLAIM_KINDS, Contrast, MeasuredClaimKind, MetricOperand, Width, chain, numeral, over_grid, phrase,
)


@CLAIM_KINDS.register
class HalfOf(MeasuredClaimKind):
    kind: Literal["half-of"] = "half-of"
    measured_field: ClassVar[str | None] = "left"
    left: MetricOperand
    right: MetricOperand
    tolerance: Width

    def tree(self):
        half = phrase("half of", self.right.curve.tree())
        return chain(">=", self.left.curve.tree(), chain("-", half, numeral(self.tolerance)))

    def parts(self, declared):
        left = declared.complete(self.left)
        return [self.model_copy(update={"left": one, "right": self.right.inherit(left)}) for one in left.expand()]

    def operands(self):
        return [self.left, self.right]

    def contrast(self, where):
        right = replace(self.right.curve, times=0.5 * self.right.curve.times)
        return Contrast(self.left.curve, right, where, ">=", -self.tolerance, doubled=-2 * self.tolerance)

    def patterns(self):
        return [self.contrast({})]

    def contrasts(self, table):
        curves = [self.left.curve, self.right.curve]
        return over_grid(table, curves, getattr(self, "at", None), "one-sided {test}", lambda where: [self.contrast(where)])

    def doubled_tolerance(self):
        return f"a tolerance of {2 * self.tolerance:g} in place of {self.tolerance:g}"
'''
CHECK = """

from harness.testing import check_claim_kind, results
from half_of import HalfOf

sides = {"left": {"metric": "advantage", "arm": "a", "attack": "x"}, "right": {"arm": "b"}, "tolerance": 0.01}
def table(left):
    return results({("a", "x", "advantage"): {1.0: left, 10.0: left}, ("b", "x", "advantage"): {1.0: 0.4, 10.0: 0.4}})
check_claim_kind(HalfOf.model_validate(sides), holds=table(0.3), fails=table(0.1))
print("kept")
"""


def claim(name: str, **expect: object) -> dict[str, object]:
    return {"id": name, "where": "here", "statement": "It holds.", "expect": expect}


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with the installed package."""
    folder = tmp_path / "packages"
    described = folder / "half_of-1.0.dist-info"
    described.mkdir(parents=True)
    (folder / "half_of.py").write_text(KIND)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: half-of\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[harness.plugins]\nhalf_of = half_of\n")
    return folder


def test_a_kind_from_outside_is_as_good_as_one_of_the_harness(
    make_project: Callable[..., Project], packages: Path
) -> None:
    project = make_project()
    log(repeats=20).to_csv(project.root / "results.csv", index=False)
    train, test = ({"metric": metric, "arm": "private"} for metric in ("train", "test"))
    plain = {"arm": "plain"}
    holds = {"kind": "half-of", "left": train, "right": plain, "tolerance": 0.01}
    # Test accuracies are 0.4 and 0.5; half of twice the second is missed by more than the tolerance, not by twice it.
    near = {"kind": "half-of", "left": test, "right": {**plain, "times": 2.0}, "tolerance": 0.06}
    far = near | {"tolerance": 0.01}
    spec = {
        "paper": "own",
        "title": "Results",
        "where": "results.csv",
        "experiment": experiment(),
        "claims": [
            claim("holds", **holds),
            claim("near", **near),
            claim("far", **far),
            claim("counted", kind="at-least", needed=2, of=[holds, far, near], over={"metric": ["train", "test"]}),
        ],
    }
    with (project.root / "mine.yaml").open("w") as file:
        YAML().dump(spec, file)
    commands = (("run", "-q", "mine.yaml"), ("judge", "mine.yaml", "--json"), ("explain", "mine.yaml#holds"))
    ran, judged, explained = run_in_turn(project.root, *commands, PYTHONPATH=f"{packages}:{REPO}")
    assert ran.returncode == 0, ran.stderr
    assert judged.returncode == 0, judged.stderr
    verdicts = {v["id"].partition("#")[2]: v for v in json.loads(judged.stdout)}
    assert {name: v["verdict"] for name, v in verdicts.items()} == {
        "holds": "reproduced",
        "near": "inconclusive",
        "far": "violated",
        "counted": "reproduced",
    }
    assert verdicts["near"]["hangs_on"] == ["a tolerance of 0.12 in place of 0.06"]
    assert explained.returncode == 0, explained.stderr
    said = " ".join(explained.stdout.split())
    assert re.search(r"(higher|lower) \(95%: .*?; 20 runs\); the claim (says|allows) ", said), said
    pages = [page.read_text() for page in project.root.rglob("*.html") if "holds" in page.name]
    assert any('class="forest"' in page and "difference</th>" in page for page in pages)


def test_the_kit_accepts_it(packages: Path, tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    env = {**os.environ, "PYTHONPATH": f"{packages}:{REPO}"}
    ran = subprocess.run(
        [sys.executable, "-c", CHECK], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert ran.stdout == "kept\n", ran.stderr
