"""The papers' figures redrawn from measurements, as SVG that needs no script and no network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.series import groups_by_outcome
from harness.coordinates import Place, format_level, place
from harness.coordinates import text as places_text
from harness.experiment import Experiment, ResultsFile
from harness.formulas import FORMULAS
from harness.report.anchors import mark
from harness.report.curves import draw_curves
from harness.report.lines import as_trained, last_of, over_all_outcomes, place_of_infinity, printed_values, series
from harness.report.theme import BOUND, COLOURS, Hover, Label, Titles, label_ends, register_hover, svg_of
from harness.report.vocabulary import attack_words, figure, metric_words
from harness.spec.model import Spec
from harness.spec.page import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ("-", "--", ":", "-.")
CROSS: dict[str, Any] = {"markersize": 6, "markeredgewidth": 1.4, "zorder": 4}
"""How a printed value is marked."""
LONGEST = 50
"""Characters of names below a panel that fit side by side."""
FEW = 4
"""Epsilons of a grid that are all named below the axis; of more, powers of ten."""
LETTER = {"epsilon": "ε", "delta": "δ"}
METRIC_LABELS = {
    "accuracy_train": "train",
    "accuracy_test": "test",
    "accuracy_nonmembers": "non-members",
}


def draw(spec: Spec, table: pd.DataFrame) -> list[str]:
    """The panels of a spec's figure, each as one `<svg>` element."""
    usual = (Panel(title="Membership advantage", metrics=("advantage",)),) if spec.own_experiment is not None else ()
    panels = spec.figure or usual
    svgs = []
    for index, panel in enumerate(panels):
        if panel.curve is not None:
            svgs += draw_curves(spec, table, panel, f"{spec.id} {index}")
            continue

        def paint(axes: list[Axes], panel: Panel = panel) -> Titles:
            titles: dict[str, list[Hover]] = {}
            paint_panel(axes[0], panel, spec, table, titles)
            return titles

        label = f"{spec.where}: {panel.title} ({spec.title}); the numbers are in the table below it"
        svgs.append(svg_of(1, paint, label, f"{spec.id} {index}"))
    return svgs


def paint_panel(
    axis: Axes,
    panel: Panel,
    spec: Spec,
    table: pd.DataFrame,
    titles: dict[str, list[Hover]] | None = None,
    label: bool = True,
) -> list[Label]:
    """Draw one panel of a spec's measurements on `axis`; it reaches as high as its highest point.

    Args:
        titles: receives what points say on hover, by the name of their line.
        label: whether to write names at the curves.

    Returns:
        the names that curves bear.
    """
    assert spec.experiment is not None
    titles = {} if titles is None else titles
    if panel.x == "arm":
        highest, labels = _arms(axis, panel, spec, table, titles)
    else:
        highest, labels = _curves(axis, panel, spec, table, titles)
    axis.set_ylabel(panel.y or metric_words(panel.metrics[0]))
    axis.set_title(panel.title, fontsize=10.5, loc="left", pad=10)
    below_zero = spec.attack_metrics & set(panel.metrics)
    top = max(panel.top, 1.05 * highest)
    drawn = [np.asarray(line.get_ydata(), float) for line in axis.lines]  # intervals of few repeats have no end
    lowest = min((float(np.min(y[np.isfinite(y)])) for y in drawn if np.isfinite(y).any()), default=0.0)
    axis.set_ylim(min(-0.1 * min(1.0, top), 1.05 * lowest) if below_zero else 0.0, top)
    axis.grid(linewidth=0.6)
    axis.set_axisbelow(True)
    if label:
        label_ends(axis, labels)
    return labels


def _point_text(name: str, across: str, x: Any, mean: float, low: float, high: float) -> str:
    at = "without noise" if across == "epsilon" and np.isinf(x) else f"{LETTER.get(across, across)} = {format_level(x)}"
    ends = f" ({figure(low)} to {figure(high)})" if math.isfinite(low) and math.isfinite(high) else ""
    return f"{name}, {at}: {figure(mean)}{ends}"


def _arms(
    axis: Axes, panel: Panel, spec: Spec, table: pd.DataFrame, titles: dict[str, list[Hover]]
) -> tuple[float, list[Label]]:
    """Arms side by side, at the largest epsilon; returns the highest value and the names of the series."""
    assert spec.experiment is not None
    arms = panel.arms or tuple(spec.experiment.arms)
    of_attacks = spec.attack_metrics
    highest, labels, printed = 0.0, list[Label](), printed_values(spec)
    names = [spec.experiment.arms[arm].label or arm for arm in arms]
    for metric in panel.metrics:
        for nth, attack in enumerate(panel.attacks or spec.attack_names if metric in of_attacks else ("",)):
            of_arms = [
                (i, last_of(series(table, arm, attack, metric, axes=spec.axes), panel.at)) for i, arm in enumerate(arms)
            ]
            points = [(i, *values[1:]) for i, values in of_arms if values is not None]
            wheres = {i: values[0] for i, values in of_arms if values is not None}
            if not points:
                continue
            across, mean, low, high = np.array(points).T
            name = METRIC_LABELS.get(metric, metric_words(metric))
            label = f"{name}, {attack_words(attack)}" if attack else name
            label = attack_words(attack) if attack and len(panel.metrics) == 1 else label
            colour = COLOURS[len(labels) % len(COLOURS)]
            drawn = axis.errorbar(
                across,
                mean,
                yerr=[mean - low, high - mean],
                fmt="o",
                markersize=4,
                capsize=3,
                label=label,
                color=colour,
                fillstyle="full" if nth == 0 else "none",
            )
            texts = [
                Hover(
                    f"{names[int(i)]}, {label}: {figure(m)} ({figure(lo)} to {figure(hi)})",
                    mark(arms[int(i)], attack, metric, wheres[int(i)]),
                )
                for i, m, lo, hi in zip(across, mean, low, high, strict=True)
            ]
            drawn.lines[0].set_gid(register_hover(titles, texts))
            keys = {i: ((arms[i], attack, metric), where) for i, where in wheres.items()}
            known = [(i, printed[key]) for i, key in keys.items() if key in printed]
            if known:
                there, given = zip(*known, strict=True)
                texts = [Hover(f"the paper prints {figure(v)} for {names[i]}, {label}") for i, v in known]
                axis.plot(there, given, "x", color=colour, gid=register_hover(titles, texts), **CROSS)
            labels.append((label, colour, float(mean[-1])))
            highest = max(highest, float(np.where(np.isfinite(high), high, mean).max()), *(v for _, v in known))
    wide = max(8, LONGEST // len(names))
    axis.set_xticks(range(len(arms)), ["\n".join(wrap(name, wide)) for name in names], fontsize=8)
    axis.set_xlim(-0.5, len(arms) - 0.5)
    return highest, labels


@dataclass(frozen=True)
class _Across:
    """The horizontal axis of a panel: where each epsilon of an arm is drawn, or the axis' own values."""

    over: str
    """The axis that curves are over."""
    epsilons: Mapping[str, Array]
    """By arm: its grid."""
    positions: Mapping[str, Array]
    """By arm: where each of those is drawn, infinity left out."""
    beyond: float
    """Where infinity is drawn."""

    def positions_of(self, arm: str) -> dict[float, float]:
        """By epsilon of an arm: where it is drawn."""
        pairs = zip(self.epsilons[arm], self.positions[arm], strict=True)
        return {float(e): float(min(p, self.beyond)) for e, p in pairs}


def _across_of(panel: Panel, experiment: Experiment | ResultsFile, table: pd.DataFrame, arms: Sequence[str]) -> _Across:
    grids = {arm: np.array(dict(experiment.levels(arm)).get("epsilon", ()), float) for arm in arms}
    places = grids
    if panel.x == "epsilon-as-trained" and isinstance(experiment, Experiment):
        places = {arm: as_trained(experiment, table, arm) for arm in arms}
    over = "epsilon" if panel.x == "epsilon-as-trained" else panel.x
    beyond = place_of_infinity(np.concatenate(list(places.values()))) if over == "epsilon" else math.inf
    return _Across(over, grids, places, beyond)


def _curves(
    axis: Axes, panel: Panel, spec: Spec, table: pd.DataFrame, titles: dict[str, list[Hover]]
) -> tuple[float, list[Label]]:
    """Means over an axis, their intervals, printed values and formulas; returns the highest mean and their names."""
    experiment = spec.experiment
    assert experiment is not None
    arms = panel.arms or tuple(experiment.arms)
    of_attacks = spec.attack_metrics
    attacks = panel.attacks or spec.attack_names
    curves = [
        (arm, attack, metric)
        for arm, metric in product(arms, panel.metrics)
        for attack in (attacks if metric in of_attacks else ("",))
    ]
    by_arm, across, printed = len(arms) > 1, _across_of(panel, experiment, table, arms), printed_values(spec)
    over_epsilon = across.over == "epsilon"
    labels, highest, drawn = list[Label](), 0.0, list[float]()
    for index, curve in enumerate(curves):
        arm, attack, metric = curve
        at = across.positions_of(arm)
        lines = series(table, arm, attack, metric, across.over, spec.axes)
        fixed = {key: value for key, value in panel.at.items() if key != across.over}
        lines = {rest: line for rest, line in lines.items() if fixed.items() <= dict(rest).items()}
        for nth, (rest, line) in enumerate(lines.items()):
            by_outcome = metric in of_attacks and over_epsilon
            if by_outcome:
                kept = over_all_outcomes(table, curve, line[0])
                line = line[0][kept], line[1][kept], line[2][kept], line[3][kept]
            x = np.array([at[e] for e in line[0]]) if over_epsilon else line[0]
            drawn += [float(v) for v in x if over_epsilon and v < across.beyond]
            colour = COLOURS[(arms.index(arm) if by_arm else index) % len(COLOURS)]
            told = panel.metrics.index(metric) if by_arm else 0
            style = STYLES[((attacks.index(attack) if attack else 0) + told + nth) % len(STYLES)]
            label = _label(spec, panel, curve, dict(rest), by_arm, len(attacks) > 1)
            where = [place({**dict(rest), across.over: level}) for level in line[0].tolist()]
            _paint_line(axis, curve, where, across.over, (x, *line), (label, colour, style), titles)
            highest = max(highest, float(line[1].max()))
            labels.append((label, colour, float(line[1][-1])))
            if by_outcome:
                thin = {"color": colour, "linestyle": style, "linewidth": 0.8, "alpha": 0.55}
                highest = max(highest, _outcomes(axis, table, curve, at, thin))
            known = [(v, printed[curve, spot]) for spot, v in zip(where, x, strict=True) if (curve, spot) in printed]
            _paint_printed(axis, known, label, colour, titles)
    if not over_epsilon:
        axis.set_xlabel(across.over)
        return highest, labels
    finite = [float(e) for grid in across.epsilons.values() for e in grid if math.isfinite(e)]
    _paint_formulas(
        axis, panel, _given_to_formulas(spec, arms[0]), drawn if panel.x != "epsilon" and drawn else finite, labels
    )
    axis.set_xscale("log")
    if panel.x == "epsilon":
        _ticks(axis, tuple(sorted({float(e) for grid in across.epsilons.values() for e in grid})))
        axis.set_xlabel("ε")
    else:
        axis.set_xlabel("ε as trained (shuffled batches, without amplification)")
    return highest, labels


def _paint_line(
    axis: Axes,
    curve: tuple[str, str, str],
    where: Sequence[Place],
    over: str,
    line: tuple[Array, Array, Array, Array, Array],
    look: tuple[str, str, str],
    titles: dict[str, list[Hover]],
) -> None:
    """A mean with its interval: `line` is x, levels, mean, low, high, (k,) each; `look` its name, colour and style."""
    x, levels, mean, low, high = line
    label, colour, style = look
    rows = zip(levels, mean, low, high, strict=True)
    texts = [Hover(_point_text(label, over, *row), mark(*curve, spot)) for row, spot in zip(rows, where, strict=True)]
    gid = register_hover(titles, texts)
    axis.plot(x, mean, style, color=colour, marker="o", markersize=3.5, linewidth=1.6, label=label, gid=gid)
    axis.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0)


def _paint_printed(
    axis: Axes, known: Sequence[tuple[float, float]], label: str, colour: str, titles: dict[str, list[Hover]]
) -> None:
    """Crosses where the paper prints a number: horizontal place and value."""
    if known:
        there, given = zip(*known, strict=True)
        texts = [Hover(f"the paper prints {figure(v)} for {label}") for v in given]
        axis.plot(there, given, "x", color=colour, gid=register_hover(titles, texts), **CROSS)


def _given_to_formulas(spec: Spec, arm: str) -> dict[str, float]:
    """Parameters of formulas that are known of an arm."""
    if spec.results is not None:
        known = {"delta": spec.results.delta, "prior": spec.results.prior_of(arm)}
        return {name: value for name, value in known.items() if value is not None}
    assert spec.own_experiment is not None
    return {"delta": spec.own_experiment.arms[arm].privacy.delta, "prior": spec.own_experiment.arms[arm].prior}


def _paint_formulas(
    axis: Axes, panel: Panel, given: Mapping[str, float], finite: Sequence[float], labels: list[Label]
) -> None:
    """The formulas that a panel names, from the least to the largest finite epsilon; adds their names to `labels`."""
    for name in panel.formulas if finite else ():
        fine = np.geomspace(max(1e-6, min(finite)), max(finite), 200)
        curve = FORMULAS[name].curve(fine, **given)
        axis.plot(fine, curve, color=BOUND, linewidth=1.3, label=f"bound ({name})")
        labels.append((f"bound ({name})", BOUND, float(curve[-1])))


def _label(
    spec: Spec, panel: Panel, curve: tuple[str, str, str], rest: dict[str, object], by_arm: bool, several: bool
) -> str:
    """Name of a curve in the legend."""
    arm, attack, metric = curve
    assert spec.experiment is not None
    arm_label = spec.experiment.arms[arm].label or arm
    of_metric = METRIC_LABELS.get(metric, metric_words(metric))
    label = f"{arm_label}, {attack_words(attack)}" if attack and several else of_metric
    if by_arm and not (attack and several):
        label = arm_label if len(panel.metrics) == 1 else f"{arm_label}: {label}"
    others = {axis: value for axis, value in rest.items() if axis not in panel.at}
    return f"{label} ({places_text(others)})" if others else label


def _outcomes(
    axis: Axes, table: pd.DataFrame, curve: tuple[str, str, str], at: dict[float, float], line: dict[str, Any]
) -> float:
    """A thin line for each outcome that a curve's split drew; returns the highest value."""
    arm, attack, metric = curve
    lines: dict[int, list[tuple[float, float]]] = {}
    for _, name, outcome, epsilon, part in groups_by_outcome(table[table["arm"] == arm], metric):
        if name == attack:
            lines.setdefault(outcome, []).append((at[epsilon], float(part["value"].mean())))
    for nth, points in enumerate(lines.values()):
        axis.plot(*zip(*points, strict=True), **line, label="by what its split drew" if nth == 0 else None)
    return max((value for points in lines.values() for _, value in points), default=0.0)


def _ticks(axis: Axes, epsilons: tuple[float, ...]) -> None:
    grid = np.array(epsilons)
    where = np.minimum(grid, place_of_infinity(grid))
    few = len(grid) <= FEW
    wanted = [i for i, e in enumerate(grid) if few or not math.isfinite(e) or math.log10(e) % 1 == 0]
    axis.set_xticks(where[wanted], ["∞" if math.isinf(grid[i]) else f"{grid[i]:g}" for i in wanted])
    axis.minorticks_off()
