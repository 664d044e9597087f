"""The claim language, the statistics behind it, and verdicts. Nothing here imports TensorFlow."""
