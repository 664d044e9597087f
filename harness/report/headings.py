"""Data sets by the names that the field has for them, and headings that no two claims of a page share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from harness.claims.verdict import Verdict
from harness.report.vocabulary import letters
from harness.spec.model import Spec

DATASETS = {
    "adult": "Adult",
    "compas": "COMPAS",
    "mixture": "mixture of Gaussians",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "mnist": "MNIST",
    "fashion-mnist": "Fashion-MNIST",
    "ch-mnist": "CH-MNIST",
    "location30": "Location-30",
    "purchase100": "Purchase-100",
    "texas100": "Texas-100",
}
STAND_IN = "-substitute"
"""How the kind of a data set ends that stands in for another."""
MANY = 2
"""Data sets of a spec of which a heading names each."""


def datasets_of(spec: Spec, arm: str = "") -> tuple[str, ...]:
    """The data sets that a spec's models are trained on, or those of one arm, by their names in the field."""
    if spec.results is not None:
        return (spec.results.path,)
    if spec.own_experiment is None:
        return ()
    trained = (one.setup for one in spec.own_experiment.variants() if not arm or one.arm == arm)
    kinds = dict.fromkeys(setup.dataset.plugin_name() for setup in trained)
    return tuple(dataset_words(kind) for kind in kinds)


def dataset_words(kind: str) -> str:
    """A data set by its name in the field; of one that stands in for another, the other's, and that it does."""
    name = kind.removesuffix(STAND_IN)
    return DATASETS.get(name, name) + (" (stand-in)" if kind.endswith(STAND_IN) else "")


def headings(verdicts: Sequence[Verdict], specs: Mapping[str, Spec]) -> dict[str, str]:
    """Each claim's statement, by its id; where another claim has the same, followed by its data sets, and by its spec's
    name where that is not enough."""
    datasets = {name: datasets_of(spec) for name, spec in specs.items()}
    shared = Counter(v.statement for v in verdicts)
    by_data = Counter((v.statement, datasets[v.spec]) for v in verdicts)
    texts = {}
    for v in verdicts:
        of = datasets[v.spec]
        more = []
        if shared[v.statement] > 1:
            more = [*of] if len(of) <= MANY else []
            if by_data[v.statement, of] > 1 or not more:
                more.append(v.spec.rpartition("/")[2])
        statement = letters(v.statement)
        texts[v.id] = f"{statement.removesuffix('.')} ({', '.join(more)})." if more else statement
    return texts
