"""One source of words: the page, `explain`, the summary, the CSV and the badge say the same of every claim."""

from __future__ import annotations

import csv
import html
import io
import re

import pytest

from harness.claims.verdict import Verdict, VerdictFile
from harness.paths import Project
from harness.pipeline.context import Context
from harness.progress import Progress
from harness.report.claim_record import ClaimRecord, claim_records
from harness.report.exports import badge, claims_csv
from harness.report.prose import ON_THE_LINE, deciding_point
from harness.spec.load import load_specs
from harness.spec.model import Spec
from harness.spec.profile import choose, load_params
from harness.spec.selection import specs_to_decide
from harness.verdicts.counts import WORDS, count
from tests.conftest import REPO, run_cli

PROFILES = ("sequential", "paper")
"""Those whose verdicts are committed."""


def committed(profile: str) -> tuple[list[Verdict], dict[str, Spec]]:
    """The committed verdicts of a profile, and its specs."""
    name, chosen = choose(load_params(Project(REPO)), profile)
    context = Context(Project(REPO), name, chosen, 1, Progress(True))
    loaded = specs_to_decide(chosen, load_specs(Project(REPO), [], alternatives=False))
    text = (REPO / "reports" / profile / "verdicts.json").read_text()
    return list(VerdictFile.model_validate_json(text).verdicts), {
        one.spec.id: context.scale(one).spec for one in loaded
    }


@pytest.fixture(scope="module", params=PROFILES)
def judged(request: pytest.FixtureRequest) -> tuple[str, list[Verdict], dict[str, Spec], dict[str, ClaimRecord]]:
    verdicts, specs = committed(request.param)
    return request.param, verdicts, specs, claim_records(verdicts, specs)


def plain(text: str) -> str:
    """The text of HTML or Markdown, without tags and entities, blanks alike."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).replace("\\|", "|").split())


def test_the_csv_says_what_the_records_say(
    judged: tuple[str, list[Verdict], dict[str, Spec], dict[str, ClaimRecord]],
) -> None:
    profile, verdicts, _, records = judged
    text = claims_csv(verdicts, records)
    assert (REPO / "reports" / profile / "claims.csv").read_text() == text
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(text))}
    assert rows.keys() == records.keys()
    for name, said in records.items():
        row = rows[name]
        assert (row["verdict"], row["certainty"], row["heading"]) == (said.verdict, said.certainty, said.heading)
        assert (row["found"], row["would_decide"]) == (said.finding, said.would_decide)
        for column in ("estimate", "line", "effect", "low", "high"):
            number = getattr(said, column)
            assert (row[column] == "") if number is None else (float(row[column]) == pytest.approx(number, rel=1e-12))


def test_theory_has_numbers_in_the_csv(
    judged: tuple[str, list[Verdict], dict[str, Spec], dict[str, ClaimRecord]],
) -> None:
    """Of every claim of theory that is refuted, and of most others; some proofs no two numbers illustrate."""
    _, verdicts, _, records = judged
    theory = [v for v in verdicts if v.kind != "training"]
    assert all(records[v.id].estimate is not None for v in theory if v.verdict == "violated")
    assert all(records[v.id].line is not None for v in theory if v.verdict == "violated")
    assert sum(records[v.id].line is not None for v in theory) > 0.8 * len(theory)


def test_the_summary_says_what_the_records_say(
    judged: tuple[str, list[Verdict], dict[str, Spec], dict[str, ClaimRecord]],
) -> None:
    profile, verdicts, _, records = judged
    lines = [
        plain(line) for line in (REPO / "reports" / profile / "summary.md").read_text().splitlines() if line[:1] == "|"
    ]
    for v in verdicts:
        said = records[v.id]
        wanted = (
            said.sign,
            said.verdict,
            said.data,
            plain(said.heading),
            plain(said.finding),
            said.certainty_with_runs,
        )
        mine = [line for line in lines if all(plain(one) in line for one in wanted)]
        assert mine, said
        if said.would_decide:
            assert any(f"To decide it: {plain(said.would_decide)}." in line for line in mine)


def test_the_badge_counts_what_the_records_count(
    judged: tuple[str, list[Verdict], dict[str, Spec], dict[str, ClaimRecord]],
) -> None:
    profile, verdicts, _, _ = judged
    (first, *_) = count(verdicts)
    text = (REPO / "reports" / profile / "badge.svg").read_text()
    assert text == badge(verdicts)
    for word, n in first.by_word.items():
        assert word == "not run" or f"{n} {WORDS[word]}" in text


@pytest.mark.integration
@pytest.mark.parametrize(
    "claim",
    [
        "humphries2020/fig6#logloss-cap",
        "rahimian2021/location30#table4-sampling",
        "rahimian2021/texas100#table5",
        "thudi2022/theory#unlearning-capacity-as-printed",
        "tramer2025/theory#worst-case-tight",
    ],
)
def test_explain_says_what_the_record_says(claim: str) -> None:
    """Of claims of every sort: measured, open, compared, proved, simulated."""
    verdicts, specs = committed("sequential")
    said = claim_records(verdicts, specs)[claim]
    ran = run_cli(REPO, "explain", claim, "--profile", "sequential")
    assert ran.returncode == 0, ran.stderr
    text = plain(ran.stdout)
    assert ran.stdout.splitlines()[0] == "profile sequential"
    for words in (f"{said.sign} {said.verdict}", said.heading, said.finding, said.certainty_with_runs, said.data):
        assert plain(words) in text
    assert (f"To decide it: {plain(said.would_decide)}." in text) == bool(said.would_decide)


def test_an_open_claim_says_why_it_is_open(
    judged: tuple[str, list[Verdict], dict[str, Spec], dict[str, ClaimRecord]],
) -> None:
    """Too few runs, an interval on both sides of the line, and a value on the line are three sentences; none is said
    where it is not so."""
    _, verdicts, _, records = judged
    seen: dict[str, int] = {}
    for v in verdicts:
        found, point = records[v.id].finding, deciding_point(v)
        assert "Too close to call" not in found
        if v.verdict != "inconclusive" or point is None or v.hangs_on or not v.because:
            continue
        clear = (point.low is not None and point.low > 0) or (point.high is not None and point.high < 0)
        if "too few runs" in found:
            seen["few"] = seen.get("few", 0) + 1
            assert v.reasons[v.because[0]].found == "few"
            assert re.search(rf"in {point.repeats} runs?,", found)
        elif found.startswith("On the line"):
            seen["line"] = seen.get("line", 0) + 1
            assert v.would_decide.startswith(ON_THE_LINE)
            assert not clear
        elif found.endswith("the interval lies on both sides of the line."):
            seen["both"] = seen.get("both", 0) + 1
            assert not clear
        elif found.startswith("Not clear enough"):
            seen["corrected"] = seen.get("corrected", 0) + 1
            assert clear
    assert seen.get("both", 0) + seen.get("corrected", 0) + seen.get("line", 0) + seen.get("few", 0) > 0


def test_certainty_is_said_in_few_phrases(
    judged: tuple[str, list[Verdict], dict[str, Spec], dict[str, ClaimRecord]],
) -> None:
    """A game that was played out is simulated, and no more measured than a proof is."""
    _, verdicts, _, records = judged
    for v in verdicts:
        phrase = records[v.id].certainty
        assert bool(phrase) == (v.certainty is not None)
        assert (phrase == "simulated") == (v.basis == "simulated" and v.certainty is not None)
        assert not (phrase.startswith("measured") and v.kind != "training")
