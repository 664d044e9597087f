"""`harness accountants`: the noise that each way to account asks for, and what that noise really gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from harness.commands.attack_risk import Advantage, AtFpr, Tpr, show_noise_for_attacks
from harness.commands.common import AsJson, Quiet, check_delta, check_epsilon, check_writable_file, print_json
from harness.commands.tables import print_table, print_text
from harness.errors import HarnessError
from harness.files import write_text
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.privacy.accountants import Run

T = TypeVar("T")
MOST = 10**12
"""Records, and passes over them."""
EPSILONS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1000.0)


def accountants(
    n: Annotated[int, typer.Option("--n", min=1, max=MOST, help="Training records.")] = 10000,
    batch_size: Annotated[int, typer.Option(min=1, max=MOST, help="Records in a batch.")] = 200,
    epochs: Annotated[int, typer.Option(min=1, max=MOST, help="Passes over the records.")] = 100,
    delta: Annotated[float, typer.Option(help="The delta of (epsilon, delta)-DP.")] = 1e-5,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="An epsilon; may be repeated. Default: 0.01 to 1000.")
    ] = None,
    advantage: Advantage = None,
    tpr: Tpr = None,
    at_fpr: AtFpr = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw noise and what it is worth over epsilon.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Noise multiplier over epsilon by every accountant, and what each of those noises is worth.

    DP-SGD with Gaussian noise on sums of clipped gradients, add/remove-one neighbours. `naive`, `advanced` and `zcdp`
    are the formulas of the code released with jayaraman2019 and compose over epochs of disjoint batches; `rdp`, `pld`
    and `gdp` compose over steps that Poisson sampling amplifies. What a nominal epsilon of each accountant is worth is
    given for both kinds of batches, from both sides: for shuffled ones from what no accounting can go under (Chua et
    al. 2024) to what holds without amplification, for any order of the batches; for Poisson batches within 0.5%. An
    accountant that cannot answer says why in its row, and the others answer. In JSON an infinite epsilon, and what
    could not be had, are null; `why` says which.

    With --advantage, or with --tpr and --at-fpr, the noise at which no attack passes that limit, and beside it the
    noise for an epsilon that keeps it, which is more: `harness accountants --tpr 0.1 --at-fpr 0.01`.
    """
    from harness.privacy.accountants import ACCOUNTANTS, Run

    check_delta(delta)
    run = Run(n, batch_size, epochs, delta)
    if advantage is not None or tpr is not None or at_fpr is not None:
        if epsilon or plot is not None:
            raise HarnessError("--epsilon and --plot are for the table over epsilon; leave them out beside a limit")
        show_noise_for_attacks(advantage, tpr, at_fpr, run, quiet, as_json)
        return
    check_writable_file(plot, "--plot", ".svg")
    asked = epsilon or EPSILONS
    for value in asked:
        check_epsilon(value, or_infinite=True)
    rows = []
    questions = [(value, name) for value in asked for name in ACCOUNTANTS]
    with Progress(quiet).cells("accounting", len(questions)) as bar:
        for number, (value, name) in enumerate(questions):
            bar.advance(min(number, 1), f"{name} at epsilon {value:g}")
            rows.append(_row(name, value, run))
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
                "noise": [_strict_row(row) for row in rows],
            }
        )
        return
    titles = {name: a.title + (" (no upper bound)" if a.approximate else "") for name, a in ACCOUNTANTS.items()}
    print_table(
        ("accountant", "what it is", "composes over", "batches", "source"),
        [(name, titles[name], a.composes_over, ", ".join(a.samplings), a.source) for name, a in ACCOUNTANTS.items()],
    )
    print_text("")
    print_table(
        (
            "epsilon",
            "accountant",
            "noise multiplier",
            "shuffled, from below and without amplification",
            "exact, Poisson",
        ),
        map(_shown_row, rows),
    )
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row["why"]:
            by_reason.setdefault(row["why"], []).append(f"{row['accountant']} at epsilon {row['epsilon']:g}")
    for why, places in by_reason.items():
        print_text(f"{', '.join(places)}: {why}")


def _shown_row(row: dict[str, Any]) -> tuple[str, ...]:
    """One accountant's noise and what that is worth, as a reader wants it."""
    noise = "-" if row["noise_multiplier"] is None else f"{row['noise_multiplier']:.6g}"
    worth = [_format_epsilon(row[f"exact_{of}"], row[f"exact_{of}_from"]) for of in ("shuffled", "poisson")]
    return (f"{row['epsilon']:g}", row["accountant"], noise, *worth)


def _row(name: str, epsilon: float, run: Run) -> dict[str, Any]:
    """One accountant's noise and what that is worth; None where it cannot be had, which `why` says."""
    from harness.privacy.accountants import ACCOUNTANTS

    accountant, why = ACCOUNTANTS[name], []

    def try_answer(answer: Callable[[], T]) -> T | None:
        try:
            return answer()
        except HarnessError as error:
            why.append(str(error).removeprefix("privacy: "))
            return None

    noise = try_answer(lambda: accountant.noise_multiplier(epsilon, run))
    row: dict[str, Any] = {"epsilon": epsilon, "accountant": name, "noise_multiplier": noise}
    for sampling, which in (("shuffled", "gaussian"), ("poisson", "pld")):
        sides = (
            (math.inf, math.inf) if noise == 0 else noise and try_answer(partial(ACCOUNTANTS[which].sides, noise, run))
        )
        low, high = sides or (None, None)
        row |= {f"exact_{sampling}_from": low, f"exact_{sampling}": high}
    remark = try_answer(lambda: accountant.remark(epsilon, run)) if noise else ""
    return {**row, "why": "; ".join(filter(None, [*why, remark]))}


def _format_epsilon(high: float | None, low: float | None = None) -> str:
    """An epsilon in four digits, from both sides where they show it."""
    if high is None:
        return "-"
    above = f"{high:.4g}"
    return above if low is None or f"{low:.4g}" == above else f"{low:.4g} to {above}"


def _strict_row(row: dict[str, object]) -> dict[str, object]:
    """What strict JSON has numbers for; the rest is null."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


def _draw(rows: list[dict[str, Any]], target: Path) -> None:
    from harness.report.pictures import draw_lines

    names = list(dict.fromkeys(row["accountant"] for row in rows))
    panels = {
        label: {
            name: [(r["epsilon"], r[key]) for r in rows if r["accountant"] == name and r[key] and r[key] < math.inf]
            for name in names
        }
        for label, key in (
            ("noise multiplier", "noise_multiplier"),
            ("ε, shuffled, without amplification", "exact_shuffled"),
            ("ε, Poisson, exact", "exact_poisson"),
        )
    }
    write_text(target, draw_lines(panels, "nominal epsilon"))
