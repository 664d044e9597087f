"""Models and the engines that train them; the only place that imports TensorFlow.

`model` and `engine` describe what is trained and how, without TensorFlow; `engines/` has one file an
engine. An engine is given arrays, a seed and the batches to use, and returns weights and a forward pass.
"""
