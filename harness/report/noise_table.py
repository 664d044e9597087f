"""Declared noise beside calibrated noise: which epsilon each is worth, and what attacks make of either."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

import pandas as pd

from harness.claims.series import intervals_of
from harness.experiment.experiment import Experiment
from harness.experiment.setup import DeclaredNoise, Setup
from harness.privacy.accountants import ACCOUNTANTS, Run
from harness.report.vocabulary import attack_words, figure

METRIC = "advantage"
"""What is shown of both."""
Advantages = Mapping[tuple[str, str], Mapping[float, str]]
"""By arm and attack: mean and half-width at each epsilon."""


@dataclass(frozen=True)
class NoiseRow:
    """One nominal epsilon."""

    epsilon: float
    declared: str
    by_maker: str
    """Epsilon of the declared noise by the accountant that made it, for what it was made for."""
    here: str
    """The same by the spec's own accountant, for the records that the spec trains on."""
    calibrated: str
    """Noise that the spec's own accountant asks for."""
    cells: tuple[tuple[str, str], ...]
    """Of each column: the advantage with the declared noise, and with the calibrated one; empty where it was not
    measured."""


@dataclass(frozen=True)
class NoiseTable:
    """Both noises of a spec."""

    name: str
    maker: str
    """The accountant that made the declared noise, and for what."""
    accountant: str
    records: int
    columns: tuple[str, ...]
    """Set-ups and attacks."""
    rows: tuple[NoiseRow, ...]
    judged_by: Literal["declared", "calibrated"]
    """The noise of the spec's own measurements, by which claims are judged; the other is a reading."""


def compare_noises(
    experiment: Experiment,
    table: pd.DataFrame,
    calibrated: pd.DataFrame,
    judged_by: Literal["declared", "calibrated"] = "declared",
    attack_labels: Mapping[str, str] = MappingProxyType({}),
) -> NoiseTable | None:
    """Noise that is declared beside the noise that an accountant asks for.

    Args:
        experiment: the one that declares it, a spec's own or that of a reading.
        table: measured with the declared noise.
        calibrated: measured with the other.
        judged_by: which of them are the spec's own measurements.
        attack_labels: what the spec calls attacks, by name.

    Returns:
        None where no arm declares noise.
    """
    declaring = {v.arm: v.setup for v in experiment.variants() if v.setup.privacy.noise_multipliers is not None}
    if not declaring:
        return None
    setup = next(iter(declaring.values()))
    declared = setup.privacy.noise_multipliers
    assert declared is not None
    sides = [_advantages(one, experiment.coordinates) for one in (table, calibrated)]
    columns = [key for key in sides[0] if key[0] in declaring]
    noise = calibrated[calibrated["arm"].isin(list(declaring))].groupby("epsilon")["noise_multiplier"].first()
    rows = [
        NoiseRow(
            epsilon,
            f"{sigma:g}",
            _worth_by_maker(declared, sigma, setup),
            epsilon_of_noise(setup.privacy.accountant, sigma, _run_here(setup)),
            f"{noise[epsilon]:.4g}" if epsilon in noise.index else "",
            tuple((sides[0][key].get(epsilon, ""), sides[1].get(key, {}).get(epsilon, "")) for key in columns),
        )
        for epsilon, sigma in declared.values.items()
        if any(epsilon in sides[0][key] for key in columns)
    ]
    made = declared.made_for
    maker = f"{declared.made_by}, for {made.records:,} records" if declared.made_by and made else ""
    labels = {arm: experiment.arms[arm].label or arm for arm in declaring}
    names = tuple(f"{labels[arm]}, {attack_words(attack, attack_labels)}" for arm, attack in columns)
    accountant = setup.privacy.accountant
    return NoiseTable(declared.name or "declared", maker, accountant, setup.train_size, names, tuple(rows), judged_by)


def _run_here(setup: Setup) -> Run:
    return Run(setup.train_size, setup.training.batch_size, setup.training.epochs, setup.privacy.delta)


def _worth_by_maker(declared: DeclaredNoise, sigma: float, setup: Setup) -> str:
    made = declared.made_for
    if declared.made_by is None or made is None:
        return ""
    run = Run(made.records, made.batch_size, made.epochs, setup.privacy.delta)
    return epsilon_of_noise(declared.made_by, sigma, run)


@cache
def epsilon_of_noise(accountant: str, sigma: float, run: Run) -> str:
    """Epsilon of noise by an accountant; specs of one paper share most of it."""
    return figure(ACCOUNTANTS[accountant].epsilon(sigma, run))


def _advantages(table: pd.DataFrame, axes: tuple[str, ...]) -> dict[tuple[str, str], dict[float, str]]:
    advantages: dict[tuple[str, str], dict[float, str]] = {}
    for (arm, attack, _, where), (mean, low, high) in intervals_of(table, (METRIC,), axes).items():
        at = dict(where)
        if at.keys() != {"epsilon"}:
            continue
        half = max(high - mean, mean - low)
        text = f"{mean:.3f}" + (f" ± {half:.3f}" if math.isfinite(half) else "")
        advantages.setdefault((arm, attack), {})[float(at["epsilon"])] = text
    return advantages
