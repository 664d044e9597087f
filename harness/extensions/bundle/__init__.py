"""Bundles: a verdict with all that it needs as an RO-Crate, and bundles of others, judged by the installed code."""
