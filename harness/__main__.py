"""`python -m harness` is the same program as `harness`."""

from harness.cli import main

main()
