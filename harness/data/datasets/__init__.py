"""One file a dataset; importing this package registers them all."""

from harness.data.datasets import adult, cifar100, compas, csv_table, mixture, privacytrustlab, purchase_substitute

__all__ = ["adult", "cifar100", "compas", "csv_table", "mixture", "privacytrustlab", "purchase_substitute"]
