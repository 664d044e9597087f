"""`python -m harness` is the same program as `harness`."""

from harness.commands.app import main

main()
