"""`harness accountants`: the noise that each way to account asks for, and what that noise really gives."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands.common import AsJson, console, print_json, table_of
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.privacy.accountants import Run

EPSILONS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1000.0)


def accountants(
    n: Annotated[int, typer.Option("--n", min=1, help="Training records.")] = 10000,
    batch_size: Annotated[int, typer.Option(min=1, help="Records in a batch.")] = 200,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the records.")] = 100,
    delta: Annotated[float, typer.Option(help="The delta of (epsilon, delta)-DP.")] = 1e-5,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="An epsilon; may be repeated. Default: 0.01 to 1000.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw noise and exact epsilons over epsilon.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Noise multiplier over epsilon by every accountant, and the exact epsilon of each of those noises.

    DP-SGD with Gaussian noise on sums of clipped gradients, add/remove-one neighbours. `naive`, `advanced` and `zcdp`
    are the formulas of the code released with jayaraman2019 and compose over epochs of disjoint batches; `rdp`, `pld`
    and `gdp` compose over steps that Poisson sampling amplifies. The exact epsilon is given for both kinds of batches:
    it says what a nominal epsilon of each accountant is worth.
    """
    from harness.privacy.accountants import ACCOUNTANTS, Run

    run = Run(n, batch_size, epochs, delta)
    if plot is not None and plot.suffix != ".svg":
        raise HarnessError(f"--plot {plot}: the plot is an SVG; name it so")
    rows = [row for value in epsilon or EPSILONS for row in _rows(value, run)]
    if plot is not None:
        _draw(rows, plot)
    if as_json:
        print_json(
            {
                "run": {"n": n, "batch_size": batch_size, "epochs": epochs, "delta": delta},
                "accountants": {
                    name: {
                        "title": a.title,
                        "composes_over": a.composes_over,
                        "samplings": a.samplings,
                        "adjacency": a.adjacency,
                        "source": a.source,
                        "approximate": a.approximate,
                    }
                    for name, a in ACCOUNTANTS.items()
                },
                "noise": rows,
            }
        )
        return
    what = table_of("accountant", "what it is", "composes over", "batches", "source")
    for name, a in ACCOUNTANTS.items():
        title = a.title + (" (no upper bound)" if a.approximate else "")
        what.add_row(name, title, a.composes_over, ", ".join(a.samplings), a.source)
    console.print(what)
    table = table_of("epsilon", "accountant", "noise multiplier", "exact, shuffled", "exact, Poisson")
    for row in rows:
        exact = (f"{row[key]:.4g}" for key in ("exact_shuffled", "exact_poisson"))
        table.add_row(f"{row['epsilon']:g}", row["accountant"], f"{row['noise_multiplier']:.6g}", *exact)
    console.print(table)


def _rows(epsilon: float, run: Run) -> list[dict[str, Any]]:
    from harness.privacy.accountants import ACCOUNTANTS

    found = []
    for name, accountant in ACCOUNTANTS.items():
        noise = accountant.noise_multiplier(epsilon, run)
        exact = {
            f"exact_{sampling}": math.inf if noise == 0 else ACCOUNTANTS[which].epsilon(noise, run)
            for sampling, which in (("shuffled", "gaussian"), ("poisson", "pld"))
        }
        found.append({"epsilon": epsilon, "accountant": name, "noise_multiplier": noise, **exact})
    return found


def _draw(rows: list[dict[str, Any]], target: Path) -> None:
    from harness.files import write_text
    from harness.report.pictures import draw_lines

    names = list(dict.fromkeys(row["accountant"] for row in rows))
    panels = {
        label: {
            name: [(r["epsilon"], r[key]) for r in rows if r["accountant"] == name and 0 < r[key] < math.inf]
            for name in names
        }
        for label, key in (
            ("noise multiplier", "noise_multiplier"),
            ("exact epsilon, shuffled batches", "exact_shuffled"),
            ("exact epsilon, Poisson batches", "exact_poisson"),
        )
    }
    write_text(target, draw_lines(panels, "nominal epsilon"))
