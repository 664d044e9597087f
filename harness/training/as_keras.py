"""Models of this package as Keras layers: for the reference engine, and to ask a trained model many questions."""

from __future__ import annotations

from typing import Any

from harness.training.layer import Layer
from harness.training.layers import AveragePool, Conv2d, Dense, Dropout, Flatten, MaxPool
from harness.training.model import Model
from harness.training.runtime import import_tensorflow


def keras_layer(layer: Layer, penalty: Any = None) -> Any:
    """The Keras layer that computes what `layer` does, with a `penalty` on its kernel where one is given.

    Raises ValueError for a layer that Keras is not known to have.
    """
    keras = import_tensorflow().keras.layers
    match layer:
        case Dense():
            return keras.Dense(layer.units, layer.activation, kernel_regularizer=penalty)
        case Conv2d():
            return keras.Conv2D(
                layer.filters,
                layer.kernel,
                layer.stride,
                layer.padding,
                activation=layer.activation,
                kernel_regularizer=penalty,
            )
        case MaxPool():
            return keras.MaxPooling2D(layer.size, layer.step)
        case AveragePool():
            return keras.AveragePooling2D(layer.size, layer.step)
        case Dropout():
            return keras.Dropout(layer.rate)
        case Flatten():
            return keras.Flatten()
    raise ValueError(f"engine tf-privacy does not know the layer {layer.plugin_name()}")


def keras_layers(model: Model, n_features: int, n_classes: int, penalty: Any = None) -> list[Any]:
    """The Keras layers of a whole model on rows of `n_features` numbers, up to its logits."""
    tf = import_tensorflow()
    shape = model.input_shape(n_features)
    layers = [tf.keras.layers.InputLayer((n_features,))]
    if len(shape) > 1:
        layers.append(tf.keras.layers.Reshape(shape))
    return [*layers, *(keras_layer(layer, penalty) for layer in model.layers(n_classes))]
