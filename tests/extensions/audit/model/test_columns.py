"""Which column is which label, and records that stand twice: what gives a wrong number without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.extensions.audit.model import ModelAudit, Question, audit_model
from harness.extensions.audit.model.asking import Job, _ask
from harness.extensions.audit.model.columns import ColumnCheck, check_columns, label_places, name_classes
from harness.extensions.audit.model.document import describe_audit
from harness.extensions.audit.model.findings import answer_question, find_leaks, list_assumptions
from harness.extensions.audit.model.records import read_records

# --- columns


def answers(
    order: list[int], accuracy: float, n: int = 120, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-probabilities of a model whose columns stand in an order, labels, and who is a member."""
    rng, k = np.random.default_rng(seed), len(order)
    labels = rng.integers(k, size=n)
    labels[:k] = np.arange(k)
    called = np.where(rng.random(n) < accuracy, labels, rng.integers(k, size=n))
    p = np.full((n, k), 0.1 / k) + 0.9 * np.eye(k)[called]
    return np.log(p)[:, order], labels, np.arange(n) < n // 2


def checked(order: list[int], accuracy: float, **given: int) -> ColumnCheck:
    logp, labels, is_member = answers(order, accuracy, **given)
    return check_columns(logp, labels, is_member, [str(i) for i in range(len(order))])


@given(st.permutations(list(range(4))), st.integers(0, 20))
def test_columns_in_another_order_are_found_with_that_order(order: list[int], seed: int) -> None:
    check = checked(order, 0.9, seed=seed)
    if order == [0, 1, 2, 3]:
        assert check.order == ()
        assert not check.at_chance
    else:
        assert check.order == tuple(map(str, order))
        assert check.accuracy_in_order is not None
        assert check.accuracy_in_order[1] > check.accuracy[1]


def test_a_model_that_knows_little_is_not_taken_for_one_with_other_columns() -> None:
    """At level 0.001, over 300 models that are right by chance, on 40 records of ten classes and of two."""
    named = [checked(list(range(k)), 0.0, n=80, seed=seed).order for k in (2, 10) for seed in range(150)]
    assert sum(bool(order) for order in named) <= 3


def test_answers_that_do_not_look_at_records_are_at_chance() -> None:
    logp = np.log(np.tile([0.7, 0.2, 0.1], (60, 1)))
    labels = np.repeat([0, 1, 2], 20)
    check = check_columns(logp, labels, np.arange(60) % 2 == 0, "abc")
    assert (check.at_chance, check.order) == (True, ())
    assert check.chance == pytest.approx(1 / 3)


def test_labels_are_never_positions_without_a_word() -> None:
    with pytest.raises(
        HarnessError, match=r"gives 3 columns where the files have 2 labels \(1, 2\); name the label of"
    ):
        label_places(np.array([1, 2]), 3, (), "f")
    assert label_places(np.array([1, 2]), 3, ("1..3",), "f") == (pytest.approx([0, 1]), ("1", "2", "3"))
    assert label_places(np.array([1, 2]), 3, (), "f", ("3", "2", "1"))[0].tolist() == [2, 1]
    assert name_classes(("a..b", "8..11", "-1")) == ("a..b", "8", "9", "10", "11", "-1")
    with pytest.raises(HarnessError, match="f: its classes lack the label '2'; name one class a column"):
        label_places(np.array([1, 2]), 2, (), "f", ("0", "1"))


FEATURES = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("body", "logits", "says"),
    [
        ("def f(x): return (x[:, 0] > 3).astype(int)", False, "gives 0 or 1 alone for every record: labels, as by predict"),
        ("def f(x): return (x[:, 0] > 3) * 1.0", False, "gives 0 or 1 alone for every record"),
        ("def f(x): return (x[:, :1] > 3) * 1.0", False, "gives 0 or 1 alone for every record"),
        ("def f(x): return (x[:, 0] > 3) + 1", False, "gives 2 for record 3 and whole numbers alone: labels, as by predict"),
        ("def f(x): return np.full((len(x), 3), 1 / 3)", True, "gives numbers from 0 to 1 that sum to one .* leave --logits out"),
        ("def f(x): return x[:, 0] / 99", True, "leave --logits out, or give a column each class"),
        ("def f(x): return np.eye(2)[(x[:, 0] > 3).astype(int)]", False, None),  # a tree that is always sure
        ("def f(x): return np.log(np.full((len(x), 3), 1 / 3))", True, None),
        ("def f(x): return x[:, 0] - 4", True, None),
    ],
)  # fmt: skip
def test_what_is_taken_for_something_else(body: str, logits: bool, says: str | None, tmp_path: Path) -> None:
    path = tmp_path / f"sort{abs(hash((body, logits)))}.py"
    path.write_text(f"import numpy as np\n{body}\n")
    if says is None:
        assert _ask(lambda step: None, f"{path}:f", FEATURES, logits).classes == ()
        return
    with pytest.raises(HarnessError, match=says) as raised:
        _ask(lambda step: None, f"{path}:f", FEATURES, logits)
    assert "\n" not in str(raised.value)


def test_a_model_and_a_data_frame_name_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "named_columns.py"
    path.write_text(
        "import numpy as np, pandas as pd\n"
        "class M:\n    classes_ = np.array([3.0, 1.0])\n"
        "    def predict_proba(self, x): return np.full((len(x), 2), 0.5)\n"
        "model = M()\n"
        "def frame(x): return pd.DataFrame(np.full((len(x), 2), 0.5), columns=['b', 'a'])\n"
        "def numbered(x): return pd.DataFrame(np.full((len(x), 2), 0.5))\n"
    )
    said = {name: _ask(lambda step: None, f"{path}:{name}", FEATURES, False) for name in ("model", "frame", "numbered")}
    assert {name: one.classes for name, one in said.items()} == {
        "model": ("3", "1"),
        "frame": ("b", "a"),
        "numbered": (),
    }


# --- whole audits

MINE = """\
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

table = pd.read_csv("members.csv")
model = RandomForestClassifier(30, random_state=0).fit(table[["a", "b"]], table["y"])

def ask(features):
    return model.predict_proba(features)

def turned(features):
    return ask(features)[:, [2, 0, 1]]

def train(features, labels, seed):
    return RandomForestClassifier(30, random_state=seed % 1000).fit(features, labels)
"""


def write_records(root: Path, classes: int, without: int | None = None, n: int = 120) -> None:
    """Two features and a label that follows from them in part; members have all classes, so the model has, too."""
    rng = np.random.default_rng(3)
    for name in ("members", "nonmembers"):
        y = rng.integers(1, classes + 1, n)
        table = pd.DataFrame({"a": y + rng.normal(0, 1.2, n).round(3), "b": rng.normal(size=n).round(3), "y": y})
        table.to_csv(root / f"{name}.csv", index=False)
        table[table["y"] != without].to_csv(root / f"{name}-shown.csv", index=False)
    (root / "mine.py").write_text(MINE)


def audited(function: str, shown: str = "", **given: Any) -> ModelAudit:
    files = (Path(f"members{shown}.csv"), Path(f"nonmembers{shown}.csv"))
    return audit_model(Question(f"mine.py:{function}", *files, label="y", fprs=(0.1,), **given))


@pytest.mark.integration
def test_labels_from_one_on_of_which_one_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken as positions, labels 1 and 2 of a model of three classes were read one column too far."""
    monkeypatch.chdir(tmp_path)
    write_records(tmp_path, 3, without=3)
    with pytest.raises(HarnessError, match=r"mine\.py:ask: gives 3 columns where the files have 2 labels \(1, 2\)"):
        audited("ask", "-shown")
    by_model, by_option = audited("model", "-shown"), audited("ask", "-shown", classes=("1..3",))
    assert by_model.accuracy[0] > 0.9
    assert by_model.attacks[1].auc == by_option.attacks[1].auc
    assert by_model.attacks[1].auc.low > 0.7
    assert answer_question(by_model, find_leaks(by_model)).startswith("Yes: the loss attack")


@pytest.mark.integration
def test_columns_in_another_order_come_before_any_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_records(tmp_path, 3)
    audit = audited("turned")
    said = answer_question(audit, find_leaks(audit))
    assert said.startswith(
        "No answer yet, the columns seem to be in another order than the labels: with --classes 3 --classes 1 "
        "--classes 2 the model is right on 100% of the members and "
    )
    assert describe_audit(audit)["columns"]["order"] == ["3", "1", "2"]  # type: ignore[index]
    mended = audited("turned", classes=("3", "1", "2"))
    assert mended.columns.order == ()
    assert answer_question(mended, find_leaks(mended)).startswith("Yes: the loss attack")


# --- records that stand twice


def test_copies_are_one_record_and_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = {
        "members": [*range(30), 0, 0, 7],
        "nonmembers": [*range(100, 140), 101],
        "reference": [*range(200, 210), 102, 200],
    }
    for name, values in rows.items():
        lines = [f"{v}.5,{'yes' if v % 2 else 'no'}" for v in values]
        Path(f"{name}.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    question = Question(
        "f.py:f", Path("members.csv"), Path("nonmembers.csv"), label="y", reference=Path("reference.csv")
    )
    records = read_records(question)
    assert (records.members, records.nonmembers, records.references) == (30, 40, 10)
    assert records.repeated == (3, 1, 2)  # of the reference records one is a non-member, too
    assert records.copies[:9].tolist() == [3, 1, 1, 1, 1, 1, 1, 2, 1]
    assert records.copies[30:33].tolist() == [1, 2, 1]
    assert records.places[29] == "members.csv:31"
    inside = np.isin(np.arange(70), [0, 2, 31])
    assert Job(inside, 1, records.copies[:70]).rows.tolist() == [0, 0, 0, 2, 31, 31]
    Path("members.csv").write_text(
        "x,y\n" + "".join(f"{v % 19}.5,{'yes' if v % 19 % 2 else 'no'}\n" for v in range(40))
    )
    with pytest.raises(HarnessError, match=r"members\.csv: 19 different records are too few; at least 20"):
        read_records(question)


@pytest.mark.integration
def test_members_that_are_listed_twice_give_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the blind attack, which would learn the answer from the copy; and LiRA's models have the copy, too."""
    monkeypatch.chdir(tmp_path)
    write_records(tmp_path, 2)
    once = audited("ask", train="mine.py:train", models=12)
    table = pd.read_csv("members.csv")
    pd.concat([table, table]).to_csv("members.csv", index=False)
    twice = audited("ask", train="mine.py:train", models=12)
    aucs = [{one.name: one.auc for one in audit.attacks} for audit in (once, twice)]
    assert aucs[0]["blind"] == aucs[1]["blind"]
    assert aucs[1]["lira"].low > 0.6
    assert twice.records.repeated == (120, 0, 0)
    said = [
        text
        for text in list_assumptions(twice)
        if text.startswith("120 rows repeat an earlier record (120 of members)")
    ]
    assert len(said) == 1
    assert not any("repeat an earlier" in text for text in list_assumptions(once))
    assert describe_audit(twice)["records"]["repeated"] == {"members": 120, "nonmembers": 0, "reference": 0}  # type: ignore[index]
