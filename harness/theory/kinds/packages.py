"""Installed packages whose versions decide verdicts on theory."""

PACKAGES = ("python-flint", "scipy", "numpy", "dp-accounting")
