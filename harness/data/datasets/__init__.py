"""One file a dataset; importing this package registers them all."""

from harness.imports import import_all

import_all(__name__, __path__)
