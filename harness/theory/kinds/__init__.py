"""Kinds of claims about theory, one file each; importing this package registers them all."""

from harness.theory.kinds import audit, game, inequality, trend

__all__ = ["audit", "game", "inequality", "trend"]
