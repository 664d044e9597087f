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
from harness.claims.design import design_of
from harness.spec.model import Panel, Spec

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0b6e99", "#d9730d", "#6940a5", "#0f7b6c", "#ad1a72", "#64473a")
STYLES = ("-", "--", ":", "-.")
METRIC_LABELS = {
    "accuracy_train": "train", "accuracy_test": "test", "accuracy_nonmembers": "non-members",
}  # fmt: skip


def series(table: pd.DataFrame, arm: str, attack: str, metric: str) -> tuple[Array, Array, Array, Array]:
    """(epsilon, mean, low, high) of one curve, (k,) each, with 95% intervals over repeats."""
    chosen = table[(table["arm"] == arm) & (table["attack"] == attack) & (table["metric"] == metric)]
    rows = []
    for epsilon, group in chosen.groupby("epsilon"):
        found = design_of(table).mean(group["value"].to_numpy(float), group["stderr"].to_numpy(float))
        low, high = found.interval()
        rows.append((float(str(epsilon)), found.mean, low, high))
    columns = np.array(rows).T if rows else np.zeros((4, 0))
    return columns[0], columns[1], columns[2], columns[3]


def _position(epsilon: Array) -> Array:
    """Infinity is drawn one decade to the right of the largest finite epsilon."""
    finite = epsilon[np.isfinite(epsilon)]
    return np.where(np.isfinite(epsilon), epsilon, (finite.max() if len(finite) else 1.0) * 10)


def draw(spec: Spec, table: pd.DataFrame) -> str:
    """All panels of a spec side by side, as one `<svg>` element."""
    panels = spec.figure or (Panel(title="Membership advantage", metrics=("advantage",)),)

    def paint(axes: list[Axes]) -> None:
        for axis, panel in zip(axes, panels, strict=True):
            _panel(axis, panel, spec, table)

    return _svg(len(panels), paint, f"{spec.where}: {spec.title}")


def _svg(panels: int, paint: Callable[[list[Axes]], None], label: str) -> str:
    """Run `paint` on fresh axes and return the SVG; the same data always give the same bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings: Any = {"svg.hashsalt": "harness", "svg.fonttype": "none", "font.size": 10}
    with mpl.rc_context(settings):
        figure = Figure(figsize=(6.2 * panels, 4.1))
        paint([figure.add_subplot(1, panels, i + 1) for i in range(panels)])
        figure.tight_layout()
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    return svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{escape(label, quote=True)}"', 1)


def _panel(axis: Axes, panel: Panel, spec: Spec, table: pd.DataFrame) -> None:
    assert spec.experiment is not None
    arms = panel.arms or tuple(spec.experiment.arms)
    attack_metrics = {m for m in panel.metrics if not m.startswith(("accuracy", "loss"))}
    curves = [
        (arm, attack, metric)
        for arm, metric in product(arms, panel.metrics)
        for attack in (tuple(spec.attacks) if metric in attack_metrics else ("",))
    ]
    by_arm = len(arms) > 1
    attacks = list(spec.attacks)
    for index, (arm, attack, metric) in enumerate(curves):
        epsilon, mean, low, high = series(table, arm, attack, metric)
        if not len(epsilon):
            continue
        x = _position(epsilon)
        colour = COLOURS[(arms.index(arm) if by_arm else index) % len(COLOURS)]
        style = STYLES[(attacks.index(attack) if attack else 0) % len(STYLES)]
        arm_label = spec.experiment.arms[arm].label or arm
        label = f"{arm_label}, {attack}" if attack else METRIC_LABELS.get(metric, metric)
        if not attack and by_arm:
            label = f"{arm_label}: {label}"
        axis.plot(x, mean, style, color=colour, marker="o", markersize=3.5, linewidth=1.6, label=label)
        axis.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0)
    finite = [e for e in spec.experiment.privacy.epsilons if math.isfinite(e)]
    for bound in panel.bounds:
        fine = np.geomspace(min(finite), max(finite), 200)
        values = BOUNDS[bound].advantage(fine, spec.experiment.privacy.delta)
        axis.plot(fine, values, color="black", linewidth=1.3, label=f"bound ({bound})")
    axis.set_xscale("log")
    _ticks(axis, spec.experiment.privacy.epsilons)
    axis.set_xlabel("epsilon")
    axis.set_ylabel(panel.y or panel.metrics[0])
    axis.set_title(panel.title, fontsize=11)
    low_end = -0.1 if "advantage" in panel.metrics else 0.0
    axis.set_ylim(low_end, 1.05)
    axis.grid(alpha=0.25)
    axis.legend(fontsize=8, framealpha=0.85)


def _ticks(axis: Axes, epsilons: tuple[float, ...]) -> None:
    grid = np.array(epsilons)
    where = _position(grid)
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
