"""Kinds of claims about measurements, one file each; importing this package registers them all."""

from harness.claims.kinds import (
    arg_max,
    close,
    collapse,
    compare,
    concave,
    correlation,
    count,
    either,
    explains_more,
    hump,
    monotone,
    order,
    rank_correlation,
    table,
)

__all__ = [
    "arg_max",
    "close",
    "collapse",
    "compare",
    "concave",
    "correlation",
    "count",
    "either",
    "explains_more",
    "hump",
    "monotone",
    "order",
    "rank_correlation",
    "table",
]
