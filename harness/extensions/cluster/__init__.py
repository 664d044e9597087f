"""Clusters: a run past one machine, on workers of Dask."""
