"""Accountants and noise calibration. Each accountant names its adjacency and the sampling that it assumes."""
