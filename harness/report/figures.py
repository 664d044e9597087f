"""The papers' figures redrawn from measurements, as SVG that needs no script and no network."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.claims.evidence import groups_by_outcome, means
from harness.experiment import Experiment
from harness.formulas import FORMULAS
from harness.formulas.gaussian import shuffled_epsilon
from harness.hashing import fingerprint
from harness.places import Place, place
from harness.places import text as places_text
from harness.spec.model import Spec
from harness.spec.page import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0b6e99", "#d9730d", "#6940a5", "#0f7b6c", "#ad1a72", "#64473a")
STYLES = ("-", "--", ":", "-.")
PANELS_ACROSS = 3
METRIC_LABELS = {
    "accuracy_train": "train",
    "accuracy_test": "test",
    "accuracy_nonmembers": "non-members",
}


Line = tuple[Array, Array, Array, Array]
"""(x, mean, low, high), (k,) each."""


def series(
    table: pd.DataFrame, arm: str, attack: str, metric: str, x: str = "epsilon", axes: Sequence[str] = ("epsilon",)
) -> dict[Place, Line]:
    """Curves over the axis `x`, with 95% intervals over repeats: one for each place on the other axes."""
    found = means(table[table["arm"] == arm], (metric,), axes)
    lines: dict[Place, list[tuple[Any, ...]]] = {}
    for (_, of, _, where), mean in found.items():
        at = dict(where)
        if of == attack and x in at:
            rest = place((axis, value) for axis, value in where if axis != x)
            lines.setdefault(rest, []).append((at[x], mean.mean, *mean.interval()))
    return {rest: _line(rows) for rest, rows in lines.items()}


def _line(rows: list[tuple[Any, ...]]) -> Line:
    columns = list(zip(*sorted(rows, key=lambda row: (isinstance(row[0], str), row[0])), strict=True))
    return (np.array(columns[0]), *(np.array(c, float) for c in columns[1:]))  # type: ignore[return-value]


def _beyond(epsilon: Array) -> float:
    """Where infinity is drawn: one decade to the right of the largest finite epsilon."""
    finite = epsilon[np.isfinite(epsilon)]
    return float(finite.max() if len(finite) else 1.0) * 10


def draw(spec: Spec, table: pd.DataFrame) -> str:
    """All panels of a spec side by side, as one `<svg>` element."""
    panels = spec.figure or (Panel(title="Membership advantage", metrics=("advantage",)),)

    def paint(axes: list[Axes]) -> None:
        for axis, panel in zip(axes, panels, strict=True):
            paint_panel(axis, panel, spec, table)

    return _svg(len(panels), paint, f"{spec.where}: {spec.title}", spec.id)


def _svg(panels: int, paint: Callable[[list[Axes]], None], label: str, name: str = "figure") -> str:
    """Run `paint` on fresh axes and return the SVG; the same data always give the same bytes.

    Names inside it start with a hash of `name`, so that several fit on one page.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings: Any = {"svg.hashsalt": "harness", "svg.fonttype": "none", "font.size": 10}
    with mpl.rc_context(settings):
        across = panels if panels <= PANELS_ACROSS else PANELS_ACROSS
        down = math.ceil(panels / across)
        figure = Figure(figsize=(6.2 * across, 4.1 * down))
        paint([figure.add_subplot(down, across, i + 1) for i in range(panels)])
        figure.tight_layout()
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    own = "f" + fingerprint(name)[:5]
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{own}-", svg)
    return svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{escape(label, quote=True)}"', 1)


def paint_panel(axis: Axes, panel: Panel, spec: Spec, table: pd.DataFrame) -> None:
    """Draw one panel of a spec's measurements on `axis`; it reaches as high as its highest point."""
    assert spec.experiment is not None
    if panel.x == "arm":
        highest = _arms(axis, panel, spec, table)
    else:
        highest = _curves(axis, panel, spec, table)
    axis.set_ylabel(panel.y or panel.metrics[0])
    axis.set_title(panel.title, fontsize=11)
    below_zero = {metric for attack in spec.attacks.values() for metric in attack.measures} & set(panel.metrics)
    top = max(panel.top, 1.05 * highest)
    drawn = [np.asarray(line.get_ydata(), float) for line in axis.lines]  # intervals of few repeats have no end
    lowest = min((float(np.min(y[np.isfinite(y)])) for y in drawn if np.isfinite(y).any()), default=0.0)
    axis.set_ylim(min(-0.1 * min(1.0, top), 1.05 * lowest) if below_zero else 0.0, top)
    axis.grid(alpha=0.25)
    axis.legend(fontsize=8, framealpha=0.85)


def _arms(axis: Axes, panel: Panel, spec: Spec, table: pd.DataFrame) -> float:
    """Arms side by side, at the largest epsilon; returns the highest value."""
    assert spec.experiment is not None
    arms = panel.arms or tuple(spec.experiment.arms)
    of_attacks = {metric for attack in spec.attacks.values() for metric in attack.measures}
    highest = 0.0
    for index, metric in enumerate(panel.metrics):
        for number, attack in enumerate(panel.attacks or tuple(spec.attacks) if metric in of_attacks else ("",)):
            of_arms = [(i, _largest(series(table, arm, attack, metric))) for i, arm in enumerate(arms)]
            found = [(i, *values) for i, values in of_arms if values is not None]
            if not found:
                continue
            place, mean, low, high = np.array(found).T
            label = METRIC_LABELS.get(metric, metric) + (f", {attack}" if attack else "")
            axis.errorbar(
                place,
                mean,
                yerr=[mean - low, high - mean],
                fmt="o",
                markersize=4,
                capsize=3,
                label=label,
                color=COLOURS[index % len(COLOURS)],
                fillstyle="full" if number == 0 else "none",
            )
            highest = max(highest, float(np.where(np.isfinite(high), high, mean).max()))
    axis.set_xticks(range(len(arms)), [spec.experiment.arms[arm].label or arm for arm in arms])
    axis.set_xlim(-0.5, len(arms) - 0.5)
    return highest


def _largest(lines: dict[Place, Line]) -> tuple[float, float, float] | None:
    """Mean and interval at the largest value of the axis."""
    for line in lines.values():
        return float(line[1][-1]), float(line[2][-1]), float(line[3][-1])
    return None


def _curves(axis: Axes, panel: Panel, spec: Spec, table: pd.DataFrame) -> float:
    """Means over an axis, their intervals, printed values and formulas; returns the highest mean."""
    experiment = spec.experiment
    assert experiment is not None
    arms = panel.arms or tuple(experiment.arms)
    of_attacks = {metric for attack in spec.attacks.values() for metric in attack.measures}
    attacks = panel.attacks or tuple(spec.attacks)
    curves = [
        (arm, attack, metric)
        for arm, metric in product(arms, panel.metrics)
        for attack in (attacks if metric in of_attacks else ("",))
    ]
    by_arm, over = len(arms) > 1, "epsilon" if panel.x == "epsilon-as-trained" else panel.x
    grids = {arm: np.array(dict(experiment.levels(arm)).get("epsilon", ()), float) for arm in arms}
    places = grids if panel.x != "epsilon-as-trained" else {a: _as_trained(experiment, table, a) for a in arms}
    beyond = _beyond(np.concatenate(list(places.values()))) if over == "epsilon" else math.inf
    printed = printed_values(spec)
    across: list[float] = []
    labelled, highest = False, 0.0
    for index, (arm, attack, metric) in enumerate(curves):
        at = {float(e): float(min(p, beyond)) for e, p in zip(grids[arm], places[arm], strict=True)}
        lines = series(table, arm, attack, metric, over, spec.axes)
        fixed = {key: value for key, value in panel.at.items() if key != over}
        lines = {rest: line for rest, line in lines.items() if fixed.items() <= dict(rest).items()}
        for number, (rest, (levels, mean, low, high)) in enumerate(lines.items()):
            x = np.array([at[e] for e in levels]) if over == "epsilon" else levels
            across += [float(v) for v in x if over == "epsilon" and v < beyond]
            highest = max(highest, float(mean.max()))
            colour = COLOURS[(arms.index(arm) if by_arm else index) % len(COLOURS)]
            style = STYLES[((attacks.index(attack) if attack else 0) + number) % len(STYLES)]
            label = _label(spec, panel, (arm, attack, metric), dict(rest), by_arm, len(attacks) > 1)
            axis.plot(x, mean, style, color=colour, marker="o", markersize=3.5, linewidth=1.6, label=label)
            axis.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0)
            if metric in of_attacks and over == "epsilon":
                line = {"color": colour, "linestyle": style, "linewidth": 0.8, "alpha": 0.55}
                highest = max(highest, _outcomes(axis, table, (arm, attack, metric), at, line))
            key = arm, attack, metric
            known = [
                (where, printed[key, place({**dict(rest), over: level})])
                for level, where in zip(levels, x, strict=True)
                if (key, place({**dict(rest), over: level})) in printed
            ]
            if known:
                note = None if labelled else "printed in the paper"
                there, given = zip(*known, strict=True)
                axis.plot(there, given, "x", color=colour, markersize=6, markeredgewidth=1.4, zorder=4, label=note)
                labelled = True
    if over != "epsilon":
        axis.set_xlabel(over)
        return highest
    finite = [float(e) for grid in grids.values() for e in grid if math.isfinite(e)]
    finite = across or finite if panel.x != "epsilon" else finite
    facts = {"delta": experiment.arms[arms[0]].privacy.delta, "prior": experiment.arms[arms[0]].prior}
    for name in panel.formulas if finite else ():
        fine = np.geomspace(max(1e-6, min(finite)), max(finite), 200)
        axis.plot(fine, FORMULAS[name].curve(fine, **facts), color="black", linewidth=1.3, label=f"bound ({name})")
    axis.set_xscale("log")
    if panel.x == "epsilon":
        _ticks(axis, tuple(sorted({float(e) for grid in grids.values() for e in grid})))
        axis.set_xlabel("epsilon")
    else:
        axis.set_xlabel("epsilon as trained (exact, shuffled batches)")
    return highest


def _label(
    spec: Spec, panel: Panel, curve: tuple[str, str, str], rest: dict[str, Any], by_arm: bool, several: bool
) -> str:
    """Name of a curve in the legend."""
    arm, attack, metric = curve
    assert spec.experiment is not None
    arm_label = spec.experiment.arms[arm].label or arm
    label = f"{arm_label}, {attack}" if attack and several else METRIC_LABELS.get(metric, metric)
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
    for number, points in enumerate(lines.values()):
        axis.plot(*zip(*points, strict=True), **line, label="by what its split drew" if number == 0 else None)
    return max((value for points in lines.values() for _, value in points), default=0.0)


def _as_trained(experiment: Experiment, table: pd.DataFrame, arm: str) -> Array:
    """The exact epsilon of the noise at each epsilon of the grid on shuffled batches, for add/remove-one neighbours."""
    noise = table[table["arm"] == arm].groupby("epsilon")["noise_multiplier"].first()
    setup = experiment.arms[arm]
    twice = setup.training.clipping == "batch"
    known = {
        e: shuffled_epsilon(float(sigma), setup.training.epochs, setup.privacy.delta, twice)
        for e, sigma in noise.items()
    }
    return np.array([known.get(e, math.nan) for e in experiment.levels(arm)["epsilon"]])


def printed_values(spec: Spec) -> dict[tuple[tuple[str, str, str], Place], float]:
    """Numbers that the paper prints, as claims declare them: by (arm, attack or "", metric), and place."""
    found = {}
    for claim in spec.claims:
        for part in spec.parts(claim) if claim.catalogue else ():
            for curve, where, value in part.printed():
                if curve.minus is None and curve.times == 1:
                    key = (curve.arm, curve.attack, curve.metric), place({**where, **dict(curve.at)})
                    found[key] = value
    return found


def _ticks(axis: Axes, epsilons: tuple[float, ...]) -> None:
    grid = np.array(epsilons)
    where = np.minimum(grid, _beyond(grid))
    wanted = [i for i, e in enumerate(grid) if not math.isfinite(e) or math.log10(e) % 1 == 0]
    axis.set_xticks(where[wanted], ["∞" if math.isinf(grid[i]) else f"{grid[i]:g}" for i in wanted])
    axis.minorticks_off()


Lines = dict[str, list[tuple[float, float]]]


def draw_lines(panels: dict[str, Lines], x: str) -> str:
    """Panels side by side, on doubly logarithmic axes: by the name of its vertical axis, named lines of (x, y)."""

    def paint(axes: list[Axes]) -> None:
        for axis, (y, lines) in zip(axes, panels.items(), strict=True):
            for index, (name, points) in enumerate(lines.items()):
                colour, style = COLOURS[index % len(COLOURS)], STYLES[index // len(COLOURS)]
                across, up = zip(*points, strict=True)
                axis.plot(across, up, style, color=colour, marker="o", markersize=3, linewidth=1.5, label=name)
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xlabel(x)
            axis.set_ylabel(y)
            axis.grid(alpha=0.25)
            axis.legend(fontsize=8)

    return _svg(len(panels), paint, " and ".join(panels) + f" over {x}")


def draw_bounds(spec: Spec) -> str:
    """The bounds that a spec without an experiment names in its figure, over epsilon; nothing where it names none."""
    panels = [panel for panel in spec.figure if panel.formulas]
    if not panels:
        return ""

    def paint(axes: list[Axes]) -> None:
        epsilon = np.geomspace(0.01, 100, 400)
        for axis, panel in zip(axes, panels, strict=True):
            for colour, name in zip(COLOURS, panel.formulas, strict=False):
                formula = FORMULAS[name]
                curve = formula.curve(epsilon, delta=0.0 if formula.pure_only else 1e-5)
                axis.plot(epsilon, curve, color=colour, label=f"{name}: {formula.text}")
            axis.set_xscale("log")
            axis.set_xlabel("epsilon")
            axis.set_ylabel(panel.y)
            axis.set_title(panel.title, fontsize=11)
            axis.grid(alpha=0.25)
            axis.legend(fontsize=8)

    return _svg(len(panels), paint, f"{spec.where}: {spec.title}", spec.id)
