"""Training functions of the user's own: in a spec, in a process of their own, with one line for each fault."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax

from harness.errors import HarnessError, TrainingError
from harness.spec.functions import code_of_function
from harness.training.engine import Job
from harness.training.engines.function import Function
from harness.training.function_process import BELOW
from harness.training.inference import Labels, gradient_norms, log_probabilities
from harness.training.models.function import FunctionModel
from harness.training.settings import Training
from tests.conftest import PARAMS, REPO, SMALL_SPEC, run_cli, write_cancer

FOREST = """
from sklearn.ensemble import RandomForestClassifier
import trees

def train(records, labels, seed):
    print("on standard output")
    return RandomForestClassifier(n_estimators=trees.COUNT, random_state=seed).fit(records, labels)

def train_shallow(records, labels, seed):
    return RandomForestClassifier(n_estimators=trees.COUNT, max_depth=1, random_state=seed).fit(records, labels)
"""
SOFTMAX = """
import numpy as np

def train(records, labels, n_classes, *, seed, epochs, noise_multiplier=0.0, l2_norm_clip=1.0):
    rng = np.random.default_rng(seed)
    weights = np.zeros((records.shape[1], n_classes))
    for _ in range(epochs):
        errors = softmax(records @ weights) - np.eye(n_classes)[labels]
        norms = np.linalg.norm(records, axis=1) * np.linalg.norm(errors, axis=1)
        factors = np.minimum(1, l2_norm_clip / np.maximum(norms, 1e-12)) if noise_multiplier else np.ones(len(records))
        gradient = records.T @ (factors[:, None] * errors)
        gradient += noise_multiplier * l2_norm_clip * rng.normal(size=weights.shape)
        weights -= 0.5 * gradient / len(records)
    return [weights]

def predict(arrays, records):
    return softmax(records @ arrays[0])

def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
"""
RNG = np.random.default_rng(5)
RECORDS = RNG.normal(size=(60, 4)).astype(np.float32)
CLASSES = (RECORDS[:, 0] > 0).astype(np.int64)


@pytest.fixture(autouse=True)
def _trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BELOW, str(tmp_path))


def model_of(tmp_path: Path, text: str, name: str = "train", **fields: object) -> FunctionModel:
    path = tmp_path / "mine.py"
    path.write_text(text)
    return FunctionModel.model_validate(
        {"path": f"mine.py:{name}", "code_of_file": dict(code_of_function(tmp_path, f"mine.py:{name}")), **fields}
    )


def job_of(model: FunctionModel, noise_multiplier: float = 0.0, seed: int = 3) -> Job:
    training = Training(engine="function", epochs=20, batch_size=10)
    return Job(model, training, noise_multiplier, RECORDS, CLASSES, 2, seed)


def answers_of(model: FunctionModel, noise_multiplier: float = 0.0) -> np.ndarray:
    weights = Function().train(job_of(model, noise_multiplier))
    return log_probabilities(model, weights, RECORDS)


def test_a_model_answers_as_it_does_where_its_function_is_called_here(tmp_path: Path) -> None:
    model = model_of(tmp_path, SOFTMAX)
    here: dict[str, object] = {}
    exec(SOFTMAX, here)
    weights = here["train"](RECORDS, CLASSES, 2, seed=3, epochs=20)  # type: ignore[operator]
    expected = log_softmax(RECORDS @ weights[0], axis=1)
    assert answers_of(model) == pytest.approx(expected, abs=1e-5)
    kept = Function().train(job_of(model))
    assert Labels(model, kept)(RECORDS).tolist() == expected.argmax(axis=1).tolist()
    assert (answers_of(model, 50.0) != answers_of(model)).any()


def test_classes_that_a_model_never_saw_have_probability_zero(tmp_path: Path) -> None:
    text = "from sklearn.tree import DecisionTreeClassifier\ndef train(records, labels):\n"
    text += "    return DecisionTreeClassifier().fit(records, labels)\n"
    model = model_of(tmp_path, text)
    job = job_of(model)
    weights = Function().train(Job(model, job.training, 0.0, RECORDS, np.where(CLASSES == 1, 2, 0), 3, 3))
    logp = log_probabilities(model, weights, RECORDS)
    assert logp.shape == (60, 3)
    assert np.exp(logp[:, 1]).max() < 1e-30


def test_probabilities_that_are_said_to_be_logits_are_refused(tmp_path: Path) -> None:
    model = model_of(tmp_path, HEAD + "return lambda x: np.full((len(x), 2), 0.5)", answers="logits")
    with pytest.raises(TrainingError, match="rows that sum to 1, as probabilities do; leave out answers: logits"):
        answers_of(model)


def test_logits_and_their_probabilities_answer_alike(tmp_path: Path) -> None:
    text = (
        "import numpy as np\ndef train(records, labels):\n    return lambda x: np.stack([x[:, 0], -3 * x[:, 1]], 1)\n"
    )
    logp = answers_of(model_of(tmp_path, text, answers="logits"))
    assert logp == pytest.approx(log_softmax(np.stack([RECORDS[:, 0], -3 * RECORDS[:, 1]], 1), axis=1), abs=1e-5)


HEAD = "import os, sys\nimport numpy as np\ndef train(records, labels):\n    "
FAULTS = {
    "raises": (HEAD + "raise ValueError('no\\n  luck')", "mine.py:train: ValueError: no luck, line 4"),
    "exits": (HEAD + "sys.exit(3)", "mine.py:train: SystemExit: 3, line 4"),
    "ends the process": (HEAD + "os._exit(7)", "mine.py:train: it ended its process (exit code 7)"),
    "is killed": (
        HEAD + "os.kill(os.getpid(), 9)",
        "mine.py:train: its process was killed by SIGKILL (out of memory?)",
    ),
    "gives nothing": (HEAD + "return None", "train gives NoneType; a function of records, or a model with"),
    "answers logits": (HEAD + "return lambda x: 3 * np.ones((len(x), 2))", "numbers that sum to 6, which are no prob"),
    "answers below zero": (HEAD + "return lambda x: np.array([[-1, 2]] * len(x))", "numbers down to -1, which are no"),
    "answers one number": (HEAD + "return lambda x: np.ones(len(x))", "answers with shape (60,) for 60 records"),
    "answers too few": (HEAD + "return lambda x: np.ones((3, 2)) / 2", "answers with shape (3, 2) for 60 records"),
    "answers no number": (HEAD + "return lambda x: np.ones((len(x), 2)) * np.nan", "answers with not-a-number"),
    "answers text": (HEAD + "return lambda x: np.array([['a', 'b']] * len(x))", "answers with <U1; numbers are right"),
    "answers at random": (
        HEAD + "return lambda x: np.random.dirichlet([1, 1], len(x))",
        "answers otherwise when it is asked again; a network may need eval()",
    ),
    "takes no array": (
        HEAD + "return lambda x: x()",
        "(it is asked with NumPy arrays)",
    ),
    "gives no arrays": (
        HEAD + "return 'weights'\ndef predict(arrays, records): pass",
        "train gives str; since the file has a function predict, a list of NumPy arrays is right",
    ),
    "fails as it is loaded": (
        "import no_such_module\ndef train(records, labels): pass",
        "ModuleNotFoundError: No module",
    ),
}


@pytest.mark.parametrize("what", FAULTS)
def test_what_goes_wrong_in_a_function_is_one_line(what: str, tmp_path: Path) -> None:
    text, expected = FAULTS[what]
    model = model_of(tmp_path, text)
    with pytest.raises(TrainingError) as caught:
        answers_of(model)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("__pycache__"))


def test_a_function_that_is_given_noise_takes_it(tmp_path: Path) -> None:
    model = model_of(tmp_path, HEAD + "return lambda x: np.ones((len(x), 2)) / 2")
    with pytest.raises(TrainingError, match="train takes no noise_multiplier, and the spec has models with noise"):
        answers_of(model, 1.0)


def test_a_model_that_is_not_kept_says_what_would_keep_it(tmp_path: Path) -> None:
    model = model_of(tmp_path, HEAD + "return lambda x: np.ones((len(x), 2)) / 2")
    first = Function().train(job_of(model, seed=1))
    Function().train(job_of(model, seed=2))
    with pytest.raises(TrainingError, match=r"needs a function predict\(arrays, records\)"):
        log_probabilities(model, first, RECORDS)
    with pytest.raises(HarnessError, match="a model of a function gives no gradients"):
        gradient_norms(model, first, RECORDS, CLASSES)


def test_packages_are_those_of_the_interpreter_that_runs_it(tmp_path: Path) -> None:
    text = HEAD + "return lambda x: np.ones((len(x), 2)) / 2"
    version = np.__version__
    assert len(answers_of(model_of(tmp_path, text, packages={"numpy": version.rpartition(".")[0]}))) == 60
    with pytest.raises(TrainingError, match=f"needs numpy 0.1, and .* has {version}"):
        answers_of(model_of(tmp_path, text + "\n", packages={"numpy": "0.1"}))
    with pytest.raises(TrainingError, match=r"needs no-such-package 1, which .* does not have"):
        answers_of(model_of(tmp_path, text + "\n\n", packages={"no-such-package": "1"}))
    with pytest.raises(TrainingError, match="nowhere/python: cannot be started: No such file"):
        answers_of(model_of(tmp_path, text + "\n\n\n", python=str(tmp_path / "nowhere/python")))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A spec whose models are two forests, on the table of breast cancers."""
    (tmp_path / "specs/own").mkdir(parents=True)
    (tmp_path / "specs/papers.yaml").write_text((REPO / "specs/papers.yaml").read_text())
    (tmp_path / "params.yaml").write_text(PARAMS)
    write_cancer(tmp_path / "cancer.csv")
    (tmp_path / "specs/own/mine.py").write_text(FOREST)
    (tmp_path / "specs/own/trees.py").write_text("COUNT = 10\n")
    arms = "    deep: {}\n    shallow: {model: {path: 'mine.py:train_shallow'}}\n"
    text = SMALL_SPEC[: SMALL_SPEC.index("  arms:")] + "  split: {kind: random}\n  arms:\n" + arms
    text += "  model: {kind: function, path: 'mine.py:train'}\n  training: {engine: function}\n"
    text += (
        "  privacy: {epsilons: [.inf], delta: 1.0e-3}\n  repeats: 14\nattacks:\n  logloss: {kind: logloss}\nclaims:\n"
    )
    text += (
        "  - id: deep-leaks\n    where: here\n    statement: Deep trees leak more.\n    expect: {kind: compare, left: "
    )
    text += "{metric: auc, arm: deep, attack: logloss}, relation: '>', right: {arm: shallow}, at: [.inf]}\n"
    (tmp_path / "specs/own/forest.yaml").write_text(text)
    return tmp_path


def run_forest(project: Path) -> subprocess.CompletedProcess[str]:
    return run_cli(project, "run", "own/forest", HARNESS_FUNCTIONS_BELOW=str(project))


def verdict_of(project: Path) -> str:
    (verdict,) = json.loads((project / "reports/full/own/forest/verdicts.json").read_text())["verdicts"]
    return str(verdict["verdict"])


@pytest.mark.integration
def test_a_spec_of_forests_is_judged_and_its_models_are_those_of_the_code(project: Path) -> None:
    run = run_forest(project)
    assert run.returncode == 0, run.stderr
    assert verdict_of(project) == "reproduced"
    assert "on standard output" not in run.stdout
    planned = run_cli(project, "plan", "own/forest")
    assert "own/forest\t28\t98\t0\t0\t" in planned.stdout, planned.stdout  # cells, pieces, shared, to do
    assert "own/forest: trained by a function of yours, which nobody here can time" in planned.stderr
    names = set((project / ".harness/store/train").rglob("*.npz"))
    (project / "specs/own/unused.py").write_text("nobody imports this\n")
    assert run_forest(project).returncode == 0
    assert set((project / ".harness/store/train").rglob("*.npz")) == names
    (project / "specs/own/trees.py").write_text("COUNT = 11\n")  # which the function's file imports
    assert run_forest(project).returncode == 0
    assert len(set((project / ".harness/store/train").rglob("*.npz"))) == 2 * len(names)
    for path in (project / "reports").rglob("*"):
        if path.is_file() and path.suffix in (".json", ".html", ".csv", ".md"):
            assert str(project) not in path.read_text()


BAD = {
    "no engine": (("training: {engine: function}", "training: {}"), "write training: {engine: function}"),
    "a field that is not taken": (
        ("engine: function", "engine: function, momentum: 0.5"),
        "experiment.training.momentum: mine.py:train does not take momentum; it takes records and labels, seed",
    ),
    "an axis that is not taken": (
        ("engine: function", "engine: function, learning_rate: {axis: rate, values: [0.1, 0.2]}"),
        "experiment.training.learning_rate: mine.py:train does not take learning_rate; it takes records",
    ),
    "an argument that is not taken": (
        ("path: 'mine.py:train'}", "path: 'mine.py:train', arguments: {depth: 3}}"),
        "experiment.model.arguments.depth: mine.py:train does not take depth; it takes records and labels, seed",
    ),
    "an argument of every training": (
        ("path: 'mine.py:train'}", "path: 'mine.py:train', arguments: {seed: 3}}"),
        "arguments.seed: is given by every training",
    ),
    "an axis of functions": (
        ("path: 'mine.py:train'}", "path: {axis: how, values: ['mine.py:train', 'mine.py:train_shallow']}}"),
        "model.path",
    ),
    "no such file": (("mine.py:train'", "other.py:train'"), "model.path: other.py: no such file beside the spec"),
    "no such function": (("mine.py:train'", "mine.py:fit'"), "mine.py defines no fit; it defines train, train_shallow"),
    "no function at all": (("mine.py:train'", "mine.py'"), "model.path"),
    "noise": (("epsilons: [.inf]", "epsilons: [1, .inf]"), "mine.py:train takes no noise_multiplier, and privacy.eps"),
    "another engine": (
        ("engine: function", "engine: fast"),
        "model: kind function is trained by one engine; write training: {engine: fun",
    ),
    "another model": (("kind: function, path: 'mine.py:train'", "kind: logistic"), "trains model: {kind: function"),
    "early stopping": (("engine: function", "engine: function, epochs_measured: each"), "not looked at between epochs"),
    "written by hand": (("kind: function", "kind: function, code_of_file: {}"), "code_of_file: is read in the file"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_spec_that_names_no_such_function_is_one_clear_line(what: str, project: Path) -> None:
    (old, new), expected = BAD[what]
    path = project / "specs/own/forest.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    found = run_cli(project, "validate")
    assert found.returncode == 2
    assert expected in found.stderr, found.stderr
    assert "specs/own/forest.yaml:" in found.stderr
    assert "Traceback" not in found.stderr


CODE = {
    "def train(records): pass": "mine.py, line 1: train takes 1 arguments in order",
    "def train(records, labels, depth): pass": "mine.py, line 1: train asks for depth; give it by model.arguments, or let it be",
    "def train(records, labels, *, depth): pass": "train asks for depth",
    "def train(records, labels:": "mine.py, line 1: is no Python",
}


@pytest.mark.parametrize("text", CODE)
def test_code_that_is_no_training_function_is_refused_without_being_run(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(HarnessError) as caught:
        code_of_function(tmp_path, "mine.py:train")
    assert CODE[text] in str(caught.value)


def test_a_function_runs_only_below_a_folder_that_the_user_named(project: Path) -> None:
    (project / "specs/own/trees.py").write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n")
    for below in ("", str(project / "reports")):
        refused = run_cli(project, "run", "own/forest", HARNESS_FUNCTIONS_BELOW=below)
        assert refused.returncode == 2
        assert f"set {BELOW}={project / 'specs/own'} if you trust that folder" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert not (project / "specs/own/ran").exists()


@pytest.mark.integration
def test_an_argument_can_be_an_axis(project: Path) -> None:
    """By hand it would take one function a depth."""
    (project / "specs/own/mine.py").write_text(
        "from sklearn.ensemble import RandomForestClassifier\n"
        "def train(records, labels, *, seed, depth):\n"
        "    return RandomForestClassifier(10, max_depth=depth, random_state=seed).fit(records, labels)\n"
    )
    path = project / "specs/own/forest.yaml"
    text = path.read_text().replace("  arms:\n    deep: {}\n", "")
    text = text.replace("    shallow: {model: {path: 'mine.py:train_shallow'}}\n", "")
    given = "path: 'mine.py:train', arguments: {depth: {axis: depth, values: [1, 9]}}}"
    text = text.replace("path: 'mine.py:train'}", given)
    side = "left: {metric: auc, attack: logloss, at: {depth: 9}}, relation: '>', right: {at: {depth: 1}}"
    path.write_text(text[: text.index("left:")] + side + ", at: {epsilon: [.inf]}}\n")
    ran = run_forest(project)
    assert ran.returncode == 0, ran.stderr
    assert verdict_of(project) == "reproduced"


JAX = os.environ.get("HARNESS_TEST_JAX") or (sys.executable if importlib.util.find_spec("jax") else None)
"""An interpreter that has JAX, which the project does not need."""


@pytest.mark.integration
@pytest.mark.skipif(JAX is None, reason="needs JAX, here or in the interpreter that HARNESS_TEST_JAX names")
def test_dp_sgd_in_jax_is_judged_beside_the_fast_engine(project: Path) -> None:
    """With noise and without, both have models of one accuracy."""
    shutil.copy(REPO / "examples/training/jax_softmax.py", project / "specs/own")
    path = project / "specs/own/forest.yaml"
    head = path.read_text().split("  arms:")[0]
    path.write_text(
        f"""{head}  arms:
    fast: {{model: {{kind: logistic}}, training: {{engine: fast}}}}
    jax: {{model: {{kind: function, path: "jax_softmax.py:train", python: {JAX}}}, training: {{engine: function}}}}
  training: {{optimizer: sgd, learning_rate: 0.5, batch_size: 20, epochs: 3}}
  privacy: {{epsilons: [0.3, .inf], delta: 1.0e-3}}
  repeats: 20
claims:
  - id: noise-costs
    where: here
    statement: Noise costs accuracy.
    expect: {{kind: compare, left: {{metric: accuracy_test, arm: jax}}, relation: "<", right: {{at: {{epsilon: .inf}}}}, at: [0.3]}}
"""
    )
    ran = run_forest(project)
    assert ran.returncode == 0, ran.stderr
    assert verdict_of(project) == "reproduced"
    table = pd.read_parquet(project / "reports/full/own/forest/measurements.parquet")
    accuracy = table[table["metric"] == "accuracy_test"].groupby(["epsilon", "arm"])["value"].mean().unstack()
    assert accuracy["jax"].tolist() == pytest.approx(accuracy["fast"].tolist(), abs=0.04)
    assert accuracy["jax"].min() < accuracy["jax"].max() - 0.04  # the noise is felt


def test_nothing_of_a_function_runs_where_nothing_is_trained(project: Path) -> None:
    (project / "specs/own/trees.py").write_text("open('/dev/full', 'w').close(); raise SystemExit(9)\n")
    for command in (["validate"], ["list", "specs"], ["judge", "own/forest"]):
        assert run_cli(project, *command).returncode == 0, command


def test_links_to_interpreters_and_files_elsewhere_are_told_from_the_spec(tmp_path: Path, project: Path) -> None:
    (project / "specs/own/python").symlink_to(sys.executable)
    path = project / "specs/own/forest.yaml"
    path.write_text(path.read_text().replace("path: 'mine.py:train'}", "path: 'mine.py:train', python: python}", 1))
    assert run_cli(project, "validate").returncode == 0
    outside = run_cli(project, "validate", HARNESS_ONLY_BELOW=str(project / "reports"))
    assert outside.returncode == 2
    assert os.linesep not in outside.stderr.strip() or "lies outside" in outside.stderr


def test_the_examples_are_specs(tmp_path: Path) -> None:
    for path in sorted((REPO / "examples/training").glob("*.yaml")):
        found = run_cli(REPO, "validate", str(path))
        assert found.returncode == 0, found.stderr


def test_a_pipeline_and_a_bundle_rest_on_the_files_of_the_function(project: Path) -> None:
    (project / "params.yaml").write_text("profile: full\nprofiles:\n  full: {}\n")
    made = run_cli(project, "pipeline")
    assert made.returncode == 0, made.stderr
    text = (project / "dvc.yaml").read_text()
    assert "specs/own/mine.py" in text
    assert "specs/own/trees.py" in text
    audit = run_cli(project, "audit", "function")
    assert audit.returncode == 2
    assert "audit the function: FILE.py:FUNCTION" in audit.stderr


def test_a_function_ends_with_whoever_started_it_and_not_on_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os, pathlib, time\n"
        "def train(records, labels):\n"
        "    pathlib.Path(__file__).with_name('pid').write_text(str(os.getpid()))\n"
        "    time.sleep(600)\n"
    )
    text = "from tests.training.test_function import *\n"
    text += f"model_of(Path({str(tmp_path)!r}), Path({str(tmp_path / 'mine.py')!r}).read_text())\n"
    text += f"answers_of(model_of(Path({str(tmp_path)!r}), Path({str(tmp_path / 'mine.py')!r}).read_text()))\n"
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    starter = subprocess.Popen([sys.executable, "-c", text], cwd=REPO, env=environment)
    try:
        pid = int(wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
        os.kill(pid, signal.SIGINT)
        time.sleep(0.3)
        assert Path(f"/proc/{pid}").exists()
    finally:
        starter.kill()
        starter.wait()
    wait_for(lambda: is_gone(pid))


def is_gone(pid: int) -> bool:
    """Whether a process is not there, or waits for nobody to collect it."""
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def wait_for(answer: Callable[[], object]) -> str:
    for _ in range(600):
        if found := answer():
            return str(found)
        time.sleep(0.1)
    raise AssertionError("in vain")
