"""What claims may name of a file of results."""

from __future__ import annotations

from harness.claims.declared import NameScope
from harness.experiment import ResultsFile


def names_of_results(results: ResultsFile) -> NameScope:
    """What claims may name of a file of results."""
    content = results.content_of_file
    metrics = tuple(results.metrics) if content is None else content.metrics
    of_attacks = tuple(metric for metric in metrics if results.is_of_attacks(metric))
    return NameScope(
        arms={arm: results.levels(arm) for arm in results.arms},
        attacks=dict.fromkeys(results.attacks, of_attacks),
        of_models=tuple(metric for metric in metrics if metric not in of_attacks),
        coordinates=results.numbers_given,
        summary=results.format == "summary",
    )
