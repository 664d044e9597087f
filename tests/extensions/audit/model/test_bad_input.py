"""What cannot be audited is one line: file, row, column, what is wrong, what would be right."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.errors import HarnessError
from harness.extensions.audit.model.asking import Job, _ask, _train_and_ask, log_probabilities
from harness.extensions.audit.model.columns import label_places
from harness.extensions.audit.model.question import Question
from harness.extensions.audit.model.records import read_records
from tests.conftest import run_cli

PREDICT = "def predict(features):\n    import numpy as np\n    return np.full((len(features), 2), 0.5)\n"


def table(start: int, rows: int, label: str = "y") -> str:
    cells = [f"{i}.5,{'red' if i % 3 else 'blue'},{'yes' if i % 2 else 'no'}" for i in range(start, start + rows)]
    return "\n".join([f"x,colour,{label}", *cells]) + "\n"


def question(root: Path, **changed: Any) -> Question:
    """Forty members and forty non-members, which are well."""
    for name, start in (("members.csv", 0), ("nonmembers.csv", 100)):
        if not (root / name).exists():
            (root / name).write_text(table(start, 40))
    given = {"members": Path("members.csv"), "nonmembers": Path("nonmembers.csv"), "label": "y", **changed}
    return Question("mine.py:predict", **given)


def without_file(root: Path) -> None:
    pass


def write(name: str, text: str) -> Callable[[Path], None]:
    return lambda root: (root / name).write_text(text) and None


def savez(name: str, **arrays: Any) -> Callable[[Path], None]:
    return lambda root: np.savez(root / name, **arrays)


GOOD = {"features": np.arange(80.0).reshape(40, 2), "labels": np.arange(40) % 2}
FILES: list[tuple[str, Callable[[Path], None], dict[str, Any], str]] = [
    ("no file", without_file, {"members": Path("none.csv")}, r"none\.csv: no such file; give records as CSV"),
    ("a folder", lambda root: (root / "d").mkdir(), {"members": Path("d")}, "d: is a folder, not a file"),
    ("no label", without_file, {"label": None}, "--label: say which column is to be predicted"),
    ("label not there", without_file, {"label": "z"}, r"members\.csv:1: no column 'z' \(--label\); it has: x, colour, y"),
    ("ignored not there", without_file, {"ignore": ("id",)}, r"members\.csv:1: no column 'id' \(--ignore\)"),
    ("the label ignored", without_file, {"ignore": ("y",)}, "--ignore y: is the label"),
    ("empty", write("members.csv", ""), {}, r"members\.csv: not readable as CSV: the file is empty"),
    ("a header alone", write("members.csv", "x,colour,y\n"), {}, r"members\.csv: a header and no row below it"),
    ("too few", write("members.csv", table(0, 5)), {}, r"members\.csv: 5 records are too few; at least 20 are needed"),
    ("one class", lambda root: [(root / f"{name}.csv").write_text(table(at, 40).replace("yes", "no")) for name, at in (("members", 0), ("nonmembers", 100))], {}, "the label has one value only, 'no'"),
    ("a cell too many", write("members.csv", table(0, 40) + "1,red,no,2\n"), {}, r"members\.csv:42: 4 cells where the header names 3"),
    ("label missing", write("members.csv", table(0, 40) + "1,red,\n"), {}, r"members\.csv:42: column 'y', the label, is missing"),
    ("text among numbers", write("nonmembers.csv", table(100, 40) + "high,red,no\n"), {}, r"nonmembers\.csv:42: column 'x' is 'high', which is no number .*; correct it, or leave the cell empty"),
    ("other columns", write("nonmembers.csv", table(100, 40).replace("colour", "shade")), {}, r"nonmembers\.csv:1: no column 'colour', which members\.csv has; all files need the same"),
    ("a column more", write("nonmembers.csv", table(100, 40).replace("\n", ",1\n").replace("y,1", "y,w")), {}, r"nonmembers\.csv:1: a column 'w', which is not in members\.csv"),
    ("on both sides", write("nonmembers.csv", table(100, 40) + "3.5,blue,yes\n4.5,red,no\n"), {}, r"nonmembers\.csv:42: the record is in members\.csv:5 too \(and 1 more\); a record is a member or it is not"),
    ("no feature", without_file, {"ignore": ("x", "colour")}, r"the record is in members\.csv|no column is left"),
    ("arrays and tables", savez("n.npz", **GOOD), {"nonmembers": Path("n.npz")}, r"n\.npz: is not of the sort of members\.csv"),
    ("half an array", savez("m.npz", features=GOOD["features"]), {"label": None, "members": Path("m.npz"), "nonmembers": Path("m.npz")}, r"m\.npz: no array 'labels' in it; it has: features"),
    ("arrays that do not fit", savez("m.npz", features=GOOD["features"], labels=np.arange(3)), {"label": None, "members": Path("m.npz"), "nonmembers": Path("m.npz")}, r"m\.npz: features of shape \(40, 2\) and labels of shape \(3,\)"),
    ("not a number", savez("m.npz", **{**GOOD, "features": np.where(GOOD["features"] == 7, np.nan, GOOD["features"])}), {"label": None, "members": Path("m.npz"), "nonmembers": Path("m.npz")}, r"m\.npz: record 4, feature 2 is nan"),
    ("no archive", write("m.npz", "no"), {"label": None, "members": Path("m.npz"), "nonmembers": Path("m.npz")}, r"m\.npz: not readable as \.npz"),
    ("a label of arrays", savez("m.npz", **GOOD), {"members": Path("m.npz"), "nonmembers": Path("m.npz")}, "arrays have no names of columns; leave --label"),
    ("the same arrays", savez("m.npz", **GOOD), {"label": None, "members": Path("m.npz"), "nonmembers": Path("m.npz")}, r"m\.npz:1: the record is in m\.npz:1 too \(and 39 more\)"),
    ("a rate of nothing", without_file, {"fprs": (0.0,)}, "--fpr 0: it has to lie between 0 and 1"),
    ("half a pair", without_file, {"models": 13}, "--models 13: it has to be an even number from 12"),
    ("no confidence", without_file, {"level": 1.0}, "--level 1: it has to lie between 0 and 1"),
]  # fmt: skip


@pytest.mark.parametrize(("arrange", "changed", "says"), [one[1:] for one in FILES], ids=[one[0] for one in FILES])
def test_files_that_cannot_be_audited(
    arrange: Callable[[Path], None], changed: dict[str, Any], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arrange(tmp_path)
    with pytest.raises(HarnessError, match=says) as raised:
        read_records(question(tmp_path, **changed))
    assert "\n" not in str(raised.value)
    assert "`encoding" not in str(raised.value)
    assert "`missing" not in str(raised.value)


def test_files_that_are_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Semicolons; columns in another order; a column that is whole in one file and not in the other; no value."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "members.csv").write_text(table(0, 40).replace(".5", "").replace(",", ";") + ";red;no\n")
    rows = [line.split(",") for line in table(100, 40).splitlines()]
    (tmp_path / "nonmembers.csv").write_text("\n".join(",".join(row[::-1]) for row in rows))
    records = read_records(question(tmp_path))
    assert isinstance(records.features, pd.DataFrame)
    assert list(records.features.columns) == ["x", "colour"]
    assert records.features["x"].dtype == np.float64
    assert np.isnan(records.features["x"][40])
    assert (records.members, records.nonmembers, records.references) == (41, 27, 13)
    assert records.places[0] == "members.csv:2"
    values = {f"nonmembers.csv:{i + 2}": 100.5 + i for i in range(40)}
    mine = dict(zip(records.places[41:], records.features["x"][41:], strict=True))
    assert mine == values
    assert records.encoded_features.shape == (81, 3)
    assert np.isfinite(records.encoded_features).all()


def test_text_with_many_values_reaches_the_model_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, start in (("members.csv", 0), ("nonmembers.csv", 200)):
        header, *rows = table(start, 80).splitlines()
        (tmp_path / name).write_text(
            "\n".join([f"name,none,{header}", *(f"n{row.partition(',')[0]},,{row}" for row in rows)]) + "\n"
        )
    records = read_records(question(tmp_path))
    assert isinstance(records.features, pd.DataFrame)
    assert list(records.features.columns) == ["name", "none", "x", "colour"]
    assert records.unread_columns == ("name", "none")
    assert records.encoded_features.shape == (160, 3)
    assert read_records(question(tmp_path, ignore=("name", "none"))).unread_columns == ()


def test_labels_and_columns_that_do_not_fit() -> None:
    labels = np.array(["a", "b", "a"])
    assert label_places(labels, 2, (), "f")[0].tolist() == [0, 1, 0]
    assert label_places(labels, 2, ("b", "a"), "f")[0].tolist() == [1, 0, 1]
    assert label_places(np.array([0, 3]), 5, ("0..4",), "f") == (pytest.approx([0, 3]), ("0", "1", "2", "3", "4"))
    assert label_places(np.array([1, 2]), 3, (), "f", ("1", "2", "3"))[0].tolist() == [0, 1]
    assert label_places(np.array([1.0, 2.0]), 2, (), "f", ("2", "1"))[0].tolist() == [1, 0]
    for columns, classes, says in (
        (3, (), r"f: gives 3 columns where the files have 2 labels \(a, b\); name the label of each column"),
        (2, ("a", "c"), "--classes lacks the label 'b'"),
        (3, ("a", "b"), "--classes names 2 classes, and f gives 3 columns"),
    ):
        with pytest.raises(HarnessError, match=says):
            label_places(labels, columns, classes, "f")


# --- functions


class Tensor:
    """Of another library, on its way to NumPy."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")


ANSWERS: list[tuple[object, bool, str]] = [
    (np.full((3, 2), 0.5), False, r"gives shape \(3, 2\) for 4 records; \(4, classes\), or \(4,\) for the second"),
    (np.zeros((4, 2, 2)), True, r"gives shape \(4, 2, 2\) for 4 records"),
    (np.array([[0.5, 0.5]] * 3 + [[np.nan, 1]]), False, r"gives \[nan,  1\.\] for record 4; finite numbers are right"),
    (
        np.array([[0.5, 0.5], [0.5, 0.7], [1, 0], [1, 0]]),
        False,
        r"\[0\.5, 0\.7\] for record 2, which sums to 1\.2: no prob",
    ),
    (np.array([[3.0, -2.0]] * 4), False, "no probabilities of classes; say --logits if these are logits"),
    (np.array([0.5, 0.5, 2, 0]), False, r"for record 3, which sums to 1: no probabilities"),
    (np.array(["a"] * 4), False, r"gives ndarray \(<U1\); an array of numbers is right"),
    (None, False, r"gives NoneType \(object\)"),
    (Tensor(), False, r"which is no array \(RuntimeError: Can't call numpy.*; give one of NumPy, as by tensor"),
]


@pytest.mark.parametrize(("answer", "logits", "says"), ANSWERS)
def test_answers_that_are_none(answer: object, logits: bool, says: str) -> None:
    with pytest.raises(HarnessError, match=says) as raised:
        log_probabilities(answer, 4, logits, "predict")
    assert "\n" not in str(raised.value)


def asked(root: Path, name: str, body: str, task: Callable[..., Any], *given: Any) -> Any:
    path = root / f"{name}.py"
    path.write_text("import numpy as np\n" + body)
    return task(lambda step: None, f"{path}:f", *given)


FEATURES = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("def f(x): raise ValueError('no such column')", r"f raised ValueError: no such column \(.*:2\)"),
        ("def f(x): raise SystemExit(3)", "f raised SystemExit: 3"),
        ("def f(x, y): return x", r"f\(x, y\) cannot be called with features"),
        ("async def f(x): return x", "f is asynchronous; a prediction function returns probabilities of classes"),
        ("def f(x): return np.full((len(x), len(x)), 1 / len(x)) if len(x) == 6 else 0", None),
        ("g = 3", "no function 'f' in it; there are: none"),
        ("def f(x:", r"cannot be loaded: SyntaxError"),
    ],
)
def test_functions_that_cannot_predict(body: str, says: str | None, tmp_path: Path) -> None:
    name = f"mine{abs(hash(body))}"
    if says is None:
        assert asked(tmp_path, name, body, _ask, FEATURES, False).log_probabilities.shape == (6, 6)
        return
    with pytest.raises(HarnessError, match=says):
        asked(tmp_path, name, body, _ask, FEATURES, False)


def test_a_model_that_answers_at_random_is_noticed(tmp_path: Path) -> None:
    body = "r = np.random.default_rng(0)\ndef f(x): return r.random(len(x))"
    assert asked(tmp_path, "random_one", body, _ask, FEATURES, False).changes > 0.01
    body = "def f(x): return 1 / (1 + np.exp(-x[:, 0] / 9))"
    assert asked(tmp_path, "same_one", body, _ask, FEATURES, False).changes < 1e-12


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("def f(x, y, seed): return None", "model 1: the training function gives NoneType; a function that predicts, or"),
        ("def f(x, y, seed): return {'p': 1}", "model 1: the training function gives dict"),
        ("def f(x, y, seed): return lambda z: z[:3]", r"model 1: the function that it gives gives shape \(3, 2\) for 6"),
        ("def f(x, y, seed): return lambda z: np.full((len(z), 3), 1 / 3)", "gives 3 classes; the model that is audited gives 2"),
        ("def f(x, y, seed):\n    if seed == 2: raise MemoryError\n    return lambda z: z[:, 0] / 99", "model 2: f raised MemoryError"),
        ("def f(x, y): return lambda z: z", r"f\(x, y\) cannot be called with features, labels and a seed"),
    ],
)  # fmt: skip
def test_functions_that_cannot_train(body: str, says: str, tmp_path: Path) -> None:
    jobs = [Job(np.arange(6) < 3, seed) for seed in (1, 2)]
    labels = np.array(["a", "b"] * 3)
    with pytest.raises(HarnessError, match=says):
        asked(tmp_path, f"train{abs(hash(body))}", body, _train_and_ask, FEATURES, labels, ("a", "b"), jobs, False)


def test_a_model_of_the_pool_may_know_fewer_classes_in_another_order(tmp_path: Path) -> None:
    body = (
        "class M:\n    classes_ = np.array(['c', 'a'])\n    def predict_proba(self, x): return np.full((len(x), 2), [0.9, 0.1])\n"
        "def f(x, y, seed):\n    x[:] = 0\n    y[:] = 'z'\n    return M()"
    )
    labels, features = np.array(["a", "b", "c"] * 2), FEATURES.copy()
    jobs = [Job(np.arange(6) < 3, seed) for seed in (1, 2)]
    given = (features, labels, ("a", "b", "c"), jobs, True)  # --logits is of the function alone
    answers = asked(tmp_path, "fewer", body, _train_and_ask, *given)
    assert [np.exp(one[0]) for one in answers] == [pytest.approx([0.1, 0, 0.9])] * 2
    assert (features == FEATURES).all()
    assert labels.tolist() == ["a", "b", "c"] * 2


# --- the command

COMMANDS = [
    ("audit mine.py:predict --members members.csv", "--nonmembers: name the file of records"),
    ("audit fast --members members.csv", "audit: 'fast': with --members, name the function that asks the model"),
    ("audit none.py:f --members members.csv --nonmembers nonmembers.csv", r"none\.py: no such file; a prediction function is"),
    ("audit mine.py:predict --members members.csv --epsilon 1", "--epsilon: is for an audit of training; with --members"),
    ("audit mine.py:predict --nonmembers nonmembers.csv", "--nonmembers: is for a model that exists; name its training"),
    ("audit mine.py:predict --members members.csv --nonmembers nonmembers.csv --label y --out mine.py", r"--out mine\.py: .* is a file, not a folder"),
    ("audit mine.py:predict --members members.csv --nonmembers nonmembers.csv --label z", r"members\.csv:1: no column 'z'"),
    ("audit mine.py:predict --members members.csv --nonmembers nonmembers.csv --label y --train mine.py", "write it as mine.py:FUNCTION"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "says"), COMMANDS)
def test_the_command_says_it_in_one_line(command: str, says: str, tmp_path: Path) -> None:
    question(tmp_path)
    (tmp_path / "mine.py").write_text(PREDICT)
    before = sorted(tmp_path.iterdir())
    ran = run_cli(tmp_path, *command.split())
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert re.search(says, line), line
    assert sorted(tmp_path.iterdir()) == before
