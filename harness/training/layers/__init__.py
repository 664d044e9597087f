"""One file a layer; importing this package registers the built-in ones. No framework is imported here."""

from harness.training.layers.convolution import Conv2d
from harness.training.layers.dense import Dense
from harness.training.layers.dropout import Dropout
from harness.training.layers.flatten import Flatten
from harness.training.layers.pooling import AveragePool, MaxPool

__all__ = ["AveragePool", "Conv2d", "Dense", "Dropout", "Flatten", "MaxPool"]
