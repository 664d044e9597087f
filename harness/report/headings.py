"""Data sets by the names that the field has for them, and headings that no two claims of a page share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from harness.claims.verdict import Verdict
from harness.data.dataset import DATASETS, Dataset, TableDataset
from harness.report.vocabulary import letters
from harness.spec.model import Spec

MANY = 2
"""Data sets of a spec of which a heading names each."""


def datasets_of(spec: Spec, arm: str = "") -> tuple[str, ...]:
    """Names in the field of the data sets of a spec, or of one of its arms."""
    if spec.results is not None:
        return (spec.results.portable_path,)
    if spec.own_experiment is None:
        return ()
    trained = (one.setup for one in spec.own_experiment.variants() if not arm or one.arm == arm)
    return tuple(dict.fromkeys(_dataset_words(setup.dataset) for setup in trained))


def _dataset_words(dataset: Dataset) -> str:
    """A data set by its name in the field; of one that stands in for another, the other's, and that it does."""
    if isinstance(dataset, TableDataset) and dataset.stands_in_for is not None:
        return f"{DATASETS[dataset.stands_in_for].display} (stand-in)"
    return dataset.display or dataset.name


def headings(verdicts: Sequence[Verdict], specs: Mapping[str, Spec]) -> dict[str, str]:
    """A heading for each claim, by id: its statement, followed by its data sets and its spec's name as far as another
    claim has the same."""
    datasets = {name: datasets_of(spec) for name, spec in specs.items()}
    shared = Counter(v.claim.statement for v in verdicts)
    by_data = Counter((v.claim.statement, datasets[v.spec]) for v in verdicts)
    texts = {}
    for v in verdicts:
        of = datasets[v.spec]
        more = []
        if shared[v.claim.statement] > 1:
            more = [*of] if len(of) <= MANY else []
            if by_data[v.claim.statement, of] > 1 or not more:
                more.append(v.spec.rpartition("/")[2])
        statement = letters(v.claim.statement)
        texts[v.id] = f"{statement.removesuffix('.')} ({', '.join(more)})." if more else statement
    return texts
