"""One file a dataset; importing this package registers them all."""

from harness.data.datasets import adult, compas, csv_table, mixture

__all__ = ["adult", "compas", "csv_table", "mixture"]
