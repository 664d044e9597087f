"""The commands of `harness`, one file a group."""
