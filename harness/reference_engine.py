"""The reference engine, TensorFlow Privacy, cannot be had on every Python; what is said where it is missing."""

from __future__ import annotations

PACKAGE = "tensorflow-privacy"
"""The package without which the reference engine does not train."""
MISSING = (
    "TensorFlow Privacy, the reference engine, which is not installed: pip install 'mi-dp-harness[reference]' on "
    "Python 3.11 (its last release runs on no later one)"
)
"""What is missing, and how it is had, behind a `needs`."""
WHY_NOT_RUN = f"it needs {MISSING}"
"""Why a spec that trains with it is not run: the reason of its claims."""
