"""Accountants and noise calibration. Each names its adjacency and the sampling that it assumes."""
