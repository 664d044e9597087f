"""Claims about membership inference and differential privacy, declared, executed and judged.

A spec goes in, records of membership scores come out, an inequality is tested on them, and a
verdict with its evidence is published. Nothing in this package imports TensorFlow except the
engines in `harness.training`; importing `harness` itself is free of heavy dependencies.
"""

__version__ = "0.2.0"
