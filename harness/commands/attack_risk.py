"""`harness accountants --advantage` and `--tpr`: the noise for what attacks may reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from harness.commands.common import print_json
from harness.commands.tables import print_table, print_text
from harness.errors import HarnessError
from harness.progress import Progress

if TYPE_CHECKING:
    from harness.privacy.accountants import Run

PANEL = "What attacks may reach, in place of epsilon"
Advantage = Annotated[
    float | None,
    typer.Option(rich_help_panel=PANEL, help="The membership advantage, TPR - FPR, that no attack may pass."),
]
Tpr = Annotated[
    float | None, typer.Option(rich_help_panel=PANEL, help="The TPR that no attack may pass at the FPR --at-fpr.")
]
AtFpr = Annotated[float | None, typer.Option(rich_help_panel=PANEL, help="The FPR of --tpr, such as 0.01.")]


def show_noise_for_attacks(
    advantage: float | None, tpr: float | None, at_fpr: float | None, run: Run, quiet: bool, as_json: bool
) -> None:
    """Print the noise at which no attack passes a limit, beside the noise for an epsilon that keeps it.

    Raises HarnessError for options that do not go together.
    """
    from harness.privacy.accounting import Sampling
    from harness.privacy.risk import Risk

    if advantage is not None and (tpr is not None or at_fpr is not None):
        raise HarnessError("--advantage and --tpr are two limits: give one of them")
    if (tpr is None) != (at_fpr is None):
        given, lacks = ("--tpr", "--at-fpr 0.01") if at_fpr is None else ("--at-fpr", "--tpr 0.1")
        raise HarnessError(f"{given}: a TPR is of an FPR; give {lacks} too")
    risk = Risk(advantage, None) if advantage is not None else Risk(tpr or 0.0, at_fpr)
    samplings = get_args(Sampling)
    with Progress(quiet).cells("accounting", len(samplings)) as bar:
        rows = []
        for sampling in samplings:
            rows.append(_row(risk, run, sampling))
            bar.advance(1, f"{sampling} batches")
    if as_json:
        asked = {"n": run.n, "batch_size": run.batch_size, "epochs": run.epochs, "delta": run.delta}
        limit = {"advantage": advantage} if advantage is not None else {"tpr": tpr, "at_fpr": at_fpr}
        print_json({"run": asked, "limit": limit, "noise": rows})
        return
    print_table(
        (
            "batches",
            "noise multiplier",
            "its epsilon",
            "epsilon that keeps the limit",
            "noise for that epsilon",
            "ratio",
        ),
        [_format_row(row) for row in rows],
    )
    print_text(
        f"Epsilon at delta {run.delta:g}, add-remove-one neighbours. The first noise is found by the whole curve of "
        "delta over epsilon, the other by way of one epsilon that keeps the limit whatever the mechanism is."
    )
    for row in rows:
        if row["why"]:
            print_text(f"{row['batches']}: {row['why']}")


def _row(risk: Any, run: Run, sampling: Any) -> dict[str, Any]:
    """Both noises for one way to draw batches; None where one cannot be had, which `why` says."""
    from harness.privacy.accountants import ACCOUNTANTS
    from harness.privacy.risk import noise_by_epsilon, noise_for_risk

    row: dict[str, Any] = dict.fromkeys(("noise_multiplier", "epsilon", "keeping_epsilon", "keeping_noise", "ratio"))
    why = []
    try:
        row["noise_multiplier"] = noise = noise_for_risk(risk, run, sampling)
        row["epsilon"] = ACCOUNTANTS["gaussian" if sampling == "shuffle" else "pld"].epsilon(noise, run)
    except HarnessError as error:
        why.append(str(error).removeprefix("privacy: "))
    try:
        row["keeping_epsilon"], row["keeping_noise"] = noise_by_epsilon(risk, run, sampling)
        row["ratio"] = row["keeping_noise"] / row["noise_multiplier"] if row["noise_multiplier"] else None
    except HarnessError as error:
        why.append(str(error).removeprefix("privacy: "))
    return {"batches": sampling, **row, "why": "; ".join(why)}


def _format_row(row: dict[str, Any]) -> tuple[str, ...]:
    names = ("noise_multiplier", "epsilon", "keeping_epsilon", "keeping_noise", "ratio")
    return (row["batches"], *("-" if row[name] is None else f"{row[name]:.4g}" for name in names))
