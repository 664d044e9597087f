"""What stands beside the site: claims as CSV, a badge, a verdict packed with all it needs, how to cite."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pandas as pd
import pytest
from ruamel.yaml import YAML

from harness.claims.verdict import Point, Verdict, VerdictFile, dump
from harness.claims.words import Word
from harness.paths import Project
from harness.pipeline.context import Context
from harness.progress import Progress
from harness.report.build import build_site
from harness.report.claim_record import ClaimRecord, claim_records
from harness.report.exports import COLUMNS, badge, claims_csv, claims_table
from harness.spec.load import load_specs
from harness.spec.profile import load_params
from tests.conftest import REPO, run_cli
from tests.report.test_claim_record import committed as committed_verdicts
from tests.verdict_fields import change


def committed() -> tuple[tuple[Verdict, ...], dict[str, ClaimRecord]]:
    """The flagship's committed verdicts, and what is said of each."""
    verdicts, specs = committed_verdicts("sequential")
    return tuple(verdicts), claim_records(verdicts, specs)


CLAIM = "humphries2020/fig6#logloss-cap-corrected"


def test_claims_as_csv() -> None:
    verdicts, records = committed()
    rows = list(csv.DictReader(io.StringIO(claims_csv(verdicts, records))))
    assert len(rows) == len(verdicts)
    assert tuple(rows[0]) == COLUMNS
    cap = next(row for row in rows if row["id"] == CLAIM)
    assert (cap["verdict"], cap["origin"], cap["data"]) == ("reproduced", "corrected", "paper")
    assert 0 < float(cap["low"]) < float(cap["effect"]) < float(cap["high"])
    assert (REPO / "reports/sequential/claims.csv").read_text() == claims_csv(verdicts, records)


def test_claims_as_parquet_say_the_same(tmp_path: Path) -> None:
    verdicts, records = committed()
    claims_table(verdicts, records).to_parquet(tmp_path / "claims.parquet")
    result = pd.read_parquet(tmp_path / "claims.parquet")
    assert tuple(result.columns) == COLUMNS
    assert [str(t) for t in result.dtypes[["effect", "low", "high"]]] == ["float64"] * 3
    assert result["id"].tolist() == [v.id for v in verdicts]
    assert result["reason"].tolist() == [v.reason for v in verdicts]
    assert result["effect"].isna().tolist() == [v.numbers.effect is None for v in verdicts]


def test_a_badge_counts_the_papers_claims_on_their_data() -> None:
    verdicts = VerdictFile.model_validate_json((REPO / "reports/sequential/verdicts.json").read_text()).verdicts
    words = ["reproduced"] * 3 + ["violated"] * 2 + ["not run"] * 9
    compared = next(v for v in verdicts if v.claim.quotes and all(quote.compared for quote in v.claim.quotes))
    mine = [change(compared, origin="paper", data="paper", verdict=Word(word)) for word in words]
    elsewhere = [change(one, data="stand-in", verdict=Word.DIFFERS) for one in mine]
    svg = badge([*mine, *elsewhere])
    root = ElementTree.fromstring(svg)
    assert [e.text for e in root.iter() if e.tag.endswith("text")] == ["papers' claims", "3 reproduced · 2 violated"]
    assert root.get("aria-label") == "claims of the papers, proved or on their data: 3 reproduced · 2 violated"
    own = ElementTree.fromstring(badge([change(one, origin="ours") for one in mine]))
    assert [e.text for e in own.iter() if e.tag.endswith("text")] == ["claims", "3 reproduced · 2 violated"]
    assert "nothing run" in badge([])


def test_a_bundle_judges_itself_again(tmp_path: Path) -> None:
    """Unpacked elsewhere, with nothing else of this checkout: the same verdict, from the table in the archive."""
    packed = tmp_path / "cap.zip"
    ran = run_cli(REPO, "bundle", CLAIM, "-p", "sequential", "--out", str(packed))
    assert ran.returncode == 0, ran.stderr
    there = tmp_path / "there"
    zipfile.ZipFile(packed).extractall(there)
    crate = json.loads((there / "ro-crate-metadata.json").read_text())["@graph"]
    named = {e["@id"] for e in crate if e.get("@type") == "File"}
    files = {p.relative_to(there).as_posix() for p in there.rglob("*") if p.is_file()}
    assert named == files - {"ro-crate-metadata.json"}
    (judging,) = [e for e in crate if e.get("@type") == "CreateAction"]
    assert {"@id": "specs/humphries2020/fig6.yaml"} in judging["object"]
    assert {"@id": "specs/humphries2020/_base.yaml"} in judging["object"]
    env = {k: v for k, v in os.environ.items() if k not in ("HARNESS_DATA", "PYTHONPATH")}
    command = [sys.executable, "-m", "harness", "judge", "-q", "-p", "sequential", "humphries2020/fig6", "--json"]
    again = subprocess.run(
        command, cwd=there, env={**env, "PYTHONPATH": str(there)}, capture_output=True, text=True, check=True
    )
    judged = {v["id"]: v for v in json.loads(again.stdout)}
    before = json.loads((there / "verdict.json").read_text())
    if judged[CLAIM]["provenance"]["packages"] != before["provenance"]["packages"]:  # not the versions of the lock
        for one in (judged[CLAIM], before):
            del one["provenance"], one["controls"]["key"]
    assert judged[CLAIM] == before


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("humphries2020/fig6", "names no claim; write SPEC#CLAIM"),
        ("humphries2020/fig6#capped", "no claim 'capped'; it has high-advantage, "),
        ("humphries2020/fig66#cap", "fig66"),
    ],
)
def test_a_bundle_of_nothing_is_one_line(tmp_path: Path, claim: str, message: str) -> None:
    out = tmp_path / "x.zip"
    ran = run_cli(REPO, "bundle", claim, "-p", "sequential", "--out", str(out))
    assert (ran.returncode, message in ran.stderr) == (2, True), ran.stderr
    assert "Traceback" not in ran.stderr
    assert not out.exists()


def test_how_to_cite() -> None:
    said = YAML(typ="safe").load((REPO / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= said.keys()
    assert f'version = "{said["version"]}"' in (REPO / "pyproject.toml").read_text()


def test_a_file_of_verdicts_is_the_same_whichever_processor_summed_last() -> None:
    """Twelve digits; of a point what says nothing is left out, and comes back as nothing."""
    verdict = VerdictFile.model_validate_json((REPO / "reports/sequential/verdicts.json").read_text()).verdicts[0]
    point = Point(
        expectation=0, left=0.1 + 0.2, right=1e-300, effect=-0.3, low=None, high=1.0, p_support=0, p_oppose=1, repeats=2
    )
    other = point.model_copy(update={"left": 0.3, "right": 1.0000000000000002e-300})
    texts = {
        dump(VerdictFile(profile="a", alpha=0.05, verdicts=(change(verdict, points=(one,)),))) for one in (point, other)
    }
    (text,) = texts
    (result,) = VerdictFile.model_validate_json(text).verdicts[0].numbers.points
    assert result == other.model_copy(update={"right": 1e-300})
    assert '"bound"' not in text
    assert '"low": null' in text


def test_the_feed_follows_its_schema_and_says_what_the_csv_says(tmp_path: Path) -> None:
    """By paper, with the ids of ledgers; each claim once, its page beside the feed."""
    project = Project(REPO)
    params = load_params(project)
    context = Context(project, str(params.flagship), params.profiles[str(params.flagship)], 1, Progress(quiet=True))
    specs = load_specs(project, ["humphries2020/games", "thudi2022/theory", "jayaraman2019/theory"])
    build_site(context, list(map(context.resolve, specs)), tmp_path)
    feed = json.loads((tmp_path / "claims.json").read_text())
    jsonschema.Draft202012Validator(json.loads((REPO / "reports/feed.schema.json").read_text())).validate(feed)
    by_key = {paper["key"]: paper for paper in feed["papers"]}
    assert by_key["humphries2020"]["arxiv"] == "2010.12112"
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO((tmp_path / "claims.csv").read_text()))}
    claims = {claim["id"]: claim for paper in feed["papers"] for claim in paper["claims"]}
    assert claims.keys() == rows.keys()
    reviewed = 0
    for name, claim in claims.items():
        row = rows[name]
        assert (claim["found"], claim["certainty"], claim["statement"]) == (
            row["found"],
            row["certainty"],
            row["statement"],
        )
        page = (tmp_path / claim["page"]).read_text()
        if found := re.search(r'<script type="application/ld\+json">(.*?)</script>', page):
            review = json.loads(found[1])
            assert review["claimReviewed"] == claim["statement"]
            assert review["reviewRating"]["alternateName"] == row["verdict"]
            assert claim["origin"] == "paper"
            reviewed += 1
    assert reviewed == sum(claim["origin"] == "paper" for claim in claims.values())
