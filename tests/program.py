"""The program `harness` for shell scripts that a test runs, carried out by the process of the test.

A script finds it on its path, in its own folder and environment. What starts is a client of a few milliseconds, which
hands over what was typed; how the program itself starts is tested elsewhere.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.conftest import run_cli

CLIENT = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    with server.makefile("rw") as stream:
        json.dump([os.getcwd(), sys.argv[1:], dict(os.environ)], stream)
        stream.write("\\n")
        stream.flush()
        code, out, err = json.loads(stream.readline())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""


def run_script(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """What a command does in a folder and an environment, on whose path the program is found first."""
    with tempfile.TemporaryDirectory() as here, socket.socket(socket.AF_UNIX) as server:
        address, program = str(Path(here, "socket")), Path(here, "harness")
        program.write_text(CLIENT.format(python=sys.executable, address=address))
        program.chmod(0o755)
        server.bind(address)
        server.listen()
        path = f"{here}{os.pathsep}{environment['PATH']}"
        with Path(here, "out").open("w+") as out, Path(here, "err").open("w+") as err:
            with subprocess.Popen(
                command, cwd=folder, env={**environment, "PATH": path}, stdout=out, stderr=err, stdin=subprocess.DEVNULL
            ) as script:
                _serve(server, script)
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read())
    return subprocess.CompletedProcess(command, script.returncode, *texts)


def _serve(server: socket.socket, script: subprocess.Popen[bytes]) -> None:
    """Carry out what a script's clients ask for, until it has ended."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(server, selectors.EVENT_READ)
        while script.poll() is None:
            for _ in waiting.select(timeout=0.02):
                with server.accept()[0] as client, client.makefile("rw") as stream:
                    folder, words, environment = json.loads(stream.readline())
                    own = {k: v for k, v in environment.items() if k.startswith(("HARNESS_", "MLFLOW_"))}
                    ran = run_cli(Path(folder), *words, **own)
                    json.dump([ran.returncode, ran.stdout, ran.stderr], stream)
                    stream.write("\n")
                    stream.flush()
