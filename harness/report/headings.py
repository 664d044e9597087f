"""Data sets by the names that the field has for them, and headings that no two claims of a page share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from harness.claims.verdict import Verdict
from harness.data.dataset import DATASETS, Dataset, TableDataset
from harness.report.vocabulary import letters
from harness.spec.claim import Claim
from harness.spec.model import Spec

MANY = 2
"""Data sets of a spec of which a heading names each."""
STAND_IN = " (stand-in)"


def datasets_of(spec: Spec, arm: str = "") -> tuple[str, ...]:
    """Names in the field of the data sets of a spec, or of one of its arms."""
    if spec.results is not None:
        return (spec.results.portable_path,)
    by_arm = datasets_by_arm(spec)
    return by_arm.get(arm, ()) if arm else _each_once(by_arm.values())


def datasets_by_arm(spec: Spec) -> dict[str, tuple[str, ...]]:
    """Names in the field of the data sets of each arm that a spec trains, in its order."""
    found: dict[str, dict[Dataset, None]] = {}
    for variant in spec.own_experiment.variants() if spec.own_experiment is not None else ():
        found.setdefault(variant.arm, {})[variant.setup.dataset] = None
    return {arm: tuple(dict.fromkeys(map(_dataset_words, datasets))) for arm, datasets in found.items()}


def _each_once(several: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """All names, in their order, each once."""
    return tuple(dict.fromkeys(name for names in several for name in names))


def _dataset_words(dataset: Dataset) -> str:
    """A data set by its name in the field; of one that stands in for another, the other's, and that it does."""
    if isinstance(dataset, TableDataset) and dataset.stands_in_for is not None:
        return DATASETS[dataset.stands_in_for].display + STAND_IN
    return dataset.display or dataset.name


def headings(verdicts: Sequence[Verdict], specs: Mapping[str, Spec]) -> dict[str, str]:
    """A heading for each claim, by id: its statement, followed by the data sets that it does not name itself, and by
    its spec's title where another claim has the same statement and data."""
    by_arm = {name: datasets_by_arm(spec) for name, spec in specs.items()}
    datasets = {v.id: _datasets_of_claim(v, specs[v.spec], by_arm[v.spec]) for v in verdicts}
    same = Counter((v.claim.statement, datasets[v.id]) for v in verdicts)
    texts = {}
    for v in verdicts:
        statement, of = letters(v.claim.statement), datasets[v.id]
        more = [name.replace(STAND_IN, " stand-in") for name in of if not _is_named(name, statement)]
        if len(of) > MANY:
            more = []
        if same[v.claim.statement, of] > 1:
            more.append(_place_or_title(v, specs[v.spec], of))
        texts[v.id] = f"{statement.removesuffix('.')} ({', '.join(more)})." if more else statement
    return texts


def _place_or_title(verdict: Verdict, spec: Spec, datasets: tuple[str, ...]) -> str:
    """Where in the paper a claim's experiment is, in few words; else its spec's title without the data sets."""
    if re.fullmatch(r"(Figure|Table|Section) [\w.]+", spec.where.partition(",")[0]):
        return spec.where.partition(",")[0]
    title = spec.title
    for name in (name.removesuffix(STAND_IN) for name in datasets):
        title = title.removeprefix(f"{name}, ").removesuffix(f", {name}")
    return title[:1].lower() + title[1:] if title[1:2].islower() else title


def _datasets_of_claim(verdict: Verdict, spec: Spec, by_arm: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Data sets that a claim is about; none where it compares nothing that is measured."""
    claim = next(claim for claim in spec.claims if f"{spec.id}#{claim.id}" == verdict.id)
    asks_of_data = any(part.operands() for part in spec.parts(claim)) or verdict.numbers.points
    return datasets_of_claim(spec, claim, by_arm) if asks_of_data and not claim.theory else ()


def datasets_of_claim(spec: Spec, claim: Claim, by_arm: Mapping[str, tuple[str, ...]] | None = None) -> tuple[str, ...]:
    """Names in the field of the data sets of the arms that a claim compares; of all where it names none.

    `by_arm` is what `datasets_by_arm` says of the spec, where many claims of it are asked about.
    """
    if spec.results is not None:
        return datasets_of(spec)
    by_arm = datasets_by_arm(spec) if by_arm is None else by_arm
    arms = {arm for part in spec.parts(claim) for arm in part.arms()}
    every, named = _each_once(by_arm.values()), {name for arm in arms for name in by_arm.get(arm, ())}
    return tuple(name for name in every if name in named) or every


def _is_named(dataset: str, statement: str) -> bool:
    """Whether a statement names a data set, whatever stands in for it."""
    return dataset.removesuffix(STAND_IN).lower() in statement.lower()
