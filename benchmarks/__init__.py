"""How fast this package is beside its peers: `python -m benchmarks` measures, prints a table and writes JSON."""
