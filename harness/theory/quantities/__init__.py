"""The quantities that come with the package, one file a subject; importing this registers them."""

from harness.theory.quantities import (
    advantage,
    composition,
    games,
    gaussian,
    gradients,
    optima,
    positive_accuracy,
    randomized_response,
)

__all__ = [
    "advantage", "composition", "games", "gaussian", "gradients", "optima", "positive_accuracy", "randomized_response",
]  # fmt: skip
