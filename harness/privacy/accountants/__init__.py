"""Ways to account for DP-SGD, side by side; importing this package registers them all."""

from harness.privacy.accountants import exact, released, renyi
from harness.privacy.accountants.accountant import ACCOUNTANTS, Accountant, Run

__all__ = ["ACCOUNTANTS", "Accountant", "Run", "exact", "released", "renyi"]
