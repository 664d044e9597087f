"""One file a dataset; importing this package registers them all."""

from harness.data.datasets import adult, compas, csv_table, mixture, privacytrustlab

__all__ = ["adult", "compas", "csv_table", "mixture", "privacytrustlab"]
