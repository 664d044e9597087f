"""Plug-ins for the harness, one file each."""
