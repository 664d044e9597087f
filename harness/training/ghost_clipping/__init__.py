"""Private training by book-keeping: one forward and one backward pass for a whole stack of models.

Per-example gradient norms follow from what the two passes leave behind (a layer's inputs and the
derivatives at its outputs), so no per-example gradient of a dense layer is ever formed (Goodfellow
2015; Bu et al. 2023, Differentially private optimization on large model at small cost). Every tensor
has the axes (replicate, record, ...): models that differ in data, noise and seed are one batch of
matrices. Only this package and `harness.training.engines` import TensorFlow, and nothing imports this
package before a model is trained.
"""
