"""`python -m benchmarks [SECTION]...`: measure, print tables, write `benchmarks/results.json`.

Contenders of a table take turns, round after round, so that a machine's moods fall on all of them; a
table shows medians, and ratios of medians. Peers that are not installed are reported as such; those
that cannot live beside TensorFlow 2.15 are looked for in the interpreter that BENCH_PEERS_PYTHON names
(see benchmarks/README.md).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.execution import grid_times, overheads, store_reads
from benchmarks.queries import label_times, sampling_seconds
from harness.files import write_text
from harness.verdicts.provenance import hardware

PEERS = ("opacus", "opacus_ghost", "jax_vmap")
RESULTS = Path(__file__).parent / "results.json"
console = Console(width=120)


def measure(name: str, setup: dict[str, Any], rounds: int) -> list[float] | str:
    """Milliseconds a step in each round, or why there is none."""
    python = os.environ.get("BENCH_PEERS_PYTHON", sys.executable) if name in PEERS else sys.executable
    cores = str(len(os.sched_getaffinity(0)))
    environment = {**os.environ, "HARNESS_TENSORFLOW_THREADS": str(setup.pop("threads", cores))}
    times = []
    for _ in range(rounds):
        ran = subprocess.run(
            [python, "-m", "benchmarks.contenders", name, json.dumps(setup)],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        lines = [line for line in ran.stdout.splitlines() if line.startswith("RESULT ")]
        if not lines:
            return f"failed: {ran.stderr.strip().splitlines()[-1][:100] if ran.stderr.strip() else ran.returncode}"
        found = json.loads(lines[-1].removeprefix("RESULT "))
        if "missing" in found:
            return f"not installed ({found['missing']})"
        times.append(found["ms"])
    return times


def rounds_of(entries: dict[str, tuple[str, dict[str, Any]]], rounds: int) -> dict[str, Any]:
    """Measure labelled contenders in turns."""
    found: dict[str, Any] = {label: [] for label in entries}
    for _ in range(rounds):
        for label, (name, setup) in entries.items():
            if isinstance(found[label], str):
                continue
            one = measure(name, dict(setup), 1)
            found[label] = one if isinstance(one, str) else [*found[label], *one]
    return found


def show(title: str, found: dict[str, Any], reference: str | None = None, digits: int = 3) -> None:
    """A table of medians with ranges, and ratios to the reference."""
    table = Table(title=title, box=None, header_style="bold")
    for column in ("what", "ms a step and model", "range", f"times {reference}" if reference else ""):
        table.add_column(column)
    base = statistics.median(found[reference]) if reference and isinstance(found[reference], list) else None
    for label, times in found.items():
        if isinstance(times, str):
            table.add_row(label, times)
            continue
        middle = statistics.median(times)
        ratio = f"{middle / base:.3g}" if base else ""
        spread = f"{min(times):.{digits}f} to {max(times):.{digits}f}"
        table.add_row(label, f"{middle:.{digits}f}", spread, ratio)
    console.print(table)


def engines(rounds: int) -> dict[str, Any]:
    """Private and plain training of MLP 104-256-256-2, batch 200, Adam."""
    long = {"epochs": 20}  # preparing the data and the weights is no part of a step
    entries: dict[str, tuple[str, dict[str, Any]]] = {
        "fast": ("fast", long),
        "fast, one thread": ("fast", {**long, "threads": 1}),
        "fast, no privacy": ("fast", {**long, "noise": 0.0}),
        "Keras fit, no privacy": ("keras", long),
        "TF Privacy DPSequential (engine tf-privacy)": ("tf_privacy", {}),
        "TF Privacy VectorizedDPKerasAdamOptimizer": ("vectorized_dp_adam", {"steps": 5}),
        "TF Privacy DPKerasAdamOptimizer": ("dp_adam", {"steps": 5}),
        "Opacus, hooks": ("opacus", {"epochs": 1}),
        "Opacus, ghost clipping": ("opacus_ghost", {}),
        "JAX vmap and scan": ("jax_vmap", {"epochs": 2}),
    }
    found = rounds_of(entries, rounds)
    show("MLP 104-256-256-2, batch 200, Adam", found, "fast")
    ours = statistics.median(found["fast"])
    for label in ("Keras fit, no privacy", "TF Privacy VectorizedDPKerasAdamOptimizer"):
        if isinstance(found[label], list):
            console.print(f"fast / {label}: {ours / statistics.median(found[label]):.4f}")
    return found


def scaling(rounds: int) -> dict[str, Any]:
    """The fast engine over batch size, width and number of classes."""
    entries = {f"batch {b}": ("fast", {"batch": b}) for b in (50, 100, 200, 400, 800)}
    entries |= {f"width {w}": ("fast", {"hidden": [w, w]}) for w in (64, 128, 256, 512)}
    entries |= {f"classes {c}": ("fast", {"classes": c}) for c in (2, 10, 100)}
    found = rounds_of(entries, rounds)
    show("fast engine, one of batch, width and classes changed", found)
    return found


def replicates(rounds: int) -> dict[str, Any]:
    """Models trained as one stack, and one at a time."""
    attack = {"n": 2000, "features": 2, "hidden": [64], "batch": 100, "noise": 0.0, "epochs": 40}
    softmax = {"features": 50, "hidden": [], "classes": 100}
    found = {}
    for title, setup, sizes in (
        ("attack models 2-64-2, no noise, batch 100", attack, (1, 5, 20, 50)),
        ("softmax regression 50-100, private, batch 200", softmax, (1, 4, 16)),
        ("MLP 104-256-256-2, private, batch 200", {}, (1, 2, 4)),
    ):
        for threads in (1, len(os.sched_getaffinity(0))):
            label = f"{title}, {threads} thread" + ("s" if threads > 1 else "")
            entries = {f"{r} at a time": ("fast", {**setup, "replicates": r, "threads": threads}) for r in sizes}
            found[label] = rounds_of(entries, rounds)
            show(label, found[label], "1 at a time", 4)
    return found


def networks(rounds: int) -> dict[str, Any]:
    """Private and plain training of the papers' convolutional networks, batch 64, Adam."""
    found = {}
    for network, image in (("tanh-mnist", (28, 28, 1)), ("vgg-like", (28, 28, 1)), ("vgg-like", (32, 32, 3))):
        setup = {"image": image, "network": network, "classes": 10, "batch": 64, "n": 640, "epochs": 3, "apart": True}
        if network == "tanh-mnist":
            setup |= {"n": 6400, "epochs": 3}
        few = {**setup, "n": 320, "steps": 5}
        entries: dict[str, tuple[str, dict[str, Any]]] = {
            "fast, private": ("fast", setup),
            "fast, no privacy": ("fast", {**setup, "noise": 0.0}),
            "Keras fit, no privacy": ("keras", setup),
            "TF Privacy VectorizedDPKerasAdamOptimizer": ("vectorized_dp_adam", few),
        }
        label = f"{network}, {' x '.join(map(str, image))}, batch 64, Adam"
        found[label] = rounds_of(entries, rounds)
        show(label, found[label], "Keras fit, no privacy", 1)
    return found


def execution(_rounds: int) -> dict[str, Any]:
    """Workers, Dask workers, and what the store and MLflow cost."""
    return {"grid": grid_times(console), "overheads": overheads(console), "store": store_reads(console)}


def queries(rounds: int) -> dict[str, Any]:
    """Asking trained models for labels, one thread, and the sampling attack."""
    return {"labels": label_times(console, rounds), "sampling": sampling_seconds(console)}


SECTIONS: dict[str, Callable[[int], dict[str, Any]]] = {
    "engines": engines,
    "scaling": scaling,
    "replicates": replicates,
    "networks": networks,
    "execution": execution,
    "queries": queries,
}


def main() -> None:
    """Run the chosen sections and keep their numbers beside those of the others."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--rounds", type=int, default=5, help="turns of every contender (default 5)")
    chosen = parser.parse_args()
    unknown = set(chosen.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {', '.join(sorted(unknown))}; known: {', '.join(SECTIONS)}")
    kept = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    machine = f"{hardware()}, {len(os.sched_getaffinity(0))} cores, {platform.release()}"
    console.print(machine)
    for name in chosen.sections or SECTIONS:
        kept[name] = {"machine": machine, "rounds": chosen.rounds, "results": SECTIONS[name](chosen.rounds)}
        write_text(RESULTS, json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
