"""How sure a claim is to be decided, where its spec says nothing else."""

from __future__ import annotations

RAREST = 3.0
"""The N of outcomes that no test of a mean may miss, but the one of six repeats: those drawn in every third repeat, or
more often. With it means on the margin are told from it at their level at 1 to 44 places, whatever the shape
(docs/calibration.md)."""
