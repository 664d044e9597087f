"""Upper bounds on membership advantage, each with the adjacency it is proved for and its assumptions."""

from harness.bounds.advantage import BOUNDS, Bound, evaluate

__all__ = ["BOUNDS", "Bound", "evaluate"]
