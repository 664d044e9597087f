"""Specs: everything wrong is one line with file, line and field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.claims import verdict
from harness.errors import HarnessError
from harness.paths import Project
from harness.report import feed
from harness.spec.document import load_document
from harness.spec.load import load_spec, load_specs, resolve_names, spec_paths
from harness.spec.schema import json_schema, schema_text
from tests.conftest import REPO, SMALL_SPEC, committed_specs

Make = Callable[..., Project]
CASES = [
    ("delta: 1.0e-3", "delta: 1.5", "experiment.privacy.delta", "less than 1"),
    ("delta: 1.0e-3", "delta: true", "experiment.privacy.delta", "valid number"),
    ("repeats: 2", "repeats: true", "experiment.repeats", "valid number"),
    ("epochs: 3", "epochs: true", "experiment.training.epochs", "valid number"),
    ("seed: 7", "seed: false", "experiment.seed", "valid number"),
    ("learning_rate: 0.05", "learning_rate: true", "experiment.training.learning_rate", "valid number"),
    ("epsilons: [1, 10, .inf]", "epsilons: [true, 10]", "experiment.privacy.epsilons", "valid number"),
    ("members: 120,", "members: true,", "experiment.sizes.members", "valid number"),
    ("right: {formula: humphries}", "right: {value: true}", "claims", "valid number"),
    ("equals: {rows: 569", "equals: {rows: true", "claims", "valid number"),
    ("{kind: logistic}", "{kind: mlp, hidden: [true]}", "experiment.model", "valid number"),
    ("delta: 1.0e-3", "delta: 0", "experiment.privacy.delta", "greater than 0"),
    ("epsilons: [1, 10, .inf]", "epsilons: []", "experiment.privacy.epsilons", "at least 1"),
    ("epsilons: [1, 10, .inf]", "epsilons: [1, 0]", "experiment.privacy.epsilons", "above 0"),
    ("epsilons: [1, 10, .inf]", "epsilons: [-1]", "experiment.privacy.epsilons", "above 0"),
    ("epsilons: [1, 10, .inf]", "epsilons: [.nan]", "experiment.privacy.epsilons", "above 0"),
    ("epsilons: [1, 10, .inf]", "epsilons: [1, 1]", "experiment.privacy.epsilons", "twice"),
    (
        "kind: csv",
        "kind: adlut",
        "experiment.dataset",
        "unknown kind 'adlut'; known: adult, ch-mnist, ch-mnist-substitute, cifar10",
    ),
    (
        "{kind: logloss}",
        "{kind: loglos}",
        "attacks.logloss",
        "unknown kind 'loglos'; known: attribute-inference, blind, boundary, gap, gradient-norm",
    ),
    ("{kind: random}", "{kind: randon}", "split", "unknown kind 'randon'"),
    ("{kind: random}", "{}", "split", "field 'kind' is missing"),
    ("formula: humphries", "formula: humphreys", "claims", "unknown formula 'humphreys'; did you mean humphries"),
    ("{formula: humphries}", "{bound: humphries}", "claims", "unknown field; known: "),
    ("split: {kind: random}", "accountant: naive", "accountant", "unknown field; known: "),
    ("repeats: 2", "repeat: 2", "experiment.repeat", "did you mean 'repeats'?"),
    ("learning_rate: 0.05", "learnin_rate: 0.05", "experiment.training.learnin_rate", "did you mean 'learning_rate'?"),
    ("scaling: standard", "scaling: standart", "experiment.preprocessing.scaling", "'min-max', 'standard'"),
    ("batch_size: 20", "batch_size: 121", "experiment", "larger than sizes.members (120)"),
    ("members: 120,", "members: 0,", "experiment.sizes.members", "greater than 0"),
    ("members: 120,", "members: many,", "experiment.sizes.members", "valid integer"),
    (
        "engine: fast",
        "engine: torch",
        "experiment",
        "unknown engine 'torch'; known: fast, function, tf-privacy, tf-privacy-common-noise",
    ),
    ("arm: size, attack", "arm: sise, attack", "claims", "unknown arm 'sise'; did you mean 'size'?"),
    ("{metric: advantage, arm: size", "{metric: advantges, arm: size", "spec", "unknown metric 'advantges'"),
    ('relation: ">", right', 'relation: "=>", right', "claims.0.expect", "'<', '<=', '>' or '>='"),
    ("title: Breast", "tittle: Breast", "tittle", "did you mean 'title'?"),
    ("paper: own\n", "", "paper", "is missing"),
    ("{kind: random}", "{kind: joint}", "experiment", "does not work on dataset 'csv'"),
    ("{kind: logloss}", "{kind: shokri}", "spec", "needs the pool 'shadows'"),
    ("id: counts", "id: iid-held", "spec", "declared twice"),
]


def test_a_claim_without_finite_epsilons_says_where_it_is_made(make_project: Make) -> None:
    """It would take the finite ones, find none, and never be run."""
    project = make_project(SMALL_SPEC.replace("epsilons: [1, 10, .inf]", "epsilons: [.inf]"))
    with pytest.raises(
        HarnessError, match=r"cancer.yaml:22: claims.0.expect: .* arm 'size' has none; add at: \[.inf\]"
    ):
        load_specs(project, [])


@pytest.mark.parametrize(("old", "new", "field", "message"), CASES, ids=[f"{c[1][:30]}" for c in CASES])
def test_every_fault_names_file_line_and_field(
    make_project: Make, old: str, new: str, field: str, message: str
) -> None:
    assert old in SMALL_SPEC
    text = SMALL_SPEC.replace(old, new, 1)
    project = make_project(text)
    path = project.specs / "own" / "cancer.yaml"
    with pytest.raises(HarnessError) as caught:
        load_spec(project, path)
    lines = str(caught.value).splitlines()
    hits = [line for line in lines if message in line]
    assert hits, lines
    result = re.match(r"(?P<file>.*cancer\.yaml):(?P<line>\d+): (?P<field>[^:]+): ", hits[0])
    assert result, hits[0]
    whole = ("spec", "experiment")
    assert field in result["field"] or (field == "spec" and result["field"].startswith("claims."))
    if result["field"] not in whole and "declared twice" not in message and new:
        wrong = next(n for n, line in enumerate(text.splitlines(), 1) if new.split("\n")[0] in line)
        assert abs(int(result["line"]) - wrong) <= 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("paper: [own\n", "not valid YAML"),
        ("paper: own\npaper: twice\n", "duplicate key"),
        ("- a list\n", "a mapping of fields is expected"),
        ("", "a mapping of fields is expected"),
        ("paper: !!python/object/apply:os.system ['true']\n", "cancer.yaml:1"),
        ("extends: nowhere.yaml\n", "no such file"),
        ("extends: cancer.yaml\n", "a cycle"),
        ("extends: [a]\n", "a file name is expected"),
    ],
)
def test_broken_documents(make_project: Make, text: str, message: str) -> None:
    project = make_project(text)
    with pytest.raises(HarnessError, match=re.escape(message)):
        load_spec(project, project.specs / "own" / "cancer.yaml")


def test_a_list_of_claims_does_not_take_the_place_of_those_that_are_inherited(make_project: Make) -> None:
    """Nothing is lost without a word; a mapping by id adds, and null takes one away."""
    project = make_project()
    child = project.specs / "own" / "child.yaml"
    text = "extends: cancer.yaml\ntitle: Child\nclaims:\n"
    child.write_text(
        text + "  - {id: more, where: w, statement: s, expect: {kind: count, arm: iid, equals: {rows: 569}}}\n"
    )
    message = r"child.yaml:3: claims: .* of cancer.yaml; write those of this and cancer.yaml as a mapping by id"
    with pytest.raises(HarnessError, match=message):
        load_specs(project, ["own/child"])
    (project.specs / "own" / "base.yaml").write_text(
        SMALL_SPEC.partition("claims:")[0]
        + "claims:\n  some: &c {where: w, statement: s, expect: {kind: count, arm: iid, equals: {rows: 569}}}\n  other: *c\n"
    )
    child.write_text(
        text.replace("cancer", "base")
        + "  more: {where: w, statement: s, expect: {kind: count, arm: iid, equals: {rows: 569}}}\n  other: null\n"
    )
    (loaded,) = load_specs(project, ["own/child"])
    assert [claim.id for claim in loaded.spec.claims] == ["some", "more"]


def test_extends_merges_replaces_removes_and_keeps_line_numbers(make_project: Make) -> None:
    project = make_project(re.sub(r"(?m)^  - id: (.*)$", r"  \1:", SMALL_SPEC))
    child = project.specs / "own" / "child.yaml"
    child.write_text(
        "extends: cancer.yaml\ntitle: Child\nexperiment:\n  repeats: 3\n  model: {kind: mlp, hidden: [4]}\n"
        "  arms:\n    size: null\nclaims:\n  biased-beats-iid: null\n  counts:\n    statement: s\n"
        "    expect: {kind: count, arm: iid, equals: {rows: 569}}\n"
    )
    spec = load_spec(project, child).spec
    assert spec.experiment is not None
    assert (spec.title, spec.experiment.repeats, list(spec.experiment.arms)) == ("Child", 3, ["iid"])
    assert spec.experiment.arms["iid"].model.model_dump()["hidden"] == (4,)
    assert [(claim.id, claim.statement) for claim in spec.claims] == [
        ("iid-held", "The bound holds on the random split."),
        ("counts", "s"),
    ]
    document = load_document(child)
    assert document.place(("experiment", "repeats")) == (child.resolve(), 4)
    assert document.place(("experiment", "seed"))[0].name == "cancer.yaml"


def test_the_choice_of_an_ambiguity_must_agree_with_the_field(make_project: Make) -> None:
    extra = "ambiguities:\n  - choice: scaling\n    field: experiment.preprocessing.scaling\n    chosen: none\n    why: unsaid\n"
    project = make_project(SMALL_SPEC + extra)
    with pytest.raises(HarnessError, match=r"ambiguities.chosen: says 'none' but .* is 'standard'"):
        load_specs(project, [])


def test_hash_follows_content_not_layout(make_project: Make) -> None:
    one = load_specs(make_project(), [])[0]
    again = load_specs(make_project("# a remark\n" + SMALL_SPEC.replace("repeats: 2", "repeats:   2"), where="b"), [])[
        0
    ]
    other = load_specs(make_project(SMALL_SPEC.replace("repeats: 2", "repeats: 3"), where="c"), [])[0]
    assert one.sha256 == again.sha256 != other.sha256


def test_names_resolve_and_a_wrong_one_gets_a_suggestion(make_project: Make) -> None:
    project = make_project()
    assert resolve_names(project, ["own"]) == resolve_names(project, ["own/cancer"]) == spec_paths(project)
    with pytest.raises(HarnessError, match="did you mean own/cancer"):
        resolve_names(project, ["own/cancr"])


def test_committed_specs_load_and_match_the_committed_schema() -> None:
    project = Project(REPO)
    assert (REPO / "specs" / "schema.json").read_text() == schema_text()
    assert (REPO / "reports" / "verdicts.schema.json").read_text() == verdict.schema_text()
    assert (REPO / "reports" / "feed.schema.json").read_text() == feed.schema_text()
    validator = jsonschema.Draft202012Validator(json_schema())
    loaded = load_specs(project, [])
    assert {one.spec.id.split("/")[0] for one in loaded} >= {"humphries2020"}
    for one in loaded:
        data = json.loads(json.dumps(load_document(one.document.files[0]).data))
        assert list(validator.iter_errors(data)) == [], one.spec.id


def test_schema_refuses_an_unknown_field() -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    assert not validator.is_valid({"paper": "own", "tittle": "x"})


def test_every_training_claim_of_the_figures_is_declared() -> None:
    """The catalogue's claims of humphries2020 that need training, and Figure 1's theory."""
    wanted = {
        "h-yeom-bound",
        "h-erlingsson-bound",
        "h-tight-bound",
        "h-bound-ordering",
        "h-bound-gap",
        "h-bound-regimes",
        "h-fig2-counts",
        "h-fig2-biased-beats-iid",
        "h-fig2-modest",
        "h-fig2-breaks-bound",
        "h-fig2-iid-held",
        "h-fig2-train-test-close",
        "h-fig3-breaks-bound",
        "h-fig3-high-adv",
        "h-fig3-beats-education",
        "h-fig3-beats-iid",
        "h-fig3-accuracy-gap",
        "h-fig3-noise-kills",
        "h-fig3-sizes",
        "h-fig4-counts",
        "h-fig4-breaks-bound",
        "h-fig4-beats-iid",
        "h-fig6-adv",
        "h-fig6-breaks-bound",
        "h-fig6-cap",
        "h-fig6-shadow-higher",
    }
    declared = {c for one in committed_specs() for claim in one.spec.claims for c in claim.catalogue}
    assert wanted <= declared


LINES = SMALL_SPEC.splitlines()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(LINES) - 1), st.sampled_from(["", "x: 1", "  - 3", "{", "a: [", "null", "\t- b", "!!int x"]))
def test_any_mutated_line_is_fine_or_one_clear_error(tmp_path: Path, index: int, text: str) -> None:
    root = tmp_path / "mutant"
    path = root / "specs" / "own" / "m.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*LINES[:index], text, *LINES[index + 1 :]]) + "\n")
    try:
        load_spec(Project(root), path)
    except HarnessError as error:
        assert all(re.match(r".*m\.yaml:\d+: ", line) for line in str(error).splitlines())


def test_what_is_hashed_has_the_names_of_version_1(make_project: Make) -> None:
    """Of keys and of kinds of claims, whatever specs call them (docs/identity.md)."""
    text = SMALL_SPEC.replace("  repeats: 2", "  repeats: 2\n  resample: split").replace(
        'expect: {kind: compare, left: {metric: advantage, arm: size, attack: logloss}, relation: ">", right: {metric: advantage, arm: iid, attack: logloss}}',
        "expect: {kind: interior-peak, of: {metric: advantage, arm: size, attack: logloss}, along: epsilon}",
    )
    content = load_specs(make_project(text), [])[0].spec.content()
    assert {"twins", "keep_twins"} <= content["experiment"]["arms"]["size"]["split"].keys()
    assert ("redraw" in content["experiment"], "unstated" in content) == (True, True)
    assert content["claims"][0]["expect"][0]["kind"] == "hump"
