"""What the noise released with jayaraman2019 is worth by every version of TensorFlow Privacy's Renyi accountant.

`python -m benchmarks.tf_privacy_history CLONE` runs each version of `rdp_accountant.py` in the history of a clone of
https://github.com/tensorflow/privacy, over the orders that its scripts listed (`compute_dp_sgd_privacy.py`) and over
those of its tutorials, and writes `tf_privacy_history.json`. It runs the clone's code.
Tests compare `rdp-2019` with the file.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

NOISES = (525, 150, 70, 13.8, 7, 1.669, 1.056, 0.551, 0.445, 0.275, 0.219)
"""Of the table in the code released with jayaraman2019."""
RATE, STEPS, DELTA = 200 / 10_000, 5_000, 1e-5
ORDERS = {
    "scripts": [1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 3.5, 4.0, 4.5, *range(5, 64), 128, 256, 512],
    "tutorials": [*(1 + tenths / 10 for tenths in range(1, 100)), *range(12, 64)],
}
"""As `compute_dp_sgd_privacy.py` listed them from January 2019 on, and as `mnist_dpsgd_tutorial.py` did."""
FILE = "rdp_accountant.py"
FOLDER = "privacy/analysis/"
"""Of the package; a copy elsewhere is no version of it."""
DIGITS = 10
OUT = Path(__file__).with_suffix(".json")


def git(clone: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(clone), *arguments], capture_output=True, text=True, check=True).stdout


def versions(clone: Path) -> list[dict[str, str]]:
    """The commits that changed the accountant's code, oldest first: commit, date and path."""
    known: list[dict[str, str]] = []
    log = git(clone, "log", "--reverse", "--format=%H %as", "--", f"*{FILE}")
    for commit, date in (line.split() for line in log.splitlines()):
        paths = [
            path
            for path in git(clone, "ls-tree", "-r", "--name-only", commit).splitlines()
            if path.endswith(FOLDER + FILE)
        ]
        known += [{"commit": commit, "date": date, "path": path} for path in paths[:1]]
    return known


def run_version(source: str) -> dict[str, list[float]]:
    """Epsilon of each noise by one version's own code, by the name of the list of orders."""
    module = types.ModuleType("rdp_accountant")
    module.__dict__["long"] = int  # of Python 2
    sibling = re.compile(r"^from (?:tensorflow_privacy\.)?privacy\S* import .*$", re.MULTILINE)  # of ledgers alone
    exec(compile(sibling.sub("", source), FILE, "exec"), module.__dict__)
    worth = {}
    for name, orders in ORDERS.items():
        divergences = [module.compute_rdp(RATE, noise, STEPS, orders) for noise in NOISES]
        epsilons = [module.get_privacy_spent(orders, one, target_delta=DELTA)[0] for one in divergences]
        worth[name] = [float(f"{epsilon:.{DIGITS}g}") for epsilon in epsilons]
    return worth


def main(clone: Path) -> None:
    """Write what each version gives; versions with the same code as the one before are left out."""
    rows: list[dict[str, Any]] = []
    not_run, before = [], ""
    for version in versions(clone):
        source = git(clone, "show", f"{version['commit']}:{version['path']}")
        if source == before:
            continue
        before = source
        try:
            rows.append({**version, **run_version(source)})
        except (ImportError, NameError, SyntaxError) as error:
            not_run.append({**version, "why": str(error)})
    text = json.dumps({"noises": NOISES, "versions": rows, "not_run": not_run}, indent=1)
    OUT.write_text(text + "\n", encoding="utf-8")
    print(f"{len(rows)} versions, {len(not_run)} not run: {OUT}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
