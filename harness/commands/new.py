"""`harness new`: a working file of each sort to start from, with a test that passes."""

from __future__ import annotations

import keyword
import re
import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from harness.commands.common import project_here
from harness.errors import HarnessError

Sort = Literal["spec", "attack", "dataset", "formula", "claim"]

SPEC = """\
# yaml-language-server: $schema={schema}
# Change what you like, then:
#   harness validate {path}
#   harness plan     {path}
#   harness run      {path}
paper: own
title: Does the bound hold where members share an attribute?
where: {name}

experiment:
  seed: 1
  dataset: {{kind: adult}}  # `harness data status` lists the others; a table of yours is {{kind: csv, path: ...}}
  preprocessing: {{impute: mean-mode, scaling: min-max}}
  sizes: {{members: 1000, test: 250, nonmembers: 1000}}
  arms:
    # Members and test records share a value of this column, non-members do not.
    biased: {{split: {{kind: attribute, attribute: marital-status, values: [Never-married]}}}}
    iid: {{split: {{kind: random}}}}
  model: {{kind: mlp, hidden: [64, 64], activation: relu}}
  training: {{engine: fast, learning_rate: 0.01, batch_size: 100, epochs: 20}}
  privacy: {{epsilons: [0.1, 1, 10, .inf], delta: 1.0e-4}}
  repeats: 6

attacks:
  logloss: {{kind: logloss}}

claims:
  - id: biased-beats-iid
    where: here
    statement: The loss attack does better where members share an attribute than on a random split.
    expect:
      {{kind: compare, left: {{metric: advantage, arm: biased, attack: logloss}}, relation: ">", right: {{arm: iid}}}}
  - id: bound-holds
    where: here
    statement: DP's bound holds on the random split.
    expect:
      kind: compare
      left: {{metric: advantage, arm: iid, attack: logloss}}
      relation: "<="
      right: {{formula: humphries}}
"""

PYPROJECT = """\
[build-system]
requires = ["setuptools>=70"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
dependencies = ["mi-dp-harness"]

# `pip install -e .` is all that the harness needs to know of it.
[project.entry-points."harness.plugins"]
{module} = "{module}"

[tool.setuptools]
py-modules = ["{module}"]
"""

MODULES: dict[str, str] = {
    "attack": '''\
"""An attack: in a spec, `attacks: {{mine: {{kind: {name}}}}}`."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from harness.plugins import ATTACKS, Answers, MembershipAttack, Outputs


@ATTACKS.register
class {cls}(MembershipAttack):
    """Member iff the model gives the record's own label more than `threshold`."""

    kind: Literal["{name}"] = "{name}"
    threshold: float = 0.9
    """Of the probability of the label."""
    summary: ClassVar[str] = "member iff the label has more than a fixed probability"

    def answer(self, members: Outputs, nonmembers: Outputs, fitted: dict[str, Any]) -> Answers:
        inside, outside = (self._own(outputs) for outputs in (members, nonmembers))
        return Answers(inside, outside, inside > self.threshold, outside > self.threshold)

    def _own(self, outputs: Outputs) -> Any:
        """Probability of each record's own label, (n,)."""
        import numpy as np

        return np.exp(outputs.log_probabilities[np.arange(len(outputs.labels)), outputs.labels])
''',
    "dataset": '''\
"""A data set that is drawn: in a spec, `dataset: {{kind: {name}}}`."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from harness.plugins import DATASETS, GeneratorDataset


@DATASETS.register
class {cls}(GeneratorDataset):
    """Two normal clouds, one a class; a sub-population moves both."""

    kind: Literal["{name}"] = "{name}"
    features: int = 10
    """Numbers of a record."""
    populations: int = 3
    """Sub-populations."""
    distance: float = 1.0
    """Between the centres of the classes, in standard deviations."""
    display: ClassVar[str] = "{name}"

    @property
    def n_classes(self) -> int:
        return 2

    @property
    def n_components(self) -> int:
        return self.populations

    def sample(self, component: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        labels = rng.integers(2, size=len(component))
        records = rng.standard_normal((len(component), self.features))
        records[:, 0] += self.distance * labels
        records[:, 1] += 0.5 * component
        return records.astype(np.float32), labels.astype(np.int64)
''',
    "formula": '''\
"""A formula, here a bound: in a claim, `right: {{formula: {name}}}`. Written so that claims on it can be proved."""

from __future__ import annotations

from typing import Any

from harness.plugins import formula, numbers


@formula(
    "{name}",
    "1 - exp(-eps)",
    "where it stands: paper, theorem",
    bounds="advantage",
    adjacency="replace-one",
    assumptions=("delta = 0",),
    pure_only=True,
)
def {module}(epsilon: Any) -> Any:
    """Upper bound on the advantage."""
    return 0.0 - numbers.expm1(0.0 - epsilon)
''',
    "claim": '''\
"""A kind of claim: in a spec, `expect: {{kind: {name}, of: {{metric: advantage}}, low: 0, high: 0.1}}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from harness.plugins import (
    CLAIM_KINDS, At, Expression, MeasuredClaimKind, Measurements, MetricOperand, NameScope, Number, Part, PartResult,
    PointResult, Real, chain, compare_at, numeral, over_grid,
)


@CLAIM_KINDS.register
class {cls}(MeasuredClaimKind):
    """low < of < high, at every grid point; one claim for each metric, arm and attack that `of` lists."""

    kind: Literal["{name}"] = "{name}"
    of: MetricOperand
    low: Real
    high: Real
    at: At = None

    def tree(self) -> Expression:
        return chain("<", numeral(self.low), self.of.curve.tree(), numeral(self.high))

    def parts(self, declared: NameScope) -> Sequence[Self]:
        return [self.model_copy(update={{"of": one}}) for one in declared.complete(self.of).each()]

    def operands(self) -> Sequence[MetricOperand]:
        return [self.of]

    def judge(self, evidence: Measurements, part: Part) -> PartResult:
        curve, low, high = self.of.curve, Number(value=self.low), Number(value=self.high)

        def looks(where: Mapping[str, Any]) -> list[PointResult]:
            above = compare_at(evidence, part.index, curve, ">", low, 0.0, where)
            return [above, compare_at(evidence, part.index, curve, "<", high, 0.0, where)]

        return over_grid(evidence, part, [curve], self.at, evidence.test([curve]), frozenset(), looks)
''',
}

TESTS: dict[str, str] = {
    "attack": """\
import numpy as np
from harness.plugins import Outputs
from {module} import {cls}


def test_calls_members_what_the_model_is_sure_of():
    def outputs(probability):
        own = np.log([[probability, 1 - probability]] * 4)
        return Outputs(own, np.zeros(4, dtype=np.int64))

    found = {cls}().answer(outputs(0.99), outputs(0.6), {{}})
    assert found.member_decisions.all()
    assert not found.nonmember_decisions.any()
""",
    "dataset": """\
import numpy as np
from {module} import {cls}


def test_records_have_the_shape_and_classes_lie_apart():
    records, labels = {cls}(distance=5.0).sample(np.zeros(1000, dtype=int), np.random.default_rng(0))
    assert records.shape == (1000, 10)
    assert records[labels == 1, 0].mean() - records[labels == 0, 0].mean() > 4
""",
    "formula": """\
import math

import {module}
from harness.formulas import FORMULAS


def test_its_value_where_it_is_known():
    assert math.isclose(FORMULAS["{name}"].value({{"epsilon": 1.0}}), 1 - math.exp(-1))
    assert {module}.__doc__
""",
    "claim": """\
from {module} import {cls}


def test_it_says_what_it_claims():
    claim = {cls}.model_validate(
        {{"of": {{"metric": "advantage", "arm": "iid", "attack": "logloss"}}, "low": 0.0, "high": 0.1}}
    )
    assert claim.text() == "0 < advantage(iid, logloss) < 0.1"
""",
}


def new(
    sort: Annotated[Sort, typer.Argument(metavar="spec|attack|dataset|formula|claim", help="What to begin.")],
    name: Annotated[str, typer.Argument(help="Lower case, with hyphens.")],
    into: Annotated[
        Path | None, typer.Option("--into", metavar="FOLDER", help="Default: specs/own, or a folder of its name here.")
    ] = None,
) -> None:
    """Begin a spec, or a package with an attack, a data set, a formula or a kind of claim; with a test that passes.

    A package's `pip install -e .` makes it known to the harness. Nothing that is there is overwritten.
    """
    from harness.files import write_text

    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise HarnessError(f"{name!r} is no name; write it in lower case, with hyphens, such as my-{sort}")
    module = name.replace("-", "_")
    if keyword.iskeyword(module):
        raise HarnessError(f"{name!r} is a word of Python's; choose another")
    if sort != "spec":
        _check_free(sort, name, module)
    if sort == "spec":
        files = _spec(name, into)
    else:
        folder = into or Path(name)
        given = {"name": name, "module": module, "cls": "".join(part.capitalize() for part in name.split("-"))}
        files = {
            folder / "pyproject.toml": PYPROJECT.format(**given),
            folder / f"{module}.py": MODULES[sort].format(**given),
            folder / "tests" / f"test_{module}.py": TESTS[sort].format(**given),
        }
    there = [path for path in files if path.exists()]
    if there:
        raise HarnessError(f"{there[0]}: is there already; nothing was written")
    for path, text in files.items():
        write_text(path, text)
        print(path)
    if sort == "spec":
        typed = shlex.quote(str(next(iter(files))))
        print(f"next: harness validate {typed}, then harness run {typed}")
    else:
        typed = shlex.quote(str(folder))
        print(f"next: pip install -e {typed}; python -m pytest {typed}")


def _check_free(sort: Sort, name: str, module: str) -> None:
    """Raises HarnessError where a module or a plug-in of that name is there, whose place the new one would take."""
    import importlib.util

    from harness.attacks.attack import ATTACKS
    from harness.claims.expectation import CLAIM_KINDS
    from harness.data.dataset import DATASETS
    from harness.formulas import FORMULAS
    from harness.spec import model  # noqa: F401  (registers all that there are)

    if importlib.util.find_spec(module) is not None:
        raise HarnessError(f"{name!r}: a Python module {module} is there already; choose another name")
    known = {
        "attack": ATTACKS.names(),
        "dataset": DATASETS.names(),
        "formula": list(FORMULAS),
        "claim": CLAIM_KINDS.names(),
    }
    if name in known[sort]:
        raise HarnessError(f"{name!r}: a name of the harness' own, among: {', '.join(known[sort])}")


def _spec(name: str, into: Path | None) -> dict[Path, str]:
    import os

    project = project_here()
    path = (into or project.specs / "own") / f"{name}.yaml"
    schema = os.path.relpath(project.specs / "schema.json", path.parent)
    try:
        shown = path.resolve().relative_to(Path.cwd())
    except ValueError:
        shown = path
    return {shown: SPEC.format(name=name, path=shlex.quote(str(shown)), schema=schema)}
