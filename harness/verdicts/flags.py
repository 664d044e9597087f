"""What a verdict rests on that its reader should know: where bound and training differ, where results are from."""

from __future__ import annotations

from collections.abc import Sequence

from harness.claims.expectation import MeasuredClaimKind
from harness.experiment.results import ResultsFile
from harness.formulas import FORMULAS
from harness.spec.model import Spec
from harness.verdicts.noise_worth import worth_of_noise

BATCHES = {"poisson": "Poisson sampling", "shuffle": "shuffling", "none": "taking all records"}
"""How batches are drawn, in words."""


def describe_assumptions(spec: Spec, parts: Sequence[MeasuredClaimKind]) -> tuple[str, ...]:
    """Sentences on where bound, accountant and training assume different things."""
    if spec.results is not None:
        return _flags_of_results(spec.results)
    if spec.own_experiment is None:
        return ()
    arms = spec.own_experiment.arms
    flags = []
    for name, arm in dict.fromkeys((f.formula, arm) for p in parts for f in p.formulas() for arm in p.arms()):
        bound, privacy = FORMULAS[name], arms[arm].privacy
        if bound.adjacency is not None and bound.adjacency != privacy.adjacency:
            flags.append(
                f"The bound of {bound.source} is proved for {bound.adjacency} neighbours, and epsilon is accounted for "
                f"{privacy.adjacency}: each point also gives the bound at (2 epsilon, (1 + exp(epsilon)) delta)."
            )
        if bound.pure_only and privacy.delta > 0:
            flags.append(f"The bound of {bound.source} is proved for delta = 0, and delta is {privacy.delta:g}.")
    named = dict.fromkeys(arm for part in parts for arm in part.arms())
    flags += [worth for arm in named if (worth := worth_of_noise(arms[arm]))]
    bounded = dict.fromkeys(arm for part in parts if part.formulas() for arm in part.arms())
    for accountant, assumed, trained in dict.fromkeys(
        (arms[arm].privacy.accountant, arms[arm].privacy.sampling, arms[arm].training.sampling) for arm in bounded
    ):
        if assumed != trained:
            more = " Each point also gives the epsilon and the bound as trained." if trained == "shuffle" else ""
            flags.append(
                f"The accountant {accountant} assumes batches by {BATCHES[assumed]}, and training draws them by "
                f"{BATCHES[trained]}: epsilons are nominal.{more}"
            )
    clipped = [arm for arm in named if arms[arm].training.clipping == "batch"]
    if clipped:
        flags.append(
            f"{', '.join(clipped)}: the mean of a batch is clipped, which one record moves by up to twice the clipping "
            "norm, and the accountants assume once: epsilons are nominal."
        )
    return tuple(dict.fromkeys(flags))


def _flags_of_results(results: ResultsFile) -> tuple[str, ...]:
    """Sentences on results that were not measured here."""
    source = f" ({results.source.rstrip('.')})" if results.source else ""
    flags = [f"Nothing was trained or attacked here: the results are read from {results.portable_path}{source}."]
    if results.format == "scores":
        flags.append("The metrics of attacks were computed here, from the scores in it.")
    if results.format == "summary":
        of = "standard errors" if results.spread == "stderr" else "standard deviations"
        flags.append(
            f"Single results are not known: intervals follow from printed means, {of} and numbers of repeats by "
            "Student's t, as if results were normal."
        )
    if results.stopped_early:
        flags.append(
            "Some runs stopped early: a place has the runs that got there, and what is said of it is of those. "
            "Differences are of the runs that both places have."
        )
    flags.append("The number of repeats is what the file has: whether it was fixed beforehand is not known here.")
    return tuple(flags)
