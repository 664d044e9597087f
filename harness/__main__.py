"""`python -m harness` is the same program as `harness`.

Python puts the current folder before the standard library for `-m`. That is undone before anything else is imported, so
that no `json.py` of the folder is run; a `harness` folder there has then begun to run already, which `python -P -m
harness` prevents.
"""

import os
import sys

try:
    here = os.getcwd()  # noqa: PTH109  (what pathlib imports would come from there)
except OSError:  # a folder that was removed
    here = ""
if not sys.flags.safe_path and sys.path[:1] == [here]:
    del sys.path[0]
    from pathlib import Path

    import harness
    from harness.processes import make_importable

    if Path(harness.__file__).parent.parent == Path(here):  # a checkout, or an archive: helpers import it from here
        make_importable(Path(here))

from harness.commands.app import main

main()
