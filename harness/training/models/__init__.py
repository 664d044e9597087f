"""One file an architecture; importing this package registers the built-in ones."""

from harness.training.models.cnn import Cnn
from harness.training.models.function import FunctionModel
from harness.training.models.logistic import Logistic
from harness.training.models.mlp import Mlp

__all__ = ["Cnn", "FunctionModel", "Logistic", "Mlp"]
