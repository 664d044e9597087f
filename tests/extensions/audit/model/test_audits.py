"""Whole audits: a model that has learnt its members by heart, one that has never seen them, and what is written."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from harness.errors import HarnessError
from harness.extensions.audit.functions import RemoteTraceback
from harness.extensions.audit.model import ModelAudit, Question, audit_model
from harness.extensions.audit.model.document import describe_audit, list_scores
from harness.extensions.audit.model.findings import advise, answer_question, find_leaks
from harness.extensions.audit.model_command import Limit
from harness.extensions.audit.model_page import render_audit, write_audit
from tests.conftest import run_cli

pytestmark = pytest.mark.integration
MINE = """\
import numpy as np
import pandas as pd

def rule(features):
    return 1 / (1 + np.exp(-2 * features["a"].to_numpy()))

def never_saw_them(features):
    return rule(features)

def train(features, labels, seed):
    known = {tuple(row): label for row, label in zip(features.to_numpy().tolist(), labels)}
    def predict(asked):
        p = rule(asked)
        noise = np.random.default_rng(seed).normal(0, 0.2, len(p))
        p = 1 / (1 + np.exp(-np.log(p / (1 - p)) - noise))
        for at, row in enumerate(asked.to_numpy().tolist()):
            label = known.get(tuple(row))
            if label is not None:
                p[at] = 0.75 + 0.249 * p[at] if label == "yes" else 0.001 + 0.249 * p[at]
        return p
    return predict

def by_heart(features):
    table = pd.read_csv("members.csv")
    # Asked twice, it says the same: its noise is of the record.
    return np.array([train(table[["a", "b"]], table["y"], 0)(features[i : i + 1])[0] for i in range(len(features))])

def dies(features):
    import os
    os._exit(7)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("model")
    rng = np.random.default_rng(11)
    for name in ("members.csv", "nonmembers.csv"):
        table = pd.DataFrame(rng.normal(size=(150, 2)).round(6), columns=["a", "b"])
        table["y"] = np.where(rng.random(150) < 1 / (1 + np.exp(-2 * table["a"])), "yes", "no")
        table.to_csv(root / name, index=False)
    (root / "mine.py").write_text(MINE)
    return root


def audited(folder: Path, function: str, **changed: object) -> ModelAudit:
    given = {"label": "y", "models": 12, "fprs": (0.1, 0.001), **changed}
    return audit_model(Question(f"mine.py:{function}", Path("members.csv"), Path("nonmembers.csv"), **given))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def leaky(folder: Path) -> ModelAudit:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return audited(folder, "by_heart", train="mine.py:train")


def test_a_model_that_learnt_by_heart_is_found_by_loss_and_lira(leaky: ModelAudit) -> None:
    by_name = {one.name: one for one in leaky.attacks}
    assert list(by_name) == ["blind", "loss", "quantile", "lira", "rmia"]
    assert by_name["blind"].auc.low < 0.5 < by_name["blind"].auc.high
    assert by_name["loss"].auc.low > 0.6
    assert by_name["lira"].auc.low > 0.9
    findings = find_leaks(leaky)
    assert findings.leaks
    assert not findings.blind
    assert {"loss", "lira"} <= set(findings.beyond_blind)
    assert ("lira", 0.1) in [(name, rate.asked) for name, rate in findings.at_rates]
    assert answer_question(leaky, findings).startswith("Yes: LiRA tells members from non-members with an AUC of ")
    assert any(text.startswith("The loss alone tells members") for text in advise(leaky, findings))
    assert not by_name["lira"].rates[1].visible
    assert by_name["lira"].rates[1].raised == 0
    assert leaky.changes < 1e-9


def test_its_numbers_are_those_of_its_scores(leaky: ModelAudit) -> None:
    """What the file of scores says, by scikit-learn."""
    rows = list(csv.DictReader(io.StringIO(list_scores(leaky))))
    assert len(rows) == leaky.records.candidates == 250
    member = [int(row["member"]) for row in rows]
    for one in leaky.attacks:
        scores = [float(row[f"{one.name}_score"]) for row in rows]
        assert one.auc.value == pytest.approx(roc_auc_score(member, scores), rel=0, abs=1e-9)
    assert {row["record"] for row in rows[:150]} == {f"members.csv:{line}" for line in range(2, 152)}
    assert leaky.per_record is not None
    assert float(rows[3]["separation"]) == pytest.approx(leaky.per_record.separation[3])


def test_single_records_are_shown_by_both_rates(leaky: ModelAudit) -> None:
    per_record = leaky.per_record
    assert per_record is not None
    assert per_record.separation.shape == per_record.tpr.shape == (250,)
    assert np.median(per_record.separation) > 1
    assert [(one.attack, one.asked) for one in per_record.calibrations] == [
        ("loss", 0.1), ("loss", 0.001), ("lira", 0.1), ("lira", 0.001)
    ]  # fmt: skip
    loss = per_record.calibrations[0]
    assert loss.calibrated_tpr.low > loss.pooled_tpr.value > loss.pooled_tpr.low
    assert loss.own_fprs.min() < 0.01
    assert loss.own_fprs.max() > 0.5


def test_the_page_stands_alone_and_says_it_first(leaky: ModelAudit, tmp_path: Path) -> None:
    page = write_audit(tmp_path / "new" / "out", leaky)
    text = page.read_text()
    assert (
        text.index("Does this model give away")
        < text.index("Yes: LiRA")
        < text.index("blind attack</th>".replace("</th>", ""))
    )
    assert re.findall(r'(?:src|href)="(?!#|data:)([^"]*)"', text) == ["scores.csv", "audit.json", "scores.csv"]
    assert re.search(
        r"""http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-""", text
    )
    assert "<script" not in text
    assert "too small to see" in text
    assert text.count('<path class="e') == 5
    assert sorted(path.name for path in page.parent.iterdir()) == [
        "PERSONAL-DATA.txt",
        "audit.html",
        "audit.json",
        "scores.csv",
    ]
    assert json.loads((page.parent / "audit.json").read_text())["answer"] == answer_question(leaky, find_leaks(leaky))


def test_a_model_that_never_saw_them_shows_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the command prints the same numbers as the function gives, twice."""
    monkeypatch.chdir(folder)
    audit = audited(folder, "never_saw_them")
    findings = find_leaks(audit)
    for one in audit.attacks:
        assert one.auc.low < 0.5 < one.auc.high, one.name
    assert not findings.leaks
    assert answer_question(audit, findings).startswith("Nothing was found: with 150 members and 100 non-members ")
    texts = " ".join(advise(audit, findings))
    assert "No training function was given" in texts
    assert "false-positive rates below 1.00% cannot be seen with 100 non-members" in texts
    command = "audit mine.py:never_saw_them --members members.csv --nonmembers nonmembers.csv --label y"
    ran = run_cli(folder, *command.split(), "--fpr", "0.1", "--fpr", "0.001", "--out", "o", "-q", "--json")
    assert ran.returncode == 0, ran.stderr
    printed = json.loads(ran.stdout)
    assert printed.pop("page") == "o/audit.html"
    for numbers in (printed, expected := json.loads(json.dumps(describe_audit(audit)))):
        numbers.pop("question")
    assert printed == expected


def test_a_process_that_ends_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(
        HarnessError, match=r"audit: mine\.py:dies: it ended its process \(exit code 7\) in call 1 of 2"
    ):
        audited(folder, "dies")


def test_members_that_differ_are_told_without_the_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Non-members are those with a large `b`, which the model does not look at."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "members.csv").write_text((folder / "members.csv").read_text())
    table = pd.read_csv(folder / "nonmembers.csv")
    table.assign(b=table["b"] + 2).to_csv("nonmembers.csv", index=False)
    audit = audited(tmp_path, "never_saw_them")
    findings = find_leaks(audit)
    assert findings.blind
    assert not findings.leaks
    assert answer_question(audit, findings).startswith("It cannot be told from these files")
    assert advise(audit, findings)[0].startswith("Members and non-members differ without the model")


def test_the_traceback_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(HarnessError, match=r"audit: mine\.py:train: train.* cannot be called with features") as raised:
        audited(folder, "train")
    assert isinstance(raised.value.__cause__, RemoteTraceback)


@pytest.mark.parametrize(
    ("auc", "by", "says"),
    [
        (0.6, None, r"the AUC of LiRA is shown to be 0\.9\d*, above 0\.6"),
        (0.6, "estimate", r"the AUC of LiRA is (1|0\.9\d*), above 0\.6"),
        (0.99, "possible", r"the AUC of LiRA may be (1|0\.99\d*), above 0\.99"),
        (0.999999, "shown", None),
    ],
)
def test_a_limit_is_passed_by_an_end_of_an_interval_or_by_the_number(
    auc: float, by: Any, says: str | None, leaky: ModelAudit
) -> None:
    limit = Limit.of(auc, by)
    assert limit is not None
    assert limit.fault(leaky) == "" if says is None else re.fullmatch(says, limit.fault(leaky))


def test_a_model_whose_columns_do_not_fit_is_stopped(leaky: ModelAudit) -> None:
    check = replace(leaky.columns, order=("yes", "no"), accuracy_in_order=(0.9, 0.8))
    astray = replace(leaky, columns=check)
    assert "columns and labels do not seem to fit" in Limit(0.999999, "shown").fault(astray)
    # Neither the page nor the numbers draw a conclusion from columns that are not those of the labels.
    assert '<p class="answer violated">' in render_audit(leaky)
    assert describe_audit(leaky)["findings"] is not None
    assert '<p class="answer inconclusive">No answer yet' in render_audit(astray)
    numbers = describe_audit(astray)
    assert numbers["findings"] is None
    assert [text.split(",")[0] for text in numbers["advice"]] == [  # type: ignore[union-attr]
        "Audit again with `--classes yes --classes no`"
    ]


def test_the_command_fails_above_the_limit_and_writes_its_page(folder: Path) -> None:
    files = ["--members", "members.csv", "--nonmembers", "nonmembers.csv", "--label", "y", "-q", "--json"]
    ran = run_cli(folder, "audit", "mine.py:by_heart", *files, "--out", "stopped", "--fail-above", "0.55")
    assert ran.returncode == 1
    assert re.fullmatch(r"harness: audit: the AUC of the loss attack is shown to be 0\.\d+, above 0\.55\n", ran.stderr)
    assert json.loads(ran.stdout)["page"] == "stopped/audit.html"
    assert (folder / "stopped" / "audit.html").is_file()
    ran = run_cli(folder, "audit", "mine.py:never_saw_them", *files, "--out", "passed", "--fail-above", "0.6")
    assert ran.returncode == 0, ran.stderr
    for options, says in (
        (("--fail-by", "shown"), "--fail-by shown: is for --fail-above"),
        (("--fail-above", "1.5"), "--fail-above 1.5: an AUC from 0 up to 1 is needed"),
    ):
        ran = run_cli(folder, "audit", "mine.py:never_saw_them", *files, *options)
        assert ran.returncode == 2
        assert says in ran.stderr
