"""The page of a run of one's own: its runs beside the deciding run's, and a comparison of means that can fail."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import fields
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.paths import Project
from harness.report.means_beside import LEVEL, _p_value, compare_means
from harness.report.own_run import INSET, WIDTH, OwnRun, _plot
from tests.conftest import SMALL_SPEC, run_cli

SPEC: Any = SimpleNamespace(id="own/cancer", axes=("epsilon",), experiment=None, attack_labels={})


def table(values: np.ndarray, first: int = 0) -> pd.DataFrame:
    """Advantages at ε = 1 of repeats from `first` on."""
    rows = [("iid", "logloss", "advantage", 1.0, first + n, value) for n, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["arm", "attack", "metric", "epsilon", "repeat", "value"])


def test_the_same_runs_agree_and_are_told_apart_from_runs_with_other_seeds() -> None:
    values = np.random.default_rng(1).normal(0.5, 0.1, 30)
    found = compare_means([(SPEC, table(values[:8]), table(values))])
    assert (found.compared, found.fitting, found.apart) == (1, 1, ())
    assert (found.shared, found.equal) == (8, 8)


def test_a_mean_that_does_not_fit_is_named_with_both_values() -> None:
    rng = np.random.default_rng(2)
    theirs, mine = rng.normal(0.5, 0.05, 30), rng.normal(0.8, 0.05, 8)
    found = compare_means([(SPEC, table(mine), table(theirs))])
    assert (found.compared, found.fitting, found.equal) == (1, 0, 0)
    (words,) = found.apart
    assert words.startswith("own/cancer, iid, ε = 1: membership advantage of the loss attack 0.")
    assert f"{mine.mean():.3g} here" in words
    assert f"{theirs[8:].mean():.3g} there" in words


def test_too_few_runs_on_either_side_are_not_compared() -> None:
    values = np.random.default_rng(3).normal(0.5, 0.1, 30)
    assert compare_means([(SPEC, table(values[:5]), table(values))]).compared == 0
    assert compare_means([(SPEC, table(values[:8]), table(values[:13]))]).compared == 0
    assert compare_means([(SPEC, table(values[:8]), table(values[:14]))]).compared == 1


def test_p_values_are_those_of_all_permutations() -> None:
    """Against the share of all divisions of the values whose means are as far apart; twice the smaller tail."""
    mine, theirs = [0.1, 0.5, 0.9, 0.2, 0.7, 0.8], [0.1, 0.3, 0.2, 0.15, 0.4, 0.05]
    pooled = np.array([*mine, *theirs])
    gaps = []
    for chosen in combinations(range(12), 6):
        here = np.isin(range(12), chosen)
        gaps.append(pooled[here].mean() - pooled[~here].mean())
    seen = np.mean(mine) - np.mean(theirs)
    tails = np.mean(np.array(gaps) >= seen - 1e-12), np.mean(np.array(gaps) <= seen + 1e-12)
    assert _p_value(mine, theirs) == pytest.approx(min(1.0, 2 * min(tails)), abs=1e-9)
    assert _p_value([0.5] * 6, [0.5] * 6) == 1.0


def test_runs_that_are_alike_are_seldom_named() -> None:
    """At the stated level over all means of a run together: of 40 runs of five means, at most a few are named."""
    rng = np.random.default_rng(4)
    named = 0
    for _ in range(40):
        tables = [(SPEC, table(rng.beta(0.3, 0.3, 8)), table(rng.beta(0.3, 0.3, 20), 8)) for _ in range(5)]
        named += bool(compare_means(tables).apart)
    assert named <= 40 * LEVEL + 4


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=8),
    st.floats(-1, 1),
    st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(sorted),
)
def test_everything_that_is_drawn_lies_within_the_plot(values: list[float], line: float, ends: list[float]) -> None:
    plot = _plot(np.array(values), float(np.mean(values)), ends[0], (ends[0], ends[1]), line)
    drawn = [*plot.dots, plot.mean, plot.line, plot.left, plot.right, plot.their_mean]
    assert all(x is not None and INSET - 0.1 <= x <= WIDTH - INSET + 0.1 for x in drawn)
    order = sorted(range(len(values)), key=values.__getitem__)
    assert [plot.dots[i] for i in order] == sorted(plot.dots)


@pytest.mark.parametrize(
    ("trained", "time", "title", "lead"),
    [
        (167, "9 minutes", "167 models in 9 minutes", "were trained and attacked"),
        # Models that attacks learn from are counted, too.
        (900, "9 minutes", "167 models in 9 minutes", "were trained and attacked"),
        (
            80,
            "4 minutes",
            "167 models, 80 of them trained now, in 4 minutes",
            "were attacked, 80 trained in this run, the others in earlier ones",
        ),
        (
            0,
            "68 seconds",
            "167 models, all of them there already, in 68 seconds",
            "were attacked, all trained in earlier runs",
        ),
        (None, "68 seconds", "167 models", "were trained and attacked"),
        (None, "", "167 models", "were trained and attacked"),
    ],
)
def test_a_time_is_said_of_the_models_that_were_trained_in_it(
    trained: int | None, time: str, title: str, lead: str
) -> None:
    given: dict[str, Any] = {field.name: () for field in fields(OwnRun)}
    run = OwnRun(**given | {"models": 167, "trained": trained, "time": time})
    assert run.title == title
    assert run.training == f"167 models {lead}"


@pytest.mark.integration
def test_the_page_of_ones_own_run_says_what_was_run_and_whether_it_agrees(make_project: Callable[..., Project]) -> None:
    """A profile that decides one claim, beside a flagship that decides all: title, both verdicts, dots and commands."""
    project = make_project(SMALL_SPEC.replace("  repeats: 2\n", "  repeats: 8\n"))
    (project.root / "params.yaml").write_text(
        "profile: mine\nflagship: all\nprofiles:\n"
        "  mine: {decide: [own/cancer#biased-beats-iid], design: sequential, max_repeats: 8}\n"
        "  all: {design: sequential, from_tables: true, max_repeats: 8}\n"
    )
    assert run_cli(project.root, "run", "-p", "all").returncode == 0
    log = []
    for arguments in (("resolve",), ("run", "--stage", "attack"), ("judge", "--brief"), ("report", "--brief")):
        ran = run_cli(project.root, *arguments)
        assert ran.returncode == 0, ran.stderr
        log += [*ran.stdout.splitlines(), *ran.stderr.splitlines()]
    assert len(log) <= 40  # with set-up and fetching at most 60
    for stage in ("resolve", "measure", "judge", "report"):
        (line,) = [line for line in log if line.startswith(f"{stage} ")]
        assert re.fullmatch(rf"{stage} +\S.*; \d+ s", line)
    text = (project.reports / "mine" / "site" / "index.html").read_text()
    plain = " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())
    assert re.search(r"Your run: (\d+) models, all of them there already, in \d+ seconds", plain)
    assert re.search(r"\d+ models were attacked, all trained in earlier runs, those of a paper with", plain)
    assert "not run" not in plain
    assert re.search(r"The size split leaks more than the random split \([^)]+\)\.", plain)
    assert "The bound holds on the random split." not in plain
    assert "All 1 verdicts on models are those of the deciding run" in plain
    assert re.search(r"(\d+) single values have the same seed in both runs; \1 of them are equal", plain)
    assert text.count('class="run"') >= 2
    assert "harness explain" in plain
    closing = ran.stdout.splitlines()
    assert "profile mine: 1 claims" in closing
    assert any("reports/mine/site/index.html" in line for line in closing)
    assert all("\t" not in line for line in closing)
