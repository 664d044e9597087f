"""The flagship's own pipeline under real DVC: what is committed, what a clone finds, and what an edit measures."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.attacks import ScoringAttack
from harness.attacks.attack import by_rule
from harness.data.fetch import MissingData
from harness.execution.executor import OutOfTime, WorkerPool
from harness.execution.table import axes_of, read_table
from harness.metrics import METRICS
from harness.paths import Project
from harness.pipeline.compute import attack, worker_pool_of
from harness.pipeline.context import Context
from harness.pipeline.tables import DIGITS, advantages
from harness.progress import Progress
from harness.spec.load import Loaded, load_specs
from harness.spec.profile import choose, load_params
from tests.conftest import REPO, SMALL_SPEC, committed_specs, run_cli, write_cancer
from tests.dvc_runs import dvc, edit, reproduce, stages_run, stale, trained

PARAMS = """\
profile: full
flagship: whole
profiles:
  full: {repeats: 1}
  whole: {design: sequential, from_tables: true}
"""
ROC = """\
figure:
  - {title: ROC, curve: roc, attacks: [logloss], arms: [iid], at: {epsilon: .inf}}
"""
SPECS = ("own/cancer", "own/other")
FAR_BY_RULE = {
    "humphries2020/blind": {"quantile"},
    "humphries2020/fig3": {"shokri"},
    "jayaraman2019/l2-nn-purchase100": {"logloss"},
    "jayaraman2019/nn-purchase100": {"logloss"},
}
"""Attacks by spec whose published rule has somewhere less than half of the largest advantage, at an AUC above 0.6, and
which stand there a second time with the threshold of a rehearsal; why is in docs/statistics.md."""

PAPERS_WITHOUT_THRESHOLDS = {"rahimian2021"}
"""Papers that choose none: attacks of theirs have an AUC and no advantage, but where a rehearsal gives a threshold."""


def git(root: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    return subprocess.run(["git", *who, *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


def repro(root: Path) -> list[str]:
    return reproduce(root, "flagship/dvc.yaml")


def measure(context: Context, loaded: Loaded) -> None:
    with worker_pool_of(context) as worker_pool:
        attack(context, [context.resolve(loaded)], worker_pool)


def measured(root: Path, spec: str) -> pd.DataFrame:
    return pd.read_parquet(root / "reports" / "whole" / spec / "measurements.parquet")


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose flagship was run and committed."""
    root = tmp_path_factory.mktemp("origin")
    shutil.copytree(REPO / "harness", root / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "specs" / "own").mkdir(parents=True)
    shutil.copy(REPO / "specs" / "papers.yaml", root / "specs")
    shutil.copy(REPO / ".dvcignore", root)
    (root / "specs" / "own" / "cancer.yaml").write_text(SMALL_SPEC.replace("repeats: 2", "repeats: 6"))
    (root / "specs" / "own" / "other.yaml").write_text(SMALL_SPEC.replace("seed: 7", "seed: 8") + ROC)
    (root / "params.yaml").write_text(PARAMS)
    (root / ".gitignore").write_text("/.harness\n/mlflow.db*\n/models\n/data\n__pycache__\n/reports/full\n")
    write_cancer(root / "cancer.csv")
    assert run_cli(root, "pipeline").returncode == 0
    git(root, "init", "-q")
    shutil.copytree(REPO / ".dvc", root / ".dvc", ignore=lambda folder, names: set(names) - {"config", ".gitignore"})
    ran = repro(root)
    assert sorted(ran) == sorted(
        ["resolve", "report", *(f"{stage}@{s}" for stage in ("measure", "readings", "judge") for s in SPECS)]
    )
    git(root, "add", "-A")
    git(root, "commit", "-qm", "run")
    return root


@pytest.fixture
def clone(origin: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", str(origin), "clone")
    return tmp_path / "clone"


def test_a_clone_finds_everything_done(clone: Path) -> None:
    assert "up to date" in dvc(clone, "status", "flagship/dvc.yaml")
    assert repro(clone) == []
    assert not (clone / ".harness").exists()
    plan = run_cli(clone, "plan", "--profile", "whole", "--json", "own/other")
    (row,) = json.loads(plan.stdout)["specs"]
    assert (row["pieces"], row["missing"]) == (0, 0)  # two repeats of two are all there


def test_an_edited_claim_runs_its_check_and_the_report_alone(clone: Path) -> None:
    edit(clone, "specs/own/cancer.yaml", "rows: 569", "rows: 570")
    assert repro(clone) == ["resolve", "readings@own/cancer", "judge@own/cancer", "report"]
    assert "Rows: 569; the claim says 570" in (clone / "reports/whole/summary.md").read_text()
    assert trained(clone) == set()


def test_an_edited_experiment_measures_its_own_news_alone(clone: Path) -> None:
    before = measured(clone, "own/cancer")
    edit(clone, "specs/own/cancer.yaml", "epsilons: [1, 10, .inf]", "epsilons: [1, 10, 20, .inf]")
    assert repro(clone) == ["resolve", "measure@own/cancer", "readings@own/cancer", "judge@own/cancer", "report"]
    table = measured(clone, "own/cancer")
    new = table[table["epsilon"] == 20]
    assert trained(clone) == {f"{key}.npz" for key in new[new["metric"] == "accuracy_test"]["cell"]}
    kept = ["arm", "epsilon", "repeat", "attack", "metric", "value", "stderr", "n", "work", "code"]
    same = table.merge(before, on=kept, how="inner")
    assert len(same) == len(before)


def test_a_changed_algorithm_keeps_what_was_measured_and_says_by_which_code(clone: Path) -> None:
    before = measured(clone, "own/cancer")
    source = clone / "harness" / "metrics" / "membership.py"
    source.write_text(source.read_text() + "\n\nUNUSED = 1\n")
    assert {f"measure@{spec}" for spec in SPECS} <= stale(clone, "flagship/dvc.yaml")
    # By the clone's own code, which is the changed one.
    ran = stages_run(clone, "flagship/dvc.yaml:judge@own/cancer")
    assert "measure@own/cancer" in ran
    assert trained(clone) == set()
    after = measured(clone, "own/cancer")
    assert set(after["code"]) == set(before["code"])
    pd.testing.assert_frame_equal(after, before)
    code = re.search(r"code (\w{12}) \(commit", (clone / "reports/whole/own/cancer/verdicts.json").read_text())
    assert code is not None
    assert code[1] in set(before["code"])


def test_more_repeats_than_the_table_has_are_all_that_is_trained(clone: Path) -> None:
    """The table of a clone is cut by one cell's last repeat: that model alone is trained."""
    path = clone / "reports" / "whole" / "own/cancer" / "measurements.parquet"
    table = pd.read_parquet(path)
    attrs = table.attrs
    last = table[(table["arm"] == "iid") & (table["epsilon"] == 1)]["repeat"].max()
    gone = (table["arm"] == "iid") & (table["epsilon"] == 1) & (table["repeat"] == last)
    cut = table[~gone].reset_index(drop=True)
    cut.attrs = attrs
    cut.to_parquet(path, index=False)
    assert run_cli(clone, "run", "--profile", "whole", "--quiet", "own/cancer").returncode == 0
    assert len(trained(clone)) == 1
    again = measured(clone, "own/cancer")
    pd.testing.assert_frame_equal(again.drop(columns="code"), table.drop(columns="code"))
    assert again.attrs["commits"].keys() == attrs["commits"].keys()


def test_what_another_spec_of_the_paper_measured_counts(clone: Path) -> None:
    """The same records, model and attack under other names of arms: nothing is trained, and its origin is told."""
    text = (clone / "specs/own/cancer.yaml").read_text()
    (clone / "specs/own/twin.yaml").write_text(text.replace("iid", "random"))
    assert run_cli(clone, "run", "--profile", "whole", "--quiet", "own/twin").returncode == 0
    assert not trained(clone)
    result, theirs = measured(clone, "own/twin"), measured(clone, "own/cancer")
    theirs["spec"], theirs["arm"] = "own/twin", theirs["arm"].replace("iid", "random")
    both = ["arm", "epsilon", "repeat", "attack", "metric", "value", "work", "code"]
    rows = [table[both].sort_values(both[:5]).reset_index(drop=True) for table in (result, theirs)]
    pd.testing.assert_frame_equal(*rows)
    assert result.attrs["commits"] == theirs.attrs["commits"]


def test_of_what_another_spec_measured_a_run_takes_what_it_asks_for(clone: Path) -> None:
    """A table follows from its own spec, however many repeats the paper's other tables have."""
    text = (clone / "specs/own/cancer.yaml").read_text()
    start, end = text.index("  - id: biased-beats-iid"), text.index("  - id: counts")
    (clone / "specs/own/twin.yaml").write_text(text[:start] + text[end:])
    assert run_cli(clone, "run", "--profile", "whole", "--quiet", "own/twin").returncode == 0
    assert not trained(clone)
    assert measured(clone, "own/cancer")["repeat"].nunique() > 2
    assert set(measured(clone, "own/twin")["repeat"]) == {0, 1}


def test_what_was_measured_stays_where_a_new_attack_needs_less(clone: Path) -> None:
    """Whatever a run until decided asks for first, a table never loses rows that it had."""
    before = measured(clone, "own/cancer")
    assert before["repeat"].nunique() > 2
    edit(
        clone,
        "specs/own/cancer.yaml",
        "logloss: {kind: logloss}",
        "logloss: {kind: logloss}\n  again: {kind: logloss, loss_of: float32-probabilities}",
    )
    assert run_cli(clone, "run", "--profile", "whole", "--quiet", "own/cancer").returncode == 0
    after = measured(clone, "own/cancer")
    same = ["arm", "epsilon", "repeat", "attack", "metric", "value", "stderr", "n", "work", "code"]
    assert len(after.merge(before, on=same)) == len(before)
    assert after[after["attack"] == "again"]["repeat"].nunique() == 2


def test_a_curve_is_kept_with_the_table_and_a_new_one_is_drawn_of_its_own_model(clone: Path) -> None:
    (kept,) = json.loads(measured(clone, "own/other").attrs["curves"]).values()
    (line,) = kept["lines"]
    assert (kept["arm"], kept["attack"], line[2][-1], line[3][-1]) == ("iid", "logloss", 1.0, 1.0)
    assert sorted(line[3]) == line[3]
    edit(
        clone,
        "specs/own/other.yaml",
        "figure:\n",
        "figure:\n  - {title: Losses, curve: losses, attacks: [logloss], arms: [iid], at: {epsilon: 1}}\n",
    )
    plan = run_cli(clone, "plan", "--profile", "whole", "--json", "own/other")
    assert json.loads(plan.stdout)["specs"][0]["missing"] > 0
    assert repro(clone) == ["resolve", "measure@own/other", "readings@own/other", "judge@own/other", "report"]
    assert len(trained(clone)) == 1
    both = json.loads(measured(clone, "own/other").attrs["curves"])
    assert kept in both.values()
    assert sorted(one["curve"] for one in both.values()) == ["losses", "roc"]
    page = (clone / "reports/whole/site/papers/own.html").read_text()
    assert "losses of members and of non-members" in page


def test_a_run_out_of_time_leaves_what_is_finished_in_its_table(
    origin: Path, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a round, and its store gone after it: the next run begins where the table ends."""
    loaded = next(one for one in load_specs(Project(clone), []) if one.spec.id == "own/cancer")
    path = clone / "reports" / "whole" / "own" / "cancer" / "measurements.parquet"
    path.unlink()
    name, profile = choose(load_params(Project(clone)), "whole")
    context = Context(Project(clone), name, profile, 1, Progress(quiet=True))
    with monkeypatch.context() as changed:
        evaluated = (clone / ".harness" / "store" / "evaluate").rglob
        changed.setattr(WorkerPool, "is_past_deadline", property(lambda _: len(list(evaluated("*.*"))) >= 7))
        with pytest.raises(OutOfTime):
            measure(context, loaded)
    left, whole = measured(clone, "own/cancer"), measured(origin, "own/cancer")
    keys = ["arm", "epsilon", "attack", "metric", "repeat"]
    rows = left.merge(whole, on=keys, suffixes=("", "_whole"))
    assert 0 < len(rows) == len(left) < len(whole)
    assert (rows["value"] == rows["value_whole"]).all()
    assert {"split", "train", "evaluate"} <= left.attrs["core_seconds"].keys()  # in tenths, which these may not reach
    shutil.rmtree(clone / ".harness")
    measure(context, loaded)
    again = measured(clone, "own/cancer")
    pd.testing.assert_frame_equal(again[[*keys, "value"]], whole[[*keys, "value"]])
    cell = ["arm", "epsilon", "repeat"]
    complete = [where for where, rows in left.groupby(cell) if len(rows) == len(whole.groupby(cell).get_group(where))]
    models = left[left["metric"] == "accuracy_test"].set_index(cell)["cell"]
    assert complete
    assert not trained(clone) & {f"{models[where]}.npz" for where in complete}


def test_a_run_without_its_data_leaves_the_table_as_it_is(clone: Path) -> None:
    path = clone / "reports" / "whole" / "own/cancer" / "measurements.parquet"
    before = path.read_bytes()
    (loaded,) = load_specs(Project(clone), ["own/cancer"])
    name, profile = choose(load_params(Project(clone)), "whole")

    def missing(*_: object) -> None:
        raise MissingData("not to be had")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.pipeline.compute.plan_of", missing)
        measure(Context(Project(clone), name, profile, 1, Progress(True)), loaded)
        assert path.read_bytes() == before
        path.unlink()
        measure(Context(Project(clone), name, profile, 1, Progress(True)), loaded)
    assert measured(clone, "own/cancer")["not_run_because"].tolist() == ["not to be had"]


def test_only_the_flagship_takes_what_tables_hold(tmp_path: Path) -> None:
    def fault(text: str) -> str:
        (tmp_path / "params.yaml").write_text(text)
        ran = run_cli(tmp_path, "judge")
        assert ran.returncode == 2
        assert len(ran.stderr.strip().splitlines()) == 1
        return ran.stderr

    (tmp_path / "specs").mkdir()
    assert "unknown profile 'none'" in fault(PARAMS.replace("flagship: whole", "flagship: none"))
    assert "from_tables is for the flagship alone" in fault(PARAMS.replace("flagship: whole\n", ""))
    assert "has a pipeline of its own" in fault(PARAMS.replace("profile: full", "profile: whole"))
    assert "needs from_tables" in fault(PARAMS.replace("flagship: whole", "flagship: full"))


def test_the_repositorys_flagship_runs_everything() -> None:
    params = load_params(Project(REPO))
    assert params.flagship is not None
    profile = params.profiles[params.flagship]
    assert all(paper.attacks is None for paper in profile.papers.values())
    assert profile.basis == "distribution-free"
    assert profile.decide is None  # every claim of every spec


def test_the_committed_curves_are_those_of_the_committed_tables() -> None:
    """DVC keeps both, and says nothing where a table was brought from elsewhere without its curves."""
    project = Project(REPO)
    params = load_params(project)
    assert params.flagship is not None
    context = Context(project, params.flagship, params.profiles[params.flagship], 1, Progress(quiet=True))
    seen = 0
    for loaded in committed_specs():
        run = context.resolve(loaded)
        path = run.measurements_file
        if path.is_file():
            result = advantages(read_table(path), axes_of(run.spec))
            kept = pd.read_csv(path.parent / "advantage.csv", dtype={"series": str})
            # Another processor's sums differ in digits that are not written.
            pd.testing.assert_frame_equal(kept, result, rtol=10.0 ** (1 - DIGITS), atol=1e-12, check_dtype=False)
            seen += 1
    assert seen >= 25


def test_every_attack_has_a_threshold_with_half_of_the_largest_advantage() -> None:
    """By its rule, or by the same attack's in a rehearsal; wherever its AUC is above 0.6, and claims are not of its
    scores alone."""
    found_far: dict[str, set[str]] = {}
    project = Project(REPO)
    without: set[str] = set()
    clear = rehearsed = learnt = 0
    for loaded in committed_specs():
        path = project.reports / "sequential" / loaded.spec.id / "measurements.parquet"
        if not path.is_file():
            continue
        table = read_table(path)
        table = table[table["metric"].isin(["auc", "advantage", "max_advantage", "best_attack_accuracy"])]
        by = ["arm", "epsilon", *axes_of(loaded.spec), "attack"]
        means = table.groupby([*by, "metric"], observed=True, dropna=False)["value"].mean().unstack()
        if not {"auc", "best_attack_accuracy"} <= {*means.columns}:
            continue
        twins = rehearsals_of(loaded)
        # All attacks but those of which claims ask what their scores say alone.
        of_claims = [one for c in loaded.spec.claims for part in loaded.spec.parts(c) for one in part.operands()]
        of_scores, of_decisions = (
            {a for one in of_claims for a in one.attack if any(depends_on_threshold(m) for m in one.metrics) is wanted}
            for wanted in (False, True)
        )
        asked = {*loaded.spec.attacks} - (of_scores - of_decisions)
        largest = means.reindex(columns=["max_advantage"])["max_advantage"]
        means["largest"] = largest.fillna(2 * means["best_attack_accuracy"] - 1)
        # An axis that an attack does not have is not a number, which equals nothing: names are compared as text.
        cells = {tuple(map(str, at)): cell for at, cell in means.iterrows()}
        for (*where, name), cell in cells.items():
            if not cell["auc"] > 0.6:  # an attack without an AUC, too
                continue
            clear += 1
            assert np.isfinite(cell["largest"])
            if np.isnan(cell.get("advantage", np.nan)):
                assert loaded.spec.attacks[name].threshold_policy.leaves_out("advantage"), (loaded.spec.id, name)
                without.add(loaded.spec.paper)
                continue
            learnt += name in twins.values() or loaded.spec.paper in PAPERS_WITHOUT_THRESHOLDS
            if cell["advantage"] < cell["largest"] / 2 and name in asked:
                found_far.setdefault(loaded.spec.id, set()).add(name)
                twin = (*where, twins.get(name, ""))
                assert twin in cells, (loaded.spec.id, where, name)
                assert cells[twin]["advantage"] >= cell["largest"] / 2, (loaded.spec.id, twin)
                rehearsed += 1
    assert clear > 200
    assert learnt > 60
    assert rehearsed > 10
    assert found_far == FAR_BY_RULE
    assert without == PAPERS_WITHOUT_THRESHOLDS


def depends_on_threshold(metric: str) -> bool:
    return metric not in METRICS or METRICS[metric].of_decisions


def rehearsals_of(loaded: Loaded) -> dict[str, str]:
    """By attack of a spec, the same attack with its threshold from a rehearsal."""
    spec = loaded.spec
    alike = {
        name: (by_rule(attack).content(), spec.attack_axes.get(name))
        for name, attack in spec.attacks.items()
        if isinstance(attack, ScoringAttack)
    }
    learnt = [name for name in alike if by_rule(spec.attacks[name]) is not spec.attacks[name]]
    return {name: other for name in alike for other in learnt if other != name and alike[name] == alike[other]}
