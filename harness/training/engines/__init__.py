"""One file an engine. Importing this package registers them and does not import TensorFlow."""

from harness.training.engines import fast, function, tf_privacy, tf_privacy_common_noise

__all__ = ["fast", "function", "tf_privacy", "tf_privacy_common_noise"]
