"""TensorFlow, imported once and set up so that results do not depend on the machine's number of cores."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

# The environment variable that says how many of TensorFlow's operations run at a time.
THREADS = "HARNESS_TENSORFLOW_THREADS"


def import_tensorflow() -> Any:
    """The module of TensorFlow, set up for one thread, and without its start-up chatter.

    Each operation runs on one thread, since TensorFlow's sums depend on how they are cut among threads;
    N workers use N cores. HARNESS_TENSORFLOW_THREADS lets so many operations run at the same time,
    which changes no result. oneDNN is used on every processor, whatever TF_ENABLE_ONEDNN_OPTS says: TensorFlow's other
    products of matrices differ in their last digits between a stack of one and a stack of several, and results would
    depend on the number of workers. Which of its kernels is taken follows from the processor, or ONEDNN_MAX_CPU_ISA.
    A GPU that TensorFlow sees is used, its memory taken as needed so that several workers can share it.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
    with _without_collecting():
        import tensorflow as tf

    threads = int(os.environ.get(THREADS, "1"))
    try:
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
        for device in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(device, True)
    except RuntimeError:  # already initialised in this process, by an earlier job
        if tf.config.threading.get_inter_op_parallelism_threads() != threads:
            raise
    tf.get_logger().setLevel("ERROR")
    return tf


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    """Context manager: the garbage collector does not look for dead objects, of which an import of so many modules
    makes few; it would take a sixth of the time."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


@contextlib.contextmanager
def silence_stderr() -> Iterator[None]:
    """Keep from the terminal what libraries write to standard error whatever level of it is asked for."""
    sys.stderr.flush()
    own = os.dup(2)
    with tempfile.TemporaryFile() as elsewhere:
        os.dup2(elsewhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(own, 2)
            os.close(own)
