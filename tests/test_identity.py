"""Every committed name is recomputed, and names in the code may change without one of them moving.

`tests/golden/identities.json` was written by the code of commit 1fba534, before `harness/identity.py` was there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import Field

from harness.config import Config
from harness.data.dataset import DATASETS, GeneratorDataset, TableDataset
from harness.data.datasets.mixture import Mixture
from harness.hashing import canonical_json
from harness.identity import VERSION, canonical, canonical_path, experiment_name
from harness.paths import Project
from harness.spec.profile import load_params
from harness.spec.resolve import content
from harness.spec.selection import specs_to_decide
from tests.golden import sample
from tests.golden.committed import PROFILES, ROOT, Committed, Table, committed, golden, identities

BY_THEMSELVES = {
    "98925476d1e005dd4ec1e1d3af91a1a627df82dc98a30b9405db7a2151392c2d",  # CIFAR-100, of an archive put together anew
}
"""Tables whose classes declare no hash; a table's own is its name all the same."""
WITHOUT_WORK = {
    *(f"paper/jayaraman2019/{spec}-purchase100" for spec in ("l2-lr", "l2-nn")),
}
"""Tables made before rows named their work."""


@cache
def everything() -> Committed:
    return committed(golden()["noise_of_halves"])


@cache
def tables() -> dict[str, Table]:
    return {table.name: table for table in everything().tables()}


def test_every_committed_table_is_known_to_this_test() -> None:
    listed = subprocess.run(["git", "ls-files", "reports"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [Path(line).relative_to("reports") for line in listed.stdout.splitlines()]
    assert {str(f.parent) for f in files if f.suffix == ".parquet"} == set(tables())
    assert {f.parts[0] for f in files if len(f.parts) > 1} == {
        *PROFILES,
        "quick",
    }  # of quick, a baseline whose hashes are tested below


def test_specs_have_the_hashes_that_verdicts_and_baselines_name() -> None:
    now = {loaded.spec.id: loaded.sha256 for loaded in everything().specs}
    for profile in PROFILES:
        folder = ROOT / "reports" / profile
        accepted = json.loads((folder / "baseline.json").read_text())["specs"]
        chosen = load_params(Project(ROOT)).profiles[profile]
        decided = {one.spec.id: one.sha256 for one in specs_to_decide(chosen, everything().specs)}
        assert {spec: entry["spec_sha256"] for spec, entry in accepted.items()} == decided
        files = [folder / "verdicts.json", *(folder / spec / "verdicts.json" for spec in decided)]
        assert set(folder.rglob("verdicts.json")) == {p for p in files if p.is_file()}
        for file in files[1:]:
            for verdict in json.loads(file.read_text())["verdicts"]:
                assert verdict["provenance"]["spec_sha256"] == now[verdict["spec"]], (file, verdict["id"])


@pytest.mark.parametrize("profile", PROFILES)
def test_experiments_have_the_hashes_that_tables_name(profile: str) -> None:
    """Today's, or today's without attacks that were declared since, of which the table then has no row."""
    of_profile = [table for table in tables().values() if table.profile == profile]
    earlier = set()
    for table in of_profile:
        held = table.rows.attrs["experiment_sha256"]
        if held != table.experiment:
            written, now = json.loads(table.rows.attrs["experiment"]), json.loads(canonical_json(content(table.scaled)))
            assert experiment_name(written) == held, table.name
            since = now["attacks"].keys() - written["attacks"].keys()
            assert since, table.name
            assert not since & {*table.rows["attack"]}, table.name
            for part in ("attacks", "attack_axes"):
                if part in now:
                    now[part] = {name: value for name, value in now[part].items() if name not in since}
            assert written == {part: value for part, value in now.items() if value or part in written}, table.name
            earlier.add(table.name)
    assert len(earlier) <= len(of_profile) / 5


def test_data_have_the_hashes_that_tables_name() -> None:
    """Those that their classes declare: the canonical table's, or the generator's."""
    declared = {c.canonical_sha256 for _, c in DATASETS if issubclass(c, TableDataset)}
    declared |= BY_THEMSELVES | {c.data_name() for _, c in DATASETS if issubclass(c, GeneratorDataset)}
    held = {table.name: {*table.rows.attrs["data_sha256"].split()} for table in tables().values()}
    assert {name: digests - declared for name, digests in held.items() if digests - declared} == {}


def test_rows_and_curves_have_the_names_that_their_work_has() -> None:
    """All of them: by spec, profile, what names the data and noise alone. Of every row that says what work it is of."""
    assert {name for name, table in tables().items() if not table.work} == WITHOUT_WORK
    lost = {}
    for name, table in tables().items():
        if name not in WITHOUT_WORK:
            unnamed = (table.work - table.work_today()) | (table.curves - table.curves_today())
            if unnamed:
                lost[name] = f"{len(unnamed)} of {len(table.work) + len(table.curves)}"
    assert lost == {}
    assert sum(len(table.work) for table in tables().values()) >= 18_750
    assert sum(len(table.curves) for table in tables().values()) == 12


def test_pieces_and_plugins_have_the_names_and_seeds_that_they_had() -> None:
    remembered = golden()
    assert remembered["version"] == VERSION
    assert sample.hashes() == remembered["hashes"]
    for spec in sample.SPECS:
        cells = tables()[sample.table_of(spec)].plan.cells
        assert {k: sample.identity_of(p) for k, p in sample.pieces(cells).items()} == remembered["pieces"][spec]
        assert sample.draws(cells) == remembered["draws"][spec]


def test_generators_draw_what_their_names_stand_for() -> None:
    """Where this fails, the same seed gives other records: then `draws` of the class has to be another name too."""
    remembered, today = golden()["generated"], sample.generated()
    builtin = {c.data_name() for _, c in DATASETS if issubclass(c, GeneratorDataset) and "draws" in vars(c)}
    assert builtin == {name.split(" / ")[1] for name in today}
    assert all("draws" in vars(c) for _, c in DATASETS if issubclass(c, GeneratorDataset) and _is_own(c))
    for name, drawn in today.items():
        before = remembered[name]
        assert {k: v for k, v in drawn.items() if "features" not in k and k != "first"} == {
            k: v for k, v in before.items() if "features" not in k and k != "first"
        }
        assert drawn["first"] == pytest.approx(before["first"], abs=1e-6)  # the last digits are a processor's
        assert drawn["sum of features"] == pytest.approx(before["sum of features"], abs=1e-3)


def _is_own(cls: type) -> bool:
    return cls.__module__.startswith("harness.")


def test_a_generator_of_another_class_does_not_inherit_the_name() -> None:
    class Other(Mixture):
        pass

    assert Other.data_name() != Mixture.data_name()
    assert re.fullmatch(r"generator:[0-9a-f]{16}", Other.data_name())


# --- renames ---


class Inner(Config):
    """A field that Python calls otherwise than a spec, and one that specs call otherwise than before."""

    in_python: int = Field(default=1, alias="width")
    breadth: int = 2
    hashed_as: ClassVar[dict[str, str]] = {"breadth": "height"}


class Outer(Config):
    inner: Inner = Inner()
    others: dict[str, Inner] = {"a": Inner()}
    listed: tuple[Inner | int, ...] = (3, Inner(width=5))


def test_the_canonical_form_knows_all_names_that_there_were() -> None:
    one = {"width": 1, "height": 2}
    assert canonical(Outer()) == {"inner": one, "others": {"a": one}, "listed": [3, {"width": 5, "height": 2}]}
    assert canonical_path(Outer(), "others.a.breadth") == "others.a.height"
    assert canonical_path(Outer(), "inner.width") == "inner.width"
    assert canonical_path(Outer(), "inner.nowhere.breadth") == "inner.nowhere.breadth"
    assert Outer.model_validate(Outer(inner=Inner(in_python=9)).model_dump()).inner.in_python == 9


def test_two_fields_cannot_be_hashed_by_one_name() -> None:
    class Both(Inner):
        height: int = 3

    with pytest.raises(ValueError, match="two fields are hashed by the name 'height'"):
        canonical(Both())


COPIED = ("humphries2020/fig6", "jayaraman2019/l2-lr-purchase100")
MIXTURE = Path("harness/data/datasets/mixture.py")
TRAINING = Path("harness/training/settings.py")
LOGLOSS = Path("harness/attacks/logloss.py")
EXPERIMENT = Path("harness/experiment/setup.py")
FIG6 = Path("specs/humphries2020/fig6.yaml")
EVERYWHERE = Path("harness")
Edits = Mapping[Path, Mapping[str, str]]
"""By file, patterns and what takes their place."""
IN_PYTHON: Edits = {
    MIXTURE: {
        r"class Mixture\b": "class Blend",
        r"\bn = len\(component\)": "n = size_of(component)",
        r"\Z": "\n\ndef size_of(component: Array) -> int:\n    return len(component)\n",
        r"sigma: float = Field\(default=0.01, ge=0\)": 'spread: float = Field(default=0.01, ge=0, alias="sigma")',
        r"self\.sigma\b": "self.spread",
    },
    TRAINING: {
        r'epochs_measured: EpochsMeasured = "last"': 'measured: EpochsMeasured = Field(default="last", alias="epochs_measured")',
    },
    LOGLOSS: {
        r'loss_of: (.*) = "log-probabilities"': r'seen: \1 = Field(default="log-probabilities", alias="loss_of")',
        r"self\.loss_of": "self.seen",
        r"\nimport numpy as np\n": "\nimport numpy as np\nfrom pydantic import Field\n",
    },
    EXPERIMENT: {
        r"preprocessing: Preprocessing = Preprocessing\(\)": 'encoding: Preprocessing = Field(default=Preprocessing(), alias="preprocessing")',
    },
    EVERYWHERE: {r"\.epochs_measured\b": ".measured", r"\.preprocessing\b": ".encoding"},
}
"""Names in the code alone: a class, a function and a module, and fields of four classes whose specs stay as they are."""
IN_SPECS: Edits = {
    MIXTURE: {
        r"\bsigma_is\b": "read_as",
        r'Literal\["mixture"\] = "mixture"': 'Literal["blend"] = "blend"',
        r"    display: Clas": '    hashed_as: ClassVar[dict[str, str]] = {"read_as": "sigma_is"}\n'
        '    hashed_kind: ClassVar[str | None] = "mixture"\n    display: Clas',
    },
    FIG6: {r"\bsigma_is\b": "read_as", r"kind: mixture": "kind: blend"},
}
"""A field that a spec names twice, as a value and in `ambiguities`, and the `kind` of a plug-in."""
UNMAPPED: Edits = {
    MIXTURE: {r"\bsigma_is\b": "read_as"},
    FIG6: {r"\bsigma_is\b": "read_as"},
}


def scratch(tmp_path: Path, edits: Edits, moved: Mapping[str, str]) -> Path:
    """A copy of the package, the specs and the profiles, with edits; `moved` modules of data sets have other names.

    What Python has compiled is copied too, and holds for files that are not edited.
    """
    ignored = shutil.ignore_patterns("static", "templates")
    for folder in ("harness", "specs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    for where, patterns in edits.items():
        files = sorted((tmp_path / where).rglob("*.py")) if where == EVERYWHERE else [tmp_path / where]
        texts = {file: file.read_text() for file in files}
        for pattern, instead in patterns.items():
            edited = {file: re.sub(pattern, instead, text) for file, text in texts.items()}
            assert edited != texts, f"{where}: nothing is {pattern}"
            texts = edited
        for file, text in texts.items():
            file.write_text(text)
    for before, after in moved.items():
        folder = tmp_path / MIXTURE.parent
        (folder / f"{before}.py").rename(folder / f"{after}.py")
        listed = (folder / "__init__.py").read_text()
        (folder / "__init__.py").write_text(re.sub(rf"\b{before}\b", after, listed))
    return tmp_path


def named_in(root: Path) -> subprocess.CompletedProcess[str]:
    """The identities that a copy of the package gives the committed tables of a few specs."""
    code = f"import harness; assert harness.__file__.startswith({str(root)!r}), harness.__file__; "
    code += "import json; from pathlib import Path; from tests.golden.committed import identities; "
    code += f"print(json.dumps(identities(Path({str(root)!r}), {COPIED!r})))"
    path = os.pathsep.join((str(root), str(ROOT)))
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@cache
def names_here() -> dict[str, Any]:
    return json.loads(json.dumps(identities(ROOT, COPIED)))


@pytest.mark.parametrize(
    ("edits", "moved"), [(IN_PYTHON, {"mixture": "blend"}), (IN_SPECS, {})], ids=["in Python", "in specs"]
)
def test_names_in_the_code_and_in_specs_may_change(tmp_path: Path, edits: Edits, moved: Mapping[str, str]) -> None:
    ran = named_in(scratch(tmp_path, edits, moved))
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == names_here()


@pytest.mark.integration
def test_a_name_of_specs_that_is_not_mapped_changes_what_is_hashed(tmp_path: Path) -> None:
    ran = named_in(scratch(tmp_path, UNMAPPED, {}))
    assert ran.returncode == 0, ran.stderr
    names, here = json.loads(ran.stdout), names_here()
    fig6, other = (f"sequential/{spec}" for spec in COPIED)
    assert names[other] == here[other]
    assert all(names[fig6][what] != here[fig6][what] for what in ("spec", "experiment", "work", "pieces", "draws"))
