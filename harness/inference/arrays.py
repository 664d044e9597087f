"""The array type of signatures; shapes are given in docstrings."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of any type of numbers."""
