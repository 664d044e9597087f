"""How often a survey finds something where there is nothing, and how often it finds what is there.

`python -m benchmarks.survey_null` writes benchmarks/survey_null.json; docs/survey.md shows the numbers. A table of
1,200 rows has two columns of categories, a number and a label, all drawn by themselves: who is a member says nothing of
anybody. Each of 1,000 such tables is surveyed: `list_member_sets` and `write_declaration` as the command does, the
splits, the loss attack, the blind attack and the judge as in a run, with logistic regression of scikit-learn in the
place of DP-SGD (at a finite epsilon, weights drawn without looking at the data, which is private for any epsilon).
With `--leak` the label follows from the number on one of the sites and is drawn on the others.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy import special
from sklearn.linear_model import LogisticRegression

from harness.arrays import Array
from harness.attacks.blind import Blind
from harness.attacks.logloss import Logloss
from harness.data.dataset import Schema
from harness.data.encoding import Preprocessing, encode
from harness.data.split import Draw, Records, Sizes, TableSource, TableSplit
from harness.execution.table import COLUMNS
from harness.extensions.survey.declaration import SurveyPlan, write_declaration
from harness.extensions.survey.member_sets import MemberSet, list_member_sets
from harness.extensions.survey.ranking import SetResult, rank
from harness.files import write_text
from harness.hashing import generator
from harness.metrics.answers import Answers, Outputs
from harness.metrics.membership import advantage
from harness.metrics.value import Value
from harness.paths import Project
from harness.spec.load import load_spec
from harness.spec.model import Spec
from harness.spec.profile import Profile, scale
from harness.verdicts.check import judge_spec

RESULTS = Path(__file__).parent / "survey_null.json"
ROWS, REPEATS = 1200, 10
SCHEMA = Schema("label", ("site", "sex"))
SIZES = Sizes(members=150, test=30, nonmembers=150)
EPSILON = 0.1
BLIND = Blind(classifier="linear", folds=3)


def table_of(seed: int, leak: bool = False) -> pd.DataFrame:
    """A table of which nothing follows from anything, or, with a `leak`, the label from the number on site A."""
    rng = generator(seed, "survey", "table")
    number = rng.standard_normal(ROWS)
    label = rng.integers(0, 2, ROWS)
    site = rng.choice(["A", "B", "C"], ROWS)
    if leak:
        label = np.where(site == "A", number > 0, label)
    return pd.DataFrame(
        {"site": site, "sex": rng.choice(["f", "m"], ROWS), "number": number, "label": label.astype(int)}
    )


def survey_of(frame: pd.DataFrame, seed: int, repeats: int = REPEATS) -> list[SetResult]:
    """The ranked member sets of a table."""
    features = encode(frame, SCHEMA, Preprocessing()).features
    sets, _ = list_member_sets(frame, SCHEMA, SIZES, features, ranges=2, clusters=0)
    spec = _declared(sets)
    rows = [row for arm in spec.own_experiment.arms for row in _measure(spec, arm, frame, seed, repeats)]  # type: ignore[union-attr]
    table = pd.DataFrame(rows, columns=COLUMNS)
    table.attrs["design"] = "sequential"
    return rank(sets, judge_spec(scale(spec, "own", Profile()), "", table))


def _declared(sets: Sequence[MemberSet]) -> Spec:
    dataset = {"kind": "csv", "path": "table.csv", "label": "label"}
    text = write_declaration(SurveyPlan("a table", dataset, SIZES, ROWS, (EPSILON, math.inf), repeats=REPEATS), sets)
    return _load(text)


@cache
def _load(text: str) -> Spec:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "survey.yaml"
        path.write_text(text)
        return load_spec(Project(Path(folder)), path).spec


def _measure(spec: Spec, arm: str, frame: pd.DataFrame, seed: int, repeats: int) -> list[dict[str, object]]:
    """Rows of the table of measurements of one arm."""
    assert spec.own_experiment is not None
    split = spec.own_experiment.arms[arm].split
    assert isinstance(split, TableSplit)
    source = TableSource(frame, cache(partial(encode, frame, SCHEMA, Preprocessing())))
    rows = []
    for repeat in range(repeats):
        rng = generator(seed, "survey", arm, repeat)
        draw = split.draw(source, SIZES, rng)
        trained = _trained_weights(draw.members)
        weights = rng.standard_normal(len(trained))
        measured = {
            (EPSILON, "logloss"): _advantage(_loss_attack(draw, weights)),
            (math.inf, "logloss"): _advantage(_loss_attack(draw, trained)),
            (math.inf, "blind"): _advantage(_blind_attack(draw)),
        }
        rows += [_row(arm, epsilon, repeat, attack, value) for (epsilon, attack), value in measured.items()]
        rows += [_row(arm, epsilon, repeat, "", Value(float(len(frame)), 0.0, 1)) for epsilon in (EPSILON, math.inf)]
    return rows


def _row(arm: str, epsilon: float, repeat: int, attack: str, value: Value) -> dict[str, object]:
    coordinates = {"spec": "survey", "arm": arm, "epsilon": epsilon, "delta": 1e-5, "accountant": "rdp"}
    names = {"noise_multiplier": 0.0, "cell": f"{arm} {epsilon} {repeat}", "work": "", "code": ""}
    metric = {"attack": attack, "metric": "advantage" if attack else "count_rows", "repeat": repeat}
    return {**coordinates, **names, **metric, "value": value.value, "stderr": value.stderr, "n": value.n}


def _advantage(answers: Answers) -> Value:
    return advantage(answers.member_decisions, answers.nonmember_decisions)


def _trained_weights(members: Records) -> Array:
    """Of a logistic regression without much of a penalty, so that it learns members by heart; bias last, (d + 1,)."""
    if len(np.unique(members.labels)) < 2:
        return np.zeros(members.features.shape[1] + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=100.0, max_iter=200).fit(members.features, members.labels)
    return np.append(model.coef_[0], model.intercept_)


def _loss_attack(draw: Draw, weights: Array) -> Answers:
    def outputs(records: Records) -> Outputs:
        logits = records.features @ weights[:-1] + weights[-1]
        logs = np.stack([special.log_expit(-logits), special.log_expit(logits)], axis=1)
        return Outputs(logs, records.labels)

    return Logloss().answer(outputs(draw.members), outputs(draw.nonmembers), {})


def _blind_attack(draw: Draw) -> Answers:
    records, m = draw.candidates(), len(draw.members)
    with patch("harness.attacks.blind.threadpool_limits", lambda limits: nullcontext()):  # takes longer than the fit
        scores = BLIND.scores(records.features, records.labels, np.arange(len(records)) < m)
    return Answers(scores[:m], scores[m:], scores[:m] > 0, scores[m:] > 0)


def discoveries_of(seed: int, leak: bool = False) -> list[str]:
    """What the survey of one table reports: member set (of a range, its column) and what was discovered."""
    results = survey_of(table_of(seed, leak), seed)
    return [f"{_set_text(one.member_set)}: {d.what}" for one in results for d in one.discoveries]


def _set_text(member_set: MemberSet) -> str:
    return str(member_set.split["attribute"]) if member_set.split["kind"] == "range" else member_set.label


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surveys", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    by_table: dict[str, dict[str, object]] = {}
    with ProcessPoolExecutor(given.processes) as pool:
        for name, leak, many in (("nothing", False, given.surveys), ("leak", True, max(1, given.surveys // 10))):
            reported = list(pool.map(partial(discoveries_of, leak=leak), range(many), chunksize=4))
            kinds = [what for one in reported for what in one]
            by_table[name] = {
                "surveys": many,
                "reported_something": sum(bool(one) for one in reported),
                "reports": {what: kinds.count(what) for what in sorted(set(kinds))},
            }
            print(name, by_table[name], flush=True)
    write_text(RESULTS, json.dumps(by_table, indent=1) + "\n")


if __name__ == "__main__":
    main()
