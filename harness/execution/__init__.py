"""From a spec to measurements: plan the cells, run them on worker processes, keep each atomically.

The modules `planner` and `plan` name the work, `work` does one piece of it, `store` keeps results by content hash,
`executor` spreads pieces over processes, and `table` gathers the measurements of a spec.
"""
