"""`harness status` on one screen: counts by paper, and the open claims that cost least."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.commands import tables
from tests.conftest import REPO, run_cli


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(run_cli(REPO, "status", "-p", "sequential", "--json").stdout)
    return result


def test_it_is_one_screen_that_begins_with_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables.WholeWordConsole, "is_terminal", True)
    ran = run_cli(REPO, "status", "-p", "sequential", COLUMNS="80")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    claims = len(json.loads((REPO / "reports/sequential/verdicts.json").read_text())["verdicts"])
    assert lines[0].startswith(f"profile sequential: {claims} claims, ")
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    papers = [line.split()[0] for line in lines if line.split() and line.split()[0][-4:].isdigit()]
    assert len(papers) == len(set(papers))


def test_a_row_a_paper_says_what_is_counted(told: dict[str, Any]) -> None:
    lines = run_cli(REPO, "status", "-p", "sequential").stdout.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("paper\t"))
    header = lines[start].split("\t")
    rows = {line.split("\t")[0]: line.split("\t")[1:] for line in lines[start + 1 :] if line.count("\t") > 4}
    assert list(rows) == [*told["papers"], "all"]
    groups = {"other data": "papers elsewhere", "corrected": "corrected", "ours": "ours", "checks": "checks"}
    for paper, counts in told["papers"].items():
        for name, shown in zip(header[1:], rows[paper], strict=True):
            own = [counts.get(group, {}).get(name, 0) for group in ("papers", "not compared")]
            group = counts.get(groups[name], {}) if name in groups else {name: sum(own)}
            apart = sum(counts.get("not compared", {}).get(word, 0) for word in ("agrees", "differs", "beside"))
            assert int(shown) == sum(group.values()) + (apart if name == "other data" else 0), (paper, name)
    for column in range(len(header) - 1):
        *others, total = [int(row[column]) for row in rows.values()]
        assert total == sum(others) > 0


def test_the_cheapest_open_claims_come_first_and_all_are_listed_on_request(told: dict[str, Any]) -> None:
    open_claims = told["open"]
    assert {"id", "would_decide", "models", "seconds"} == set(open_claims[0])
    timed = sorted((one["seconds"], one["models"]) for one in open_claims if one["seconds"] is not None)
    known = {one["id"]: (one["seconds"], one["models"]) for one in open_claims}
    ran = run_cli(REPO, "status", "-p", "sequential").stdout
    ids = [line.split("\t")[0] for line in ran.splitlines() if "#" in line.split("\t")[0]]
    assert [known[name] for name in ids] == timed[:10]
    assert f"{len(open_claims) - 10} more claims are open; `harness status -p sequential --all` lists them" in ran
    ran = run_cli(REPO, "status", "-p", "sequential", "--all").stdout
    ids = [line.split("\t")[0] for line in ran.splitlines() if "#" in line.split("\t")[0]]
    assert sorted(ids) == sorted(known)
    assert [known[name] for name in ids[: len(timed)]] == timed
    without_cost = [one for one in open_claims if one["models"] is None]
    assert ids[-len(without_cost) :] == [one["id"] for one in without_cost]
    for one in without_cost:
        assert f"{one['id']}\t{one['would_decide']}" in ran


def test_a_profile_that_says_of_no_claim_what_would_decide_it() -> None:
    ran = run_cli(REPO, "status", "-p", "paper")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("profile paper: ")
    assert "The 10 open claims" not in ran.stdout
    assert "`harness status -p paper --all` lists them" in ran.stdout
