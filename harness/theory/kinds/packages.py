"""The installed packages whose versions decide verdicts on theory."""

PACKAGES = ("python-flint", "scipy", "numpy", "dp-accounting")
"""The names of these packages, as installers know them."""
