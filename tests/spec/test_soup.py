"""Specs about measurements with one word or number exchanged: a verdict or one clear line, by either design."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.attacks.attribute import AttributeInference
from harness.claims.verdict import VerdictFile, dump
from harness.errors import HarnessError
from harness.metrics import metrics_of
from harness.paths import Project
from harness.spec.load import load_spec
from harness.spec.profile import Profile, scale
from harness.verdicts.check import judge_spec
from harness.verdicts.wanted import repeats_wanted
from tests.conftest import REPO

SOUP = (REPO / "tests" / "spec" / "soup.yaml").read_text().splitlines()
METRICS = metrics_of("attack")


def drawn(rng: np.random.Generator, mean: float) -> float:
    """Within the range of every metric."""
    return float(np.clip(rng.normal(mean, 0.1), 0.01, 0.99))


def measurements() -> pd.DataFrame:
    """Made-up measurements of the soup's experiment as it stands unchanged; one metric never varies."""
    rng, rows = np.random.default_rng(0), []
    names = [(attack, metric) for attack in ("logloss", "shokri") for metric in METRICS]
    names += [("", metric) for metric in (*metrics_of("model"), *metrics_of("baseline"), "count_members", "count_rows")]
    names += [("attribute", metric) for metric in AttributeInference().measures]
    for arm in ("size", "iid", "other"):
        for epsilon in (1.0, 10.0, 100.0, float("inf")):
            for repeat in range(8 if arm == "iid" else 7):
                for attack, metric in names:
                    value = 120.0 if metric.startswith("count") else 0.5 if metric == "tpr" else drawn(rng, 0.2)
                    rows.append((arm, attack, metric, epsilon, repeat, value, 0.01, 1.0 / epsilon))
                if repeat == 0:
                    for attack in ("logloss", "shokri"):
                        rows += [
                            (arm, attack, metric, epsilon, 0, 20.0 * min(epsilon, 200.0), 4.0, 1.0 / epsilon)
                            for metric in metrics_of("runs")
                        ]
    columns = ["arm", "attack", "metric", "epsilon", "repeat", "value", "stderr", "noise_multiplier"]
    return pd.DataFrame(rows, columns=columns)


TABLE = measurements()
WORDS = [
    "0",
    "-1",
    "1.0e+308",
    ".nan",
    ".inf",
    "1.5",
    "true",
    "null",
    "[]",
    "{}",
    "text",
    "compare",
    "{value: 1}",
    "[1, 2]",
    "'__import__(\"os\")'",
    "iid",
    "advantage",
    "table",
    "zcdp",
    "1",
]


@pytest.mark.integration
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, len(SOUP) - 1), st.sampled_from(WORDS), st.integers(0, 60), st.booleans())
def test_any_mutated_spec_is_judged_or_one_clear_error(
    tmp_path: Path, index: int, word: str, place: int, sequential: bool
) -> None:
    tokens = list(re.finditer(r"-?\.?\d[\d.e+-]*|\.inf|\b[a-z_][a-z_-]*\b|[\[{}\]]|\"[<>]=?\"", SOUP[index]))
    if not tokens:
        return
    token = tokens[place % len(tokens)]
    line = SOUP[index][: token.start()] + word + SOUP[index][token.end() :]
    path = tmp_path / "soup.yaml"
    path.write_text("\n".join([*SOUP[:index], line, *SOUP[index + 1 :]]) + "\n")
    table = TABLE.copy()
    table.attrs["design"] = "sequential" if sequential else "fixed"
    try:
        loaded = load_spec(Project(REPO), path)
        scaled = scale(loaded.spec, "full", Profile())
        if loaded.spec.experiment is not None:
            verdicts = judge_spec(scaled, loaded.sha256, table)
            dump(VerdictFile(profile="full", alpha=0.05, verdicts=tuple(verdicts)))
            if sequential:
                repeats_wanted(scaled, table)
    except HarnessError as error:
        assert str(error).strip()


def test_the_soup_itself_is_judged() -> None:
    loaded = load_spec(Project(REPO), REPO / "tests" / "spec" / "soup.yaml")
    verdicts = judge_spec(scale(loaded.spec, "full", Profile()), loaded.sha256, TABLE)
    assert [v.id.split("#")[1] for v in verdicts] == list("abcdefghijkl")
    assert "not run" not in {v.verdict for v in verdicts}


AXES = (REPO / "tests" / "spec" / "soup_axes.yaml").read_text().splitlines()


def measured_on_axes() -> pd.DataFrame:
    """Made-up measurements of that spec as it stands unchanged."""
    rng, rows = np.random.default_rng(0), []
    loaded = load_spec(Project(REPO), REPO / "tests" / "spec" / "soup_axes.yaml")
    assert loaded.spec.experiment is not None
    for variant in loaded.spec.experiment.variants():
        for repeat in range(8):
            names: list[tuple[str, str, float]] = [("", m, np.nan) for m in metrics_of("model")]
            names += [("logloss", m, np.nan) for m in METRICS]
            names += [("attribute", m, count) for m in AttributeInference().measures for count in (1.0, 2.0, 3.0)]
            for attack, metric, count in names:
                where = (variant.arm, attack, metric, variant.epsilon, variant.place["rate"], count)
                rows.append((*where, repeat, drawn(rng, 0.3), 0.01, 1.0 / variant.epsilon))
    columns = ["arm", "attack", "metric", "epsilon", "rate", "count", "repeat", "value", "stderr", "noise_multiplier"]
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.integration
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, len(AXES) - 1), st.sampled_from([*WORDS, "rate", "{axis: q, values: [1]}"]), st.integers(0, 60))
def test_any_mutated_spec_with_axes_is_judged_or_one_clear_error(
    tmp_path: Path, index: int, word: str, place: int
) -> None:
    tokens = list(re.finditer(r"-?\.?\d[\d.e+-]*|\.inf|\b[a-z_][a-z_-]*\b|[\[{}\]]|\"[<>]=?\"", AXES[index]))
    if not tokens:
        return
    token = tokens[place % len(tokens)]
    line = AXES[index][: token.start()] + word + AXES[index][token.end() :]
    path = tmp_path / "soup.yaml"
    path.write_text("\n".join([*AXES[:index], line, *AXES[index + 1 :]]) + "\n")
    try:
        loaded = load_spec(Project(REPO), path)
        scaled = scale(loaded.spec, "full", Profile())
        if loaded.spec.experiment is not None and set(loaded.spec.axes) <= set(ON_AXES.columns):
            verdicts = judge_spec(scaled, loaded.sha256, ON_AXES)
            dump(VerdictFile(profile="full", alpha=0.05, verdicts=tuple(verdicts)))
    except HarnessError as error:
        assert str(error).strip()


ON_AXES = measured_on_axes()


def test_the_soup_with_axes_itself_is_judged() -> None:
    loaded = load_spec(Project(REPO), REPO / "tests" / "spec" / "soup_axes.yaml")
    verdicts = judge_spec(scale(loaded.spec, "full", Profile()), loaded.sha256, ON_AXES)
    assert [v.id.split("#")[1] for v in verdicts] == list("abcdefghijkl")
    assert "not run" not in {v.verdict for v in verdicts}
    assert [len(v.parts) for v in verdicts] == [4, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1]
