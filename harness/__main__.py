"""The program, as the script `harness` and `python -m harness` start it.

Python puts the current folder before the standard library for `-m`. That is undone before anything else is imported, so
that no `json.py` of the folder is run; a `harness` folder there has then begun to run already, which `python -P -m
harness` prevents.
"""

import os
import sys

STOPPED = "harness: stopped\n"


def main() -> None:
    """Run the program. Ctrl-C ends it with one line and exit code 130, also while modules are being imported."""
    try:
        if __name__ == "__main__":
            _leave_out_current_folder()
        import signal

        handler = signal.getsignal(signal.SIGINT)
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, _stop_at_once)
        from harness.processes import collect_rarely

        collect_rarely()
        from harness.commands.app import main as run_program

        signal.signal(signal.SIGINT, handler)
        run_program()
    except KeyboardInterrupt:
        sys.stderr.write(STOPPED)
        sys.exit(130)


def _stop_at_once(_: int, __: object) -> None:
    """End the process. An exception would be lost where Python imports: in a callback, or in code that tries an import
    and does without it."""
    os.write(2, STOPPED.encode())
    os._exit(130)


def _leave_out_current_folder() -> None:
    """Take the current folder from where `-m` puts it on `sys.path`; if the harness is there, move the folder behind
    the standard library."""
    try:
        here = os.getcwd()  # noqa: PTH109  (what pathlib imports would come from there)
    except OSError:  # a folder that was removed
        here = ""
    if sys.flags.safe_path or sys.path[:1] != [here]:
        return
    del sys.path[0]
    from pathlib import Path

    import harness
    from harness.processes import make_importable

    if Path(harness.__file__).parent.parent == Path(here):  # a checkout, or an archive: helpers import it from here
        make_importable(Path(here))


if __name__ == "__main__":
    main()
