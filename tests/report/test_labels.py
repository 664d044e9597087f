"""Names at the ends of curves: apart from each other, in the order of the curves, within the figure."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from harness.report.canvas import draw_sketches
from harness.report.drawing import COLOURS, MARKERS, Drawing, Look
from harness.report.labels import last_point, spread
from harness.report.scales import Range
from harness.report.sketch import SIZE, SMALL, Sketch
from harness.report.theme import Hover

boxes = st.lists(st.tuples(st.floats(-1, 3), st.floats(0.05, 0.4)), min_size=1, max_size=6)


@given(boxes)
def test_names_do_not_touch_and_keep_the_order_of_their_curves(every: list[tuple[float, float]]) -> None:
    wanted, heights = zip(*every, strict=True)
    middles = spread(wanted, heights, 0.0, 2.0)
    if middles is None:
        assert sum(heights) > 2.0
        return
    order = sorted(range(len(every)), key=lambda i: wanted[i])
    edges = [(middles[i] - heights[i] / 2, middles[i] + heights[i] / 2) for i in order]
    assert edges[0][0] >= -1e-9
    assert edges[-1][1] <= 2.0 + 1e-9
    assert all(b[0] >= a[1] - 1e-9 for a, b in pairwise(edges))


@given(boxes)
def test_a_name_with_room_stands_where_its_curve_ends(every: list[tuple[float, float]]) -> None:
    places = [5.0 * i + 2.5 for i in range(len(every))]
    assert spread(places, [height for _, height in every], 0.0, 5.0 * len(every)) == pytest.approx(places)


def test_names_are_as_near_to_their_curves_as_least_squares_allows() -> None:
    """Beside a general solver, which knows the order and that boxes do not overlap."""
    wanted, heights = [0.9, 1.0, 1.05, 1.9], [0.3, 0.15, 0.45, 0.15]
    gaps = [
        {"type": "ineq", "fun": lambda m, i=i: m[i + 1] - m[i] - (heights[i] + heights[i + 1]) / 2} for i in range(3)
    ]
    start = np.array([0.2, 0.8, 1.4, 2.2])
    best = minimize(lambda m: float(((m - wanted) ** 2).sum()), start, constraints=gaps, method="SLSQP")
    assert spread(wanted, heights, 0.0, 3.0) == pytest.approx(best.x, abs=1e-4)


def test_boxes_higher_than_the_room_have_no_place() -> None:
    assert spread([0.0, 0.0], [1.0, 1.1], 0.0, 2.0) is None
    assert spread([], [], 0.0, 2.0) is None


def test_a_curve_ends_at_its_last_finite_point() -> None:
    assert last_point([1.0, 2.0, 3.0], [0.1, 0.2, float("nan")]) == (2.0, 0.2)
    assert last_point([1.0], [float("nan")]) is None


def drawn(names: list[str], size: tuple[float, float] = SIZE, count: int = 1) -> Drawing:
    """Curves from 1 to 1000, the n-th at the height n."""
    x = np.array([1.0, 10.0, 1000.0])

    def paint(sketches: list[Sketch]) -> None:
        for sketch in sketches:
            within = Range(-0.5, len(names) + 0.5)
            sketch.set_values(within, "advantage")
            sketch.set_places(x.tolist(), "ε", True)
            for nth, name in enumerate(names):
                y, look = np.full(3, float(nth)), Look(COLOURS[nth % 6], "-", MARKERS[nth % 6])
                hovers = [Hover("a point")] * 3
                sketch.add_series(name, look, x, (y, y - 0.1, y + 0.1), x.tolist(), hovers, within)

    return draw_sketches(count, paint, "A figure", "in words", "a name", size)


def names_in(drawing: Drawing) -> list[str]:
    """Words of the figure itself, without those that are shown only where it stands by itself."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawing.svg.partition('<g class="whole"')[0])


def test_curves_bear_their_names_in_their_colours_and_need_no_legend() -> None:
    drawing = drawn(["naive composition", "RDP"])
    assert drawing.keys == ()
    assert {"naive", "composition", "RDP"} <= set(names_in(drawing)) | set(" ".join(names_in(drawing)).split())
    (label,) = re.findall(r"<text[^>]*>RDP</text>", drawing.svg)
    assert "var(--c1)" in label


@pytest.mark.parametrize("size", [SIZE, SMALL])
def test_a_figure_without_room_for_names_has_a_legend(size: tuple[float, float]) -> None:
    names = [f"the {nth}th attack on the education split of Adult at its own threshold" for nth in range(6)]
    drawing = drawn(names, size)
    assert [key.name for key in drawing.keys] == names
    assert not any("attack" in text for text in names_in(drawing))


def test_axes_side_by_side_share_one_legend() -> None:
    assert [key.name for key in drawn(["naive", "RDP"], count=2).keys] == ["naive", "RDP"]
