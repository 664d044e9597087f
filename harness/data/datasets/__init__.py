"""One file a dataset; importing this package registers them all."""

from harness.data.datasets import (
    adult,
    ch_mnist,
    cifar10,
    cifar100,
    compas,
    csv_table,
    mixture,
    mnist,
    privacytrustlab,
    purchase_substitute,
    texas_substitute,
)

__all__ = [
    "adult",
    "ch_mnist",
    "cifar10",
    "cifar100",
    "compas",
    "csv_table",
    "mixture",
    "mnist",
    "privacytrustlab",
    "purchase_substitute",
    "texas_substitute",
]
