"""What may enter, and what is said of it: docs/what-may-enter.md, tried case by case through the command line.

A case is a file, a function, a number or a name that somebody may give, the command, and what has to come of it: a
number that is known, or one line that says where, what is wrong, and what would be right. No case may end in a
traceback, leave half a file, or print anything but one document where `--json` is given.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PARAMS, REPO, SMALL_SPEC, run_cli, run_process, whole_program, write_cancer
from tests.test_docs import faults_of_commands

Arrange = Callable[[Path], Any]
FORMULA_SPEC = """\
paper: own
title: A formula alone
where: here
claims:
  - id: below
    where: here
    statement: The bound is below one.
    expect:
      {kind: inequality, left: {formula: yeom, scale: 0}, relation: "<", right: {value: 1}, over: {epsilon: {from: 0.1, to: 1}}}
"""


@dataclass(frozen=True)
class Case:
    """One thing that is brought."""

    what: str
    command: str
    """As it is typed after `harness`, in a project with one spec, `own/cancer`, whose copy `mine.yaml` lies beside."""
    says: str = ""
    """A pattern in the one line of standard error; in standard output where all is well."""
    code: int = 2
    arrange: Arrange = lambda root: None
    environment: tuple[tuple[str, str], ...] = ()


def text(name: str, content: str | bytes) -> Arrange:
    """Write a file."""

    def arrange(root: Path) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return arrange


def folder(name: str) -> Arrange:
    return lambda root: (root / name).mkdir(parents=True)


def link(name: str, to: str) -> Arrange:
    return lambda root: (root / name).symlink_to(to)


def both(*steps: Arrange) -> Arrange:
    return lambda root: [step(root) for step in steps]


def function(body: str, top: str = "", name: str = "f.py") -> Arrange:
    """A training function in a file; `w` are weights that follow from its seed."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return text(
        name,
        f"import os, sys\nimport numpy as np\n{top}\n\ndef train(features, labels, seed):\n"
        f"    w = np.random.default_rng(seed).normal(size=(features.shape[1], 2))\n{lines}\n",
    )


def model(method: str) -> str:
    return f"class M:\n    {method}\nreturn M()"


AUDIT = "audit f.py:train --epsilon 1 --runs 8 -q --json"
LOSS = f"{AUDIT} --score loss"
OF_FUNCTION = r"audit: f\.py:train: "
DONE = '"exposed": false'


def functions() -> Iterator[Case]:
    """What a file with a training function may be, and what the function may do."""

    def case(what: str, body: str, says: str, code: int = 2, top: str = "", command: str = AUDIT) -> Case:
        return Case(what, command, says, code, function(body, top))

    yield case("a list of weights", "return [w]", DONE, 0)
    yield case("half precision", "return [w.astype('float16')]", DONE, 0)
    yield case("an array of objects that are numbers", "return [w.astype(object)]", DONE, 0)
    yield case("one column for two classes", "return [w[:, :1]]", DONE, 0)
    yield case("a vector", "return (w[:, 0],)", DONE, 0)
    yield case("a kernel alone", "return w", DONE, 0)
    yield case("the same weights every time", "return [np.zeros((8, 2))]", DONE, 0)
    yield case("no noise at all", "return [features.T @ np.eye(2)[labels]]", '"exposed": true', 1)
    yield case("future annotations and a dataclass", "return [w]", DONE, 0, TOP_DATACLASS)
    yield case("a warning", "import warnings; warnings.simplefilter('ignore'); return [w]", DONE, 0)
    yield case("probabilities of one column", model("def predict_proba(self, x): return np.full((len(x), 1), .3)"), DONE, 0, command=LOSS)  # fmt: skip
    yield case("None", "return None", OF_FUNCTION + r"run 1: the model \(NoneType\) is no list of arrays")
    yield case("a generator of weights", "return (one for one in [w])", r"run 1: the model \(generator\) is no list")
    yield case("a function that yields", "yield w", OF_FUNCTION + "train yields; a training function returns a model")
    yield Case("an asynchronous function", AUDIT, "train is asynchronous", 2, text("f.py", "async def train(x, y, s): pass\n"))  # fmt: skip
    yield case("no weights", "return []", r"run 1: .* no list of arrays .* list index out of range")
    yield case("a dictionary", "return {'w': w}", r"run 1: the model \(dict\) is no list of arrays")
    yield case("weights that are text", "return [w.astype(str)]", r"run 1: .* ndarray \(<U32\) is no array of numbers")
    yield case("complex weights", "return [w + 1j]", r"run 1: .* ndarray \(complex128\) is no array of numbers")
    yield case("objects that are no numbers", "return [np.full((8, 2), 'a', dtype=object)]", "could not convert string")
    yield case("a sparse matrix", "import scipy.sparse as s\n" + model("coef_ = s.csr_matrix(w.T)"), "csr_matrix .* is no array")  # fmt: skip
    yield case("the wrong shape", "return [w[:3]]", r"run 1: .* shape \(3, 2\), one row a column of features is right")
    yield case("another shape in another run", "return [w if seed % 2 else w[:, [0, 1, 1]]]", r"run \d: weights of shape .* in run 1")  # fmt: skip
    yield case("NaN", "return [w * np.nan]", r"run 1: its model \(with the canary\) has the score nan, no number")
    yield case("NaN in one run", "return [w * (np.nan if not features[-1, -1] else 1)]", r"run 2: its model \(without the canary\)")  # fmt: skip
    yield case("infinite weights", "return [w * np.inf]", "run 1: its model .* has the score -?(inf|nan), no number")
    yield case("an error", "raise ValueError('one\\ntwo')", OF_FUNCTION + r"run 1: the training function raised ValueError: one \(f\.py:7\)")  # fmt: skip
    yield case(
        "an error without a word", "raise Exception", r"run 1: the training function raised Exception \(f\.py:7\)"
    )
    yield case("an error in the fifth run", "C.append(0)\nif len(C) == 5: 1 / 0\nreturn [w]", r"run 5: .* ZeroDivisionError: division by zero \(f\.py:8\)", top="C = []")  # fmt: skip
    yield case("endless recursion", "return train(features, labels, seed)", r"RecursionError: .* \(f\.py:\d\)")
    yield case("out of memory", "raise MemoryError", r"run 1: the training function raised MemoryError \(f\.py:7\)")
    yield case("sys.exit", "sys.exit(3)", r"run 1: the training function raised SystemExit: 3 \(f\.py:7\)")
    yield case("os._exit", "os._exit(3)", OF_FUNCTION + r"it ended its process \(exit code 3\) in run 1 of 8")
    yield case("a process that is killed", "os.kill(os.getpid(), 9)", r"was killed by SIGKILL \(out of memory\?\) in run 1 of 8")  # fmt: skip
    yield case("a fault of memory", "os.kill(os.getpid(), 11)", "its process was killed by SIGSEGV in run 1 of 8")
    yield case("an interrupt of its own", "raise KeyboardInterrupt", r"it ended its process \(exit code 130\) in run 1")
    yield case("logits for probabilities", model("def predict(self, x): return np.array([[-3., 4.]])"), r"run 1: predict gives \[-3\.  4\.\], no probabilities", command=LOSS)  # fmt: skip
    yield case("probabilities of more records", model("def predict_proba(self, x): return np.full((64, 2), .5)"), r"predict_proba gives shape \(64, 2\) for one record; \(1, classes\)", command=LOSS)  # fmt: skip
    yield case("predictions that are None", model("def predict_proba(self, x): return None"), r"predict_proba of the model \(M\) raised TypeError", command=LOSS)  # fmt: skip
    yield case("a prediction that raises", model("def predict(self, x): raise ValueError('x')"), r"predict of the model \(M\) raised ValueError: x \(f\.py:8\)", command=LOSS)  # fmt: skip
    yield case("no prediction", "return [w]", "has neither predict_proba nor predict, .* try weights", command=LOSS)
    two = text("f.py", "def train(features, labels): pass\n")
    yield Case("a function of two parameters", AUDIT, r"train\(features, labels\) cannot be called with features, labels and a seed", 2, two)  # fmt: skip
    yield Case("a neighbour is imported", AUDIT, DONE, 0, both(text("helper.py", "x = 1\n"), function("return [w]", "from helper import x")))  # fmt: skip
    package = both(text("p/__init__.py", ""), text("p/near.py", "x = 1\n"), function("return [w]", "from .near import x", "p/f.py"))  # fmt: skip
    yield Case("a file of a package", AUDIT.replace("f.py", "p/f.py"), DONE, 0, package)
    yield Case("a file that is called as one of the standard library", AUDIT.replace("f.py", "json.py"), DONE, 0, function("return [w]", name="json.py"))  # fmt: skip
    yield Case("a neighbour that is called as one of the standard library", AUDIT, DONE, 0, both(text("random.py", "raise ValueError\n"), function("return [w]", "import random")))  # fmt: skip
    yield Case("a name with spaces and letters", AUDIT.replace("f.py:train", "'mé n.py:train'"), DONE, 0, function("return [w]", name="mé n.py"))  # fmt: skip
    for what, content, says in (
        ("a file that is no Python", "def f(:\n", r"cannot be loaded: SyntaxError: invalid syntax \(f\.py:1\)"),
        ("bytes that are no text", b"x = '\xff'\n", r"cannot be loaded: SyntaxError"),
        (
            "a file with NUL",
            b"\0",
            r"cannot be loaded: (Syntax|Value)Error: source code string cannot contain null bytes",
        ),
        ("an empty file", "", "no function 'train' in it; there are: none"),
        ("no function of that name", "def other(): pass\n", "no function 'train' in it; there are: other"),
        ("no function but a number", "train = 3\n", "no function 'train' in it"),
        ("a file that exits", "import sys\nsys.exit(1)\n", r"cannot be loaded: SystemExit: 1 \(f\.py:2\)"),
        ("a file that raises", "x = 1\nraise ValueError('é\\nb')\n", r"cannot be loaded: ValueError: é \(f\.py:2\)"),
        (
            "a module that is not there",
            "import nowhere\n",
            r"ModuleNotFoundError: No module named 'nowhere' \(f\.py:1\)",
        ),
        (
            "a file that ends the process",
            "import os\nos._exit(4)\n",
            r"ended its process \(exit code 4\) while its file",
        ),
    ):
        yield Case(what, AUDIT, OF_FUNCTION + f".*{says}" if says[0] != "c" else OF_FUNCTION + says, 2, text("f.py", content))  # fmt: skip
    yield Case("a folder as a file", AUDIT, r"f\.py: is a folder; a training function is named as file.py:function", 2, folder("f.py"))  # fmt: skip
    yield Case("a link to itself", AUDIT, r"f\.py: no such file; a training function is named", 2, link("f.py", "f.py"))
    yield Case("a file without a function", "audit f.py --epsilon 1", "write it as f.py:FUNCTION", 2, function("return [w]"))  # fmt: skip
    yield Case("neither an engine nor a file", "audit fst --epsilon 1", "'fst' is neither an engine nor a function; write it as file.py:function")  # fmt: skip
    yield Case(
        "nothing that is claimed", "audit f.py:train", "--epsilon: say what is claimed", 2, function("return [w]")
    )


TOP_DATACLASS = "from dataclasses import dataclass\n@dataclass\nclass C:\n    a: 'int' = 1\n"
OPTIONS = [
    (
        "audit fast --epsilon nan",
        "--epsilon nan: it has to be above 0 and at most 1,000,000,000, since a larger one promises nothing",
    ),
    ("audit fast --epsilon inf", "--epsilon inf: it has to be above 0 and at most 1,000,000,000"),
    ("audit fast --epsilon 0", "--epsilon 0: it has to be above 0 and at most 1,000,000,000"),
    ("audit fast --epsilon 1e308 --runs 4", r"--epsilon 1e\+308: it has to be above 0 and at most 1,000,000,000"),
    ("audit fast --epsilon x", "Invalid value for '--epsilon': .*, found 'x'; see `harness audit --help`"),
    ("audit fast --delta nan", "--delta nan: it has to lie between 0 and 1"),
    ("audit fast --level 1", "--level 1: it has to lie between 0 and 1, such as 0.95"),
    ("audit fast --runs 3", "Invalid value for '--runs': .* equal to 4, found '3'"),
    ("audit fast --runs 9223372036854775808", "Invalid value for '--runs': .* less than or equal to 10000000, found"),
    ("audit fast --records 1000000000000", "Invalid value for '--records': .* less than or equal to 1000000, found"),
    ("audit fast --records -5", "Invalid value for '--records': .* equal to 4, found '-5'"),
    ("audit fast --seed -1", "Invalid value for '--seed': .*, found '-1'"),
    ("audit fast --batch-size 65", "a batch of 65 from 64 records"),
    ("audit fast --plot x.pdf", "--plot x.pdf: what is written is SVG; the name has to end in .svg"),
    ("audit fast --plot params.yaml/x.svg", "--plot params.yaml/x.svg: .*params.yaml is a file, not a folder"),
    ("run mine.yaml --minutes nan", "--minutes nan: nothing can be done in that; give more than 0"),
    ("run mine.yaml --max-repeats 0", "Invalid value for '--max-repeats': .*, found '0'"),
    ("run mine.yaml --stage nope", "'--stage': 'nope' is not one of 'train', 'attack', 'all'"),
    ("judge -j 0", "Invalid value for '--workers' / '-j': .*, found '0'"),
    ("judge --require Reproduced", "--require 'Reproduced': unknown verdict; it is one of: reproduced, violated"),
    ("compare --tolerance=nan", "Invalid value for '--tolerance': .*, found 'nan'"),
    ("compare --update --tolerance inf", "--tolerance inf: would accept whatever is found"),
    ("compare --junit specs", "--junit specs: is a folder; name a file"),
    ("compare --summary ''", "--summary .: is a folder; name a file"),
    ("bundle mine.yaml#counts -o specs", "--out specs: is a folder; name a file"),
    ("plan --profile nope", "unknown profile 'nope'; there are: full, one"),
    ("new spec Mine", "'Mine' is no name; write it in lower case, with hyphens, such as my-spec"),
    ("new attack numpy", "'numpy': a Python module numpy is there already; choose another name"),
    ("new attack json", "'json': a Python module json is there already"),
    ("new dataset adult", "'adult': a name of the harness' own, among: .*adult"),
    (
        "new project specs",
        "specs: is not empty, it has own and 1 more; name a folder that is empty or not there; nothing was written",
    ),
    ("new project cancer.csv", "cancer.csv: is no folder; name one that is empty or not there; nothing was written"),
    ("new project loop", "loop: is no folder; name one that is empty or not there"),
    ("new project cancer.csv/x", "cancer.csv/x: .*Not a directory|cancer.csv: .*"),
    ("new project x --into y", "new project: FOLDER says where it is written; leave --into out"),
    ("new project x --install ' '", "--install ' ': is no package, as pip takes it; right is mi-dp-harness=="),
    ("new project x --install '-r r.txt'", "--install '-r r.txt': is no package, as pip takes it"),
    ("new project x --install 'a\nb'", r"--install 'a\\nb': is no package, as pip takes it"),
    ("new project x --install '${{ x }}'", r"--install '\$\{\{ x \}\}': is no package, as pip takes it"),
    (
        "new spec x --install y",
        "--install: says what a project's workflow installs; it is only for `harness new project`",
    ),
    ("new spec", "new: Missing argument 'name'; see `harness new --help`"),
    (
        "new novel x",
        "'novel' is not one of 'project', 'paper', 'spec', 'results', 'attack', 'dataset', 'formula', 'claim'",
    ),
    ("store push ''", "'': no address; right is s3://bucket/folder, or a path"),
    ("store pull nope", "nope: no such folder"),
    ("store pull params.yaml", "params.yaml: is a file, not a folder"),
    ("store push params.yaml", "params.yaml: is a file, not a folder"),
    (
        "store push nope://x",
        "nope://x: cannot be used: ValueError: Protocol not known: nope; right is s3://bucket/folder",
    ),
    (
        "store push memory://x",
        "memory://x: nothing that is put there outlasts this command; right is s3://bucket/folder",
    ),
    ("store pull memory://x", "memory://x: nothing that is put there outlasts this command"),
    ("store push simplecache::memory://x", "simplecache::memory://x: nothing that is put there outlasts this command"),
    ("store push memory:x", "memory:x: nothing that is put there outlasts this command"),
    ("store push data:,x", "data:,x: nothing that is put there outlasts this command"),
    ("store push s3:bucket/x", "s3:bucket/x: right is s3://bucket/x, or ./s3:bucket/x for a folder of that name"),
    ("store push s3://", "'s3://': no directory or bucket in it; right is s3://bucket/folder, or a path"),
    ("store push file:", "file:: right is file://"),
    ("store push ::", "'::': no directory or bucket in it"),
    ("store push /", "'/': no directory or bucket in it"),
    (
        "store pull http://127.0.0.1:9/x",
        "http://127.0.0.1:9/x: cannot be used: ClientConnectorError: Cannot connect to host",
    ),
    (
        "store push http://127.0.0.1:9/x",
        "http://127.0.0.1:9/x: cannot be used: ClientConnectorError: Cannot connect to host",
    ),
    ("store push ftp://127.0.0.1:9/x", "ftp://127.0.0.1:9/x: cannot be used: ConnectionRefusedError: "),
    ("store push dropbox://x", "dropbox://x: this needs one more package: .*dropbox"),
    ("data status nope", "no dataset 'nope' to fetch; known: adult"),
    ("nope", "No such command 'nope'; see `harness --help`"),
    ("list --nope", "list: No such option: --nope; see `harness list --help`"),
    ("list --json=3", "Option '--json' does not take a value; see `harness --help`"),
    ("explain", "explain: Missing argument 'SPEC#CLAIM'; see `harness explain --help`"),
    ("explain mine.yaml", "'mine.yaml' names no claim; write SPEC#CLAIM"),
    ("explain '#counts'", "'#counts' names no claim; write SPEC#CLAIM"),
    ("explain own#counts", "'own#counts': own has several specs; name one of: own/cancer, own/second"),
    ("--project loop list", "loop: no folder: Symlink loop"),
    (
        "accountants --n 1000000000000000000000000 --batch-size 7",
        "Invalid value for '--n': .* less than or equal to 1000000000000, found '1000000000000000000000000'",
    ),
    (
        "accountants --n 1000000000000 --batch-size 1 --epochs 1000000000000",
        r"1e\+24 steps on 1e\+12 records are too many; at most 1e\+18",
    ),
    ("--project / list", "/: no harness project here or above"),
]
NAMES = [
    ("mine", "no spec 'mine'; did you mean the file mine.yaml\\?"),
    ("''", "no spec ''; leave the argument out for all specs"),
    ("/", "no spec '/'; known: own/cancer"),
    (".", r"no spec '\.'; known"),
    ("..", r"no spec '\.\.'; known"),
    ("cancer", "no spec 'cancer'; did you mean own/cancer\\?"),
    ("own/cancer.yaml", "own/cancer.yaml: no such file; did you mean the spec own/cancer\\?"),
    ("specs/own/cancer", "did you mean the file specs/own/cancer.yaml\\?"),
    ("cancer.csv", "no spec 'cancer.csv'; cancer.csv is a file, but a spec's ends in .yaml"),
    ("nope.yaml", "nope.yaml: no such file"),
    ("mine.yaml/x.yaml", "cannot be read: Not a directory"),
    ("a" * 300, "File name too long"),
]
SPECS: list[tuple[str, Arrange, str]] = [
    ("an empty file", text("x.yaml", ""), r"x\.yaml:1: a mapping of fields is expected here"),
    ("a list", text("x.yaml", "- a\n"), r"x\.yaml:1: a mapping of fields is expected here"),
    ("a binary file", text("x.yaml", bytes(range(256))), r"x\.yaml: no text in UTF-8 \(byte 128\); save it as UTF-8"),
    ("UTF-16", text("x.yaml", SMALL_SPEC.encode("utf-16")), r"x\.yaml: no text in UTF-8 \(byte 0\); save it as UTF-8"),
    ("NUL", text("x.yaml", "paper: own\0\n"), r"x\.yaml:1: not valid YAML"),
    ("a tab", text("x.yaml", "paper:\n\town: 1\n"), r"x\.yaml:2: not valid YAML"),
    ("a key twice", text("x.yaml", f"{SMALL_SPEC}paper: own\n"), r"not valid YAML: found duplicate key \"paper\""),
    ("two documents", text("x.yaml", f"{SMALL_SPEC}---\n{SMALL_SPEC}"), "not valid YAML: but found another document"),
    ("a folder", folder("x.yaml"), r"x\.yaml: is a folder; a spec is a file in YAML"),
    ("a link to itself", link("x.yaml", "x.yaml"), r"x\.yaml: no path of a file: Symlink loop"),
    ("a link to nothing", link("x.yaml", "gone.yaml"), r"gone\.yaml: no such file"),
    ("an extension of NUL", text("x.yaml", 'extends: "a\\0.yaml"\n'), r"a\\x00\.yaml: no path of a file"),
]
GOOD_SPECS: list[tuple[str, str, bytes]] = [
    ("spaces and letters", "sp ace é.yaml", SMALL_SPEC.encode()),
    ("another ending", "x.yml", SMALL_SPEC.encode()),
    ("capitals", "X.YAML", SMALL_SPEC.encode()),
    ("a byte-order mark", "x.yaml", b"\xef\xbb\xbf" + SMALL_SPEC.encode()),
    ("lines of Windows", "x.yaml", SMALL_SPEC.replace("\n", "\r\n").encode()),
]
PROFILES = [
    ("", "params.yaml:1: a mapping of fields is expected here"),
    ("profile: full\n", "params.yaml:1: profiles: Field required"),
    (
        "profile: full\nprofiles: {full: {repeats: 0}}\n",
        "params.yaml:2: profiles.full.repeats: .* greater than or equal",
    ),
    (
        "profile: full\nprofiles: {full: {epsilons: [.nan]}}\n",
        "profiles.full.epsilons: epsilons have to be above 0, found nan",
    ),
    ("profile: full\nprofiles: {full: {engine: nope}}\n", "profiles.full.engine: unknown engine 'nope'; known: fast"),
    ("profile: nope\nprofiles: {full: {}}\n", "unknown profile 'nope'; there are: full"),
    ("profile: full\nflagship: x\nprofiles: {full: {}}\n", "params.yaml:1: flagship: unknown profile 'x'"),
    (
        "profile: full\nprofiles: {full: {skip: [own/cancer]}}\n",
        "params.yaml:2: profiles.full.skip: Extra inputs are not",
    ),
    (
        "profile: full\nprofiles:\n  full: {readings_of: whole}\n",
        r"params.yaml:\d: profiles.full.readings_of: unknown profile 'whole'; there are: full",
    ),
]
PROFILE_NAMES = [
    (
        "{decide: [own/cancr]}",
        r"params.yaml:2: profiles.full.decide: 'own/cancr' names no paper, spec or claim; did you mean own/cancer\?",
    ),
    (
        "{decide: ['own/cancer#count']}",
        r"params.yaml:2: profiles.full.decide: 'own/cancer#count' names no paper, spec or claim; did you mean own/cancer#counts\?",
    ),
    (
        "{decide: [theory, nothing/like-it]}",
        "profiles.full.decide: 'nothing/like-it' names no paper, spec or claim; `harness list` prints what there is",
    ),
    ("{papers: {won: {repeats: 1}}}", "params.yaml:2: profiles.full.papers.won: 'won' names no paper or spec"),
    ("{attacks: [loglos]}", r"profiles.full.attacks: 'loglos' names no attack; did you mean logloss\?"),
    ("{papers: {own: {attacks: [none]}}}", "profiles.full.papers.own.attacks: 'none' names no attack"),
]
"""What a profile names and no spec of the project is or has: `harness validate` of all says so."""
BASELINES = [
    ("", "baseline.json: not a baseline: Invalid JSON: .*; delete it, and `harness compare --update mine.yaml` writes"),
    ('{"profile": "own", "specs": {"mine": 3}}', "not a baseline: specs.mine: Input should be an object"),
    ('{"profile": "own", "specs": {}, "tolerance": -1}', "not a baseline: tolerance: Input should be greater"),
    (
        '{"profile": "own", "specs": {}, "tolerance": "NaN"}',
        "not a baseline: tolerance: Input should be a finite number",
    ),
]
PAGE_INPUTS: list[tuple[str, str, str | bytes, str]] = [
    ("a list of authors", "specs/papers.yaml", "a2020:\n  authors: [A, B]\n", r"papers\.yaml:2: a2020\.authors: input should be a valid string, found \['A', 'B'\]"),
    ("a misspelt field", "specs/papers.yaml", "a2020:\n  title: T\n  author: A\n", r"papers\.yaml:3: a2020\.author: unknown field; did you mean 'authors'\?"),
    ("a year in words", "specs/papers.yaml", "a2020: {year: last}\n", r"papers\.yaml:1: a2020\.year: .* valid integer.*, found 'last'"),
    ("a paper that is text", "specs/papers.yaml", "a2020: A Title\n", r"papers\.yaml:1: a2020: a mapping of title, authors, year and url is right, not 'A Title'"),
    ("no title to cite", "CITATION.cff", "authors: [{name: A}]\n", r"CITATION\.cff:1: title: is missing; it has to be given"),
    ("authors that are text", "CITATION.cff", "title: T\nauthors: A\n", r"CITATION\.cff:2: authors: input should be a valid tuple, found 'A'"),
    ("no findings", "specs/findings.yaml", "found: []\n", r"findings\.yaml:1: findings: Field required"),
    ("an answer to no claim", "specs/own/cancer.answers.md", "## other\nNo.\n", r"cancer\.answers\.md:1: answers the claim 'other'; known: "),
    ("docs that are no UTF-8", "docs/method.md", "# Méthode\n".encode("latin-1"), r"docs/method\.md: no text in UTF-8 \(byte 3\); save it as UTF-8"),
]  # fmt: skip
"""Files that pages are made of, and what is wrong with them: `harness validate` says so before anything is trained."""
ATTACK, FORMULA = ("{kind: logloss}", "{kind: sure}"), ("{formula: humphries}", "{formula: sure}")
PLUGINS = [
    (ATTACK, "{mine: [sure]}", "unknown kind 'sure'; known: .*; the package mine, which adds it, is not installed: pip install mine$"),
    (FORMULA, "{mine: [sure]}", "unknown formula 'sure'.*; the package mine, which adds it, is not installed: pip install mine$"),
    (ATTACK, "{numpy: [sure]}", r"the package numpy [0-9.]+, which adds it by params.yaml, is installed and does not add it$"),
    (ATTACK, "{mine: [other]}", "attacks.logloss: unknown kind 'sure'; known: [a-z, -]*$"),
    (ATTACK, "[mine]", "attacks.logloss: unknown kind 'sure'; known: [a-z, -]*$"),
]  # fmt: skip
"""What of `SMALL_SPEC` is replaced, `plugins` of params.yaml, and what is said."""
VERDICTS = [
    ("", "verdicts.json: not a verdict file: Invalid JSON: .*; `harness judge mine.yaml` writes it anew"),
    ("[]", "verdicts.json: not a verdict file: Input should be an object"),
    ('{"profile": "own", "alpha": 0.05, "verdicts": []}', "mine: no claim 'counts'; it has none that is judged"),
]


def cases() -> Iterator[Case]:
    """All of them."""
    yield from functions()
    second = text("specs/own/second.yaml", SMALL_SPEC)
    for command, says in OPTIONS:
        yield Case(f"options: {command}", command, says, 2, both(second, link("loop", "loop")))
    for name, says in NAMES:
        yield Case(f"a name: {name[:30]}", f"validate {name}", says)
    for what, arrange, says in SPECS:
        yield Case(f"a spec that is {what}", "validate x.yaml", says, 2, arrange)
    for name in ("a#b.yaml", "specs/own/a#b.yaml"):
        yield Case(f"a spec called {name}", f"validate '{name}'", rf"{name}: '#' in its name; it parts a spec from its claim", 2, text(name, SMALL_SPEC))  # fmt: skip
    for value in (".nan", "-.inf"):
        constant = SMALL_SPEC.replace("right: {formula: humphries}", f"right: {{value: {value}}}")
        yield Case(f"a constant of {value}", "validate x.yaml", rf"x\.yaml:26: claims\.1\.expect\.right\.value: input should be .*, found {value[:2].replace('.', '')}", 2, text("x.yaml", constant))  # fmt: skip
    factor = SMALL_SPEC.replace("right: {formula: humphries}", "right: {formula: humphries, times: .inf}")
    yield Case("a factor of .inf", "validate x.yaml", r"x\.yaml:26: claims\.1\.expect\.right\.times: input should be", 2, text("x.yaml", factor))  # fmt: skip
    hashed = SMALL_SPEC.replace("path: cancer.csv", 'path: "my #1.csv"')
    yield Case("a table called by a number", "validate x.yaml", "1 specs are valid", 0, both(text("x.yaml", hashed), lambda root: write_cancer(root / "my #1.csv")))  # fmt: skip
    for what, name, content in GOOD_SPECS:
        yield Case(f"a spec with {what}", f"validate {shlex.quote(name)}", "1 specs are valid", 0, text(name, content))
    same = both(text("a/q.yaml", SMALL_SPEC), text("b/q.yaml", SMALL_SPEC))
    yield Case(
        "two specs of one name", "validate a/q.yaml b/q.yaml", r"b/q\.yaml: has the name of .*a/q\.yaml", 2, same
    )
    for content, says in PROFILES:
        yield Case(f"profiles: {content!r}", "plan own/cancer", says, 2, text("params.yaml", content))
    for content, says in PROFILE_NAMES:
        params = text("params.yaml", f"profile: full\nprofiles: {{full: {content}}}\n")
        yield Case(f"names in a profile: {content}", "validate", says, 2, params)
    for content, says in BASELINES:
        yield Case(f"a baseline: {content!r}", "compare mine.yaml", says, 2, text("reports/own/mine/baseline.json", content))  # fmt: skip
    for content, says in VERDICTS:
        yield Case(f"verdicts: {content!r}", "explain mine.yaml#counts", says, 2, text("reports/own/mine/verdicts.json", content))  # fmt: skip
    for what, name, written, says in PAGE_INPUTS:
        yield Case(f"pages: {what}", "validate", says, 2, text(name, written))
        yield Case(f"pages of a run: {what}", "run own/cancer -q", says, 2, text(name, written))
    for number, (using, plugins, says) in enumerate(PLUGINS):
        spec = text("specs/own/cancer.yaml", SMALL_SPEC.replace(*using))
        params = text("params.yaml", f"{PARAMS}plugins: {plugins}\n")
        yield Case(f"plug-ins, {number}: {plugins}", "validate", says, 2, both(spec, params))
    table = "reports/own/mine/measurements.parquet"
    yield Case("a table that is none", "judge mine.yaml", "measurements.parquet: damaged, not a readable Parquet", 2, text(table, "x"))  # fmt: skip
    yield Case("citations that are a list", "site", "papers.yaml:1: a mapping of fields is expected", 2, text("specs/papers.yaml", "- x\n"))  # fmt: skip
    yield Case("a store that is a file", "store verify", "HARNESS_STORE: params.yaml is a file; name a folder", 2, environment=(("HARNESS_STORE", "params.yaml"),))  # fmt: skip
    yield Case("a shared store that is empty", "store pull shared", r"^0 pieces pulled \(0\.0 MB\), shared is empty$", 0, folder("shared"))  # fmt: skip
    yield Case("an own store that is empty", "store push shared", r"^0 pieces pushed \(0\.0 MB\), shared was empty$", 0, folder("shared"))  # fmt: skip
    yield Case("an empty HARNESS_STORE", "store verify", "0 pieces checked, 0 damaged", 0, environment=(("HARNESS_STORE", ""),))  # fmt: skip
    yield Case("no specs", "list", "spec", 0, lambda root: shutil.rmtree(root / "specs/own"))


def CHECKED(root: Path) -> None:
    """The own spec, judged without measurements."""
    assert run_cli(root, "judge", "mine.yaml").returncode == 0


CASES = list(cases())
NOWHERE = {"MLFLOW_TRACKING_URI": "sqlite:////dev/null/mlflow.db"}
"""Where runs are logged: no case gets so far."""


def test_there_are_many_cases_and_each_has_a_name() -> None:
    assert len(CASES) >= 80
    assert len({case.what for case in CASES}) == len(CASES)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "cancer.csv"
    write_cancer(path)
    return path


@pytest.fixture
def project(tmp_path: Path, table: Path) -> Path:
    root = tmp_path / "project"
    text("specs/own/cancer.yaml", SMALL_SPEC)(root)
    text("mine.yaml", SMALL_SPEC)(root)
    text("params.yaml", PARAMS)(root)
    shutil.copy(REPO / "specs/papers.yaml", root / "specs")
    shutil.copy(table, root)
    return root


def files(root: Path) -> set[str]:
    """All there are, but for whole results in the store: it is a cache."""
    result = {p.relative_to(root).as_posix() for p in root.rglob("*")}
    return {name for name in result if not re.fullmatch(r"\.harness(/[a-z0-9]+)*(\.npz)?", name)}


def strict(document: str) -> Any:
    """One document of strict JSON. Raises ValueError for more, for less, and for NaN."""

    def refuse(name: str) -> float:
        raise ValueError(name)

    return json.loads(document, parse_constant=refuse)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what[:60])
def test_what_is_brought(case: Case, project: Path) -> None:
    case.arrange(project)
    before = files(project)
    ran = run_cli(project, *shlex.split(case.command), **NOWHERE, **dict(case.environment))
    assert ran.returncode == case.code, ran.stderr
    if case.code == 2:
        (line,) = ran.stderr.splitlines()
        assert line.startswith("harness: ")
        assert re.search(case.says, line), line
    else:
        assert re.search(case.says, ran.stdout), ran.stdout
        assert "Traceback" not in ran.stderr
    if "--json" in shlex.split(case.command):
        assert isinstance(strict(ran.stdout), dict)
    elif case.code == 2:
        assert not ran.stdout
    assert files(project) == before


def test_an_own_function_may_write_into_its_records(project: Path) -> None:
    """What it is given is its own: a run with overwritten records leaves the next one's as they are."""
    body = "return [features.T @ np.eye(2)[labels] / 64 + w * 1e-3]"
    function(body)(project)
    clean = strict(run_cli(project, *shlex.split(AUDIT)).stdout)
    function(body.replace("return [", "found = [") + "\nfeatures[:] = 7\nlabels[:] = 0\nreturn found")(project)
    again = strict(run_cli(project, *shlex.split(AUDIT)).stdout)
    assert again == clean
    assert max(bound["epsilon"] for bound in again["bounds"] if bound["epsilon"] != "Infinity") > 0


@pytest.mark.integration
def test_classes_and_functions_of_an_own_file_reach_other_processes(project: Path) -> None:
    """Sent by their names: the module is one that another process can import."""
    top = (
        "from concurrent.futures import ProcessPoolExecutor\nfrom multiprocessing import get_context\n"
        "from helper import Box\n\ndef work(box):\n    return Box(box.value + 1)\n"
    )
    body = (
        "if seed and not POOL: POOL.append(ProcessPoolExecutor(1, mp_context=get_context('spawn')))\n"
        "box = POOL[0].submit(work, Box(w)).result()\nassert type(box) is Box\nreturn [box.value - 1]"
    )
    text("helper.py", "class Box:\n    def __init__(self, value): self.value = value\n")(project)
    function(body, f"{top}POOL = []\n")(project)
    ran = run_cli(project, *shlex.split(AUDIT))
    assert ran.returncode == 0, ran.stderr
    function("return [w]")(project)
    assert strict(ran.stdout)["bounds"] == strict(run_cli(project, *shlex.split(AUDIT)).stdout)["bounds"]


@pytest.mark.integration
def test_what_an_own_function_prints_is_on_standard_error(project: Path) -> None:
    """Printed by Python, by C before and after, by a process, by a file that is loaded, and by a plug-in of Python."""
    top = "import ctypes\nC = ctypes.CDLL(None)\nprint('loaded')\n"
    body = "print('python')\nC.printf(b'libc\\n')\nos.system('echo shell')\nos.write(1, b'raw\\n')\nreturn [w]"
    function(body, top)(project)
    for more in ([], ["--json"]):
        ran = run_process(project, *shlex.split(AUDIT)[:-1], *more)
        assert ran.returncode == 0, ran.stderr
        words = {"loaded", "python", "libc", "shell", "raw"}
        assert words <= set(ran.stderr.split())
        assert not words & set(ran.stdout.split())
    assert strict(ran.stdout)["runs"] == 8


def test_the_traceback_can_be_had(project: Path) -> None:
    function("raise ValueError('deep')", "def f(): pass\n")(project)
    ran = run_cli(project, *shlex.split(AUDIT), HARNESS_TRACEBACK="1")
    assert ran.returncode == 2
    assert "Traceback (most recent call last)" in ran.stderr
    assert "raise ValueError('deep')" in ran.stderr
    assert ran.stderr.splitlines()[-1].startswith("harness: audit: f.py:train: run 1: ")


def commands(command: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command there is, with the words that name it."""
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from commands(below, (*names, name))
    else:
        yield names, command


WITH_JSON = [
    " ".join(names)
    for names, command in commands(whole_program())
    if any("--json" in parameter.opts for parameter in command.params)
]
ARGUMENTS = {
    "accountants": "--epsilon 1 --n 1 --batch-size 1 --epochs 1",
    "audit": "f.py:train --epsilon 1 --runs 8 -q",
    "data status": "adult",
    "survey": "cancer.csv --label target --list -q -o surveyed.yaml",
    "explain": "mine.yaml#counts",
    "alternatives": "mine.yaml --plan -q",
    "store push": "shared -q",
    "store pull": "shared -q",
    "compare": "mine.yaml -q",
    "what-is-in": "cancer.csv",
}
"""What a command needs besides `--json`; those that are not here need nothing."""


@pytest.mark.parametrize("command", WITH_JSON)
def test_every_command_with_json_prints_one_strict_document(command: str, project: Path) -> None:
    """Where all is well, where it exits with 1, and where what is given is wrong; a new command is tried too."""
    readings = "ambiguities:\n  - {choice: rate, chosen: 0.05, why: none, field: experiment.training.learning_rate, alternatives: [0.1]}\n"
    (project / "mine.yaml").write_text(SMALL_SPEC + readings)
    CHECKED(project)
    assert run_cli(project, "compare", "mine.yaml", "--update").returncode == 0
    folder("shared")(project)
    function("return [w]")(project)
    typed = [*command.split(), *shlex.split(ARGUMENTS.get(command, "")), "--json"]
    ran = run_cli(project, *typed)
    assert ran.returncode in (0, 1), ran.stderr
    strict(ran.stdout)
    for wrong in (["--nope"], ["nope", "nope", "nope"]):
        failed = run_cli(project, *typed, *wrong)
        assert failed.returncode == 2 or (command == "store gc" and failed.returncode == 0), failed.stdout
        lines = [line.removeprefix("harness: ") for line in failed.stderr.splitlines()]
        assert strict(failed.stdout) == {"errors": lines}


OF_MODEL = "audit f.py:train --members in.csv --nonmembers out.csv --label target"
SURVEYED = "survey cancer.csv --label target --list -o surveyed.yaml"
NUMBERS = {
    "run --workers": "run mine.yaml",
    "run --max-repeats": "run mine.yaml --until-decided",
    "run --minutes": "run mine.yaml",
    "judge --workers": "judge mine.yaml",
    "judge --max-bytes": "judge --bundle x.zip",
    "compare --workers": "compare mine.yaml",
    "compare --tolerance": "compare mine.yaml --update",
    "alternatives --workers": "alternatives mine.yaml --plan",
    "alternatives --minutes": "alternatives mine.yaml --plan",
    "accountants --n": "accountants",
    "accountants --batch-size": "accountants",
    "accountants --epochs": "accountants",
    "accountants --delta": "accountants",
    "accountants --epsilon": "accountants",
    "accountants --advantage": "accountants",
    "accountants --tpr": "accountants --at-fpr 0.01",
    "accountants --at-fpr": "accountants --tpr 0.1",
    **{f"audit {name}": "audit fast" for name in ("--epsilon", "--delta", "--runs", "--hidden", "--level")},
    **{f"audit {name}": "audit fast" for name in ("--records", "--batch-size", "--epochs", "--seed")},
    **{f"audit {name}": OF_MODEL for name in ("--models", "--fpr", "--fail-above")},
    **{f"survey {name}": SURVEYED for name in ("--members", "--epsilon", "--delta", "--ranges", "--clusters")},
    **{f"survey {name}": SURVEYED for name in ("--repeats", "--seed", "--least-shown", "--minutes", "--workers")},
}
"""By command and option that takes a number: a command line that the option goes with."""
SENSELESS = ("nan", "inf", "-inf", "-1", "1e300", "9" * 30, "9" * 5000)
OR_INFINITE = ("accountants --epsilon", "survey --epsilon")
"""Infinity, however it is written, stands for no noise here."""


def test_every_option_that_takes_a_number_is_tried() -> None:
    takes_number = {
        f"{' '.join(names)} {parameter.opts[0]}"
        for names, command in commands(whole_program())
        for parameter in command.params
        if re.search(r"\b(int|float)\b", str(parameter.type_descriptor.annotation))
    }
    assert takes_number == set(NUMBERS)


@pytest.mark.parametrize("option", NUMBERS)
def test_a_number_without_sense_is_one_line_that_names_the_option(option: str, project: Path) -> None:
    function("return [w]")(project)
    before = files(project)
    for value in SENSELESS:
        if not (option in OR_INFINITE and float(value) == math.inf):
            ran = run_cli(project, *NUMBERS[option].split(), f"{option.split()[1]}={value}", **NOWHERE)
            assert (ran.returncode, ran.stdout) == (2, ""), value[:40]
            (line,) = ran.stderr.splitlines()
            assert line.startswith("harness: ")
            assert option.split()[1] in line
            assert len(line) < 300, "a value is not repeated however long it is"
    assert files(project) == before


def test_a_difference_from_the_baseline_is_one_document_too(project: Path) -> None:
    CHECKED(project)
    assert run_cli(project, "compare", "mine.yaml", "--update").returncode == 0
    (project / "mine.yaml").write_text(SMALL_SPEC.replace("seed: 7", "seed: 8"))
    ran = run_cli(project, "compare", "mine.yaml", "--json")
    assert ran.returncode == 1
    assert [d["where"] for d in strict(ran.stdout)["differences"]] == ["mine"]


def test_infinities_are_text_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    from harness.commands.common import print_json

    print_json({"a": math.inf, "b": [-math.inf, math.nan], 3: np.float32(0.5), "d": np.int64(2), "e": Path("x")})
    assert strict(capsys.readouterr().out) == {"a": "Infinity", "b": ["-Infinity", "NaN"], "3": 0.5, "d": 2, "e": "x"}


def test_every_command_that_a_message_names_is_one() -> None:
    """In backticks, anywhere in the code: the command and each of its options are there."""
    faults = {}
    for path in sorted((REPO / "harness").rglob("*.py")):
        result = [line for line in re.findall(r"`(harness [^`]+)`", path.read_text()) if "{" not in line.split()[1]]
        faults |= {f"{path.name}: {line}": fault for line in result if (fault := faults_of_commands(line))}
    assert not faults


def test_what_is_typed_as_a_message_says_works(project: Path) -> None:
    """From the verdicts of a spec that was not run to measurements, in a folder below, with a name that needs quoting."""
    here = project / "my specs"
    here.mkdir()
    path = here / "sp ace é.yaml"
    path.write_text(SMALL_SPEC)

    def said(*arguments: str, code: int) -> list[str]:
        ran = run_cli(here, *arguments)
        assert ran.returncode == code, ran.stderr
        return shlex.split(re.search(r"`(harness [^`]+)`", " ".join((ran.stdout + ran.stderr).split()))[1])  # type: ignore[index]

    check = said("explain", f"{path.name}#counts", code=2)
    assert check == ["harness", "judge", path.name]
    assert run_cli(here, *check[1:]).returncode == 0
    run = said("explain", f"{path.name}#counts", code=0)
    assert run == ["harness", "run", path.name]
    goes_on = said("run", path.name, "--partial", "-q", code=2)
    assert goes_on == run
    accept = said("compare", path.name, code=2)
    assert run_cli(here, *accept[1:]).returncode == 0
    assert run_cli(here, "compare", path.name).returncode == 0
    of_profile = said("explain", "own/cancer#counts", "--profile", "one", code=2)
    assert of_profile == ["harness", "judge", "--profile", "one", "own/cancer"]
    assert run_cli(here, *of_profile[1:]).returncode == 0
