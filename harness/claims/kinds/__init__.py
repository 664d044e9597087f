"""Kinds of claims about measurements, one file each; importing this package registers them all."""

from harness.claims.kinds import (
    any_of,
    arg_max,
    at_least,
    close,
    compare,
    concave,
    correlation,
    count,
    interior_peak,
    monotone,
    order,
    rank_correlation,
    same_curve,
    table,
    variance_share,
    waits_for,
)

__all__ = [
    "any_of",
    "arg_max",
    "at_least",
    "close",
    "compare",
    "concave",
    "correlation",
    "count",
    "interior_peak",
    "monotone",
    "order",
    "rank_correlation",
    "same_curve",
    "table",
    "variance_share",
    "waits_for",
]
