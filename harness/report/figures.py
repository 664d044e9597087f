"""The papers' figures redrawn from measurements, as SVG that needs no script and no network."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harness.arrays import Array
from harness.bounds import BOUNDS
from harness.claims.evidence import groups_by_outcome, means
from harness.claims.expectation import Close, Number, Table
from harness.privacy.gaussian import shuffled_epsilon
from harness.spec.model import Experiment, Spec
from harness.spec.page import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0b6e99", "#d9730d", "#6940a5", "#0f7b6c", "#ad1a72", "#64473a")
STYLES = ("-", "--", ":", "-.")
PANELS_ACROSS = 3
METRIC_LABELS = {
    "accuracy_train": "train", "accuracy_test": "test", "accuracy_nonmembers": "non-members",
}  # fmt: skip


def series(table: pd.DataFrame, arm: str, attack: str, metric: str) -> tuple[Array, Array, Array, Array]:
    """(epsilon, mean, low, high) of one curve, (k,) each, with 95% intervals over repeats."""
    found = means(table[table["arm"] == arm], (metric,))
    rows = [(epsilon, mean.mean, *mean.interval()) for (_, name, _, epsilon), mean in found.items() if name == attack]
    columns = np.array(rows).T if rows else np.zeros((4, 0))
    return columns[0], columns[1], columns[2], columns[3]


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

    return _svg(len(panels), paint, f"{spec.where}: {spec.title}")


def _svg(panels: int, paint: Callable[[list[Axes]], None], label: str) -> str:
    """Run `paint` on fresh axes and return the SVG; the same data always give the same bytes."""
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
    below_zero = {metric for attack in spec.attacks.values() for metric in attack.metrics} & set(panel.metrics)
    top = max(panel.top, 1.05 * highest)
    lowest = min((float(np.min(np.asarray(line.get_ydata(), float))) for line in axis.lines), default=0.0)
    axis.set_ylim(min(-0.1 * min(1.0, top), 1.05 * lowest) if below_zero else 0.0, top)
    axis.grid(alpha=0.25)
    axis.legend(fontsize=8, framealpha=0.85)


def _arms(axis: Axes, panel: Panel, spec: Spec, table: pd.DataFrame) -> float:
    """Arms side by side, at the largest epsilon; returns the highest value."""
    assert spec.experiment is not None
    arms = panel.arms or tuple(spec.experiment.arms)
    of_attacks = {metric for attack in spec.attacks.values() for metric in attack.metrics}
    highest = 0.0
    for index, metric in enumerate(panel.metrics):
        for number, attack in enumerate(panel.attacks or tuple(spec.attacks) if metric in of_attacks else ("",)):
            found = [(i, *(v[-1] for v in values[1:])) for i, values in (
                (i, series(table, arm, attack, metric)) for i, arm in enumerate(arms)
            ) if len(values[0])]  # fmt: skip
            if not found:
                continue
            place, mean, low, high = np.array(found).T
            label = METRIC_LABELS.get(metric, metric) + (f", {attack}" if attack else "")
            axis.errorbar(
                place, mean, yerr=[mean - low, high - mean], fmt="o", markersize=4, capsize=3, label=label,
                color=COLOURS[index % len(COLOURS)], fillstyle="full" if number == 0 else "none",
            )  # fmt: skip
            highest = max(highest, float(high.max()))
    axis.set_xticks(range(len(arms)), [spec.experiment.arms[arm].label or arm for arm in arms])
    axis.set_xlim(-0.5, len(arms) - 0.5)
    return highest


def _curves(axis: Axes, panel: Panel, spec: Spec, table: pd.DataFrame) -> float:
    """Means over epsilon, their intervals, printed values and bounds; returns the highest mean."""
    assert spec.experiment is not None
    experiment = spec.experiment
    arms = panel.arms or tuple(experiment.arms)
    of_attacks = {metric for attack in spec.attacks.values() for metric in attack.metrics}
    attacks = panel.attacks or tuple(spec.attacks)
    curves = [
        (arm, attack, metric)
        for arm, metric in product(arms, panel.metrics)
        for attack in (attacks if metric in of_attacks else ("",))
    ]
    by_arm = len(arms) > 1
    across: dict[str, Array] = {}
    if panel.x == "epsilon":
        grid = np.array(experiment.privacy.epsilons)
        places = dict.fromkeys(arms, grid)
    else:
        places = {arm: _as_trained(experiment, table, arm) for arm in arms}
    beyond = _beyond(np.concatenate(list(places.values())))
    printed = printed_values(spec)
    labelled, highest = False, 0.0
    for index, (arm, attack, metric) in enumerate(curves):
        epsilon, mean, low, high = series(table, arm, attack, metric)
        if not len(epsilon):
            continue
        at = {e: min(place, beyond) for e, place in zip(experiment.privacy.epsilons, places[arm], strict=True)}
        x = across[arm] = np.array([at[e] for e in epsilon])
        highest = max(highest, float(mean.max()))
        colour = COLOURS[(arms.index(arm) if by_arm else index) % len(COLOURS)]
        style = STYLES[(attacks.index(attack) if attack else 0) % len(STYLES)]
        arm_label = experiment.arms[arm].label or arm
        label = f"{arm_label}, {attack}" if attack and len(attacks) > 1 else METRIC_LABELS.get(metric, metric)
        if by_arm and not (attack and len(attacks) > 1):
            label = arm_label if len(panel.metrics) == 1 else f"{arm_label}: {label}"
        axis.plot(x, mean, style, color=colour, marker="o", markersize=3.5, linewidth=1.6, label=label)
        axis.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0)
        if metric in of_attacks:
            line = {"color": colour, "linestyle": style, "linewidth": 0.8, "alpha": 0.55}
            highest = max(highest, _outcomes(axis, table, (arm, attack, metric), at, line))
        known = [
            (place, printed[key])
            for e, place in zip(epsilon, x, strict=True)
            if (key := (arm, attack, metric, e)) in printed
        ]
        if known:
            note = None if labelled else "printed in the paper"
            there, given = zip(*known, strict=True)
            axis.plot(there, given, "x", color=colour, markersize=6, markeredgewidth=1.4, zorder=4, label=note)
            labelled = True
    finite = [e for e in experiment.privacy.epsilons if math.isfinite(e)]
    if panel.x != "epsilon":
        finite = [float(x) for drawn in across.values() for x in drawn if x < beyond] or finite
    for bound in panel.bounds if finite else ():
        fine = np.geomspace(max(1e-6, min(finite)), max(finite), 200)
        values = BOUNDS[bound].advantage(fine, experiment.privacy.delta)
        axis.plot(fine, values, color="black", linewidth=1.3, label=f"bound ({bound})")
    axis.set_xscale("log")
    if panel.x == "epsilon":
        _ticks(axis, experiment.privacy.epsilons)
        axis.set_xlabel("epsilon")
    else:
        axis.set_xlabel("epsilon as trained (exact, shuffled batches)")
    return highest


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
    epochs, delta = experiment.training.epochs, experiment.privacy.delta
    twice = experiment.training_of(arm).clipping == "batch"
    known = {e: shuffled_epsilon(float(sigma), epochs, delta, twice) for e, sigma in noise.items()}
    return np.array([known.get(e, math.nan) for e in experiment.privacy.epsilons])


def printed_values(spec: Spec) -> dict[tuple[str, str, str, float], float]:
    """Numbers that the paper prints, as claims declare them: by arm, attack (or ""), metric and epsilon."""
    found = {}
    for claim in spec.claims:
        for part in claim.expectations:
            if isinstance(part, Table):
                entries = part.entries(part.at)
            elif isinstance(part, Close):
                entries = [(part, epsilon) for epsilon in part.at or ()]
            else:
                continue
            for close, epsilon in entries:
                of = close.left
                if isinstance(close.right, Number) and of.minus is None and of.times == 1 and claim.catalogue:
                    found[of.arm, of.attack or "", of.metric, of.epsilon or epsilon] = close.right.value
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
    panels = [panel for panel in spec.figure if panel.bounds]
    if not panels:
        return ""

    def paint(axes: list[Axes]) -> None:
        epsilon = np.geomspace(0.01, 100, 400)
        for axis, panel in zip(axes, panels, strict=True):
            for colour, name in zip(COLOURS, panel.bounds, strict=False):
                bound = BOUNDS[name]
                delta = 0.0 if bound.pure_only else 1e-5
                axis.plot(epsilon, bound.advantage(epsilon, delta), color=colour, label=f"{name}: {bound.formula}")
            axis.set_xscale("log")
            axis.set_xlabel("epsilon")
            axis.set_ylabel(panel.y)
            axis.set_title(panel.title, fontsize=11)
            axis.grid(alpha=0.25)
            axis.legend(fontsize=8)

    return _svg(len(panels), paint, f"{spec.where}: {spec.title}")
