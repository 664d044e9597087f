"""Verdicts for other programs: `claims.json`, a feed by paper, and what a claim's page says to search engines.

Ledgers of reproductions list papers by DOI or arXiv id, so the feed does; `reports/feed.schema.json` describes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal

from markupsafe import Markup
from pydantic import Field

from harness.claims.verdict import Verdict
from harness.claims.words import Word
from harness.config import Config
from harness.report.citations import Citation
from harness.report.claim_record import ClaimRecord
from harness.report.contents import Paper, Site, slug

_ARXIV = re.compile(r"arxiv\.org/(?:abs|pdf)/([\w.-]+?)(?:v\d+)?(?:\.pdf)?$")
_DOI = re.compile(r"doi\.org/(10\..+)$")
RATINGS = {Word.VIOLATED: 1, Word.DIFFERS: 2, Word.INCONCLUSIVE: 3, Word.AGREES: 4, Word.REPRODUCED: 5}
"""Of schema.org's reviews: from 1, contradicted, to 5, supported."""


class FeedClaim(Config):
    """A claim and its verdict."""

    id: str = Field(description="`<spec>#<claim>`: it stays while the claim does")
    page: str = Field(description="address of its page, from the folder of the feed")
    where: str = Field(description="place in the paper")
    statement: str = Field(description="the claim in the words of this project")
    quotes: tuple[str, ...] = Field(description="the paper's own words")
    origin: str = Field(description="whose claim it is: paper, corrected, ours, check")
    data: str = Field(description="what it was judged on, as in verdicts.json")
    verdict: str
    certainty: str = Field(description="how sure the verdict is; empty where nothing is decided")
    found: str = Field(description="what was found, in a sentence or two")
    estimate: float | None
    line: float | None
    effect: float | None = Field(description="distance from the line; positive: on the claimed side")
    low: float | None = Field(description="lower end of the 95% interval of the effect")
    high: float | None
    runs: int | None
    severity: float | None = Field(description="share of draws of its control in which it is not supported")


class FeedPaper(Config):
    """A paper, by the ids that ledgers use, and its claims."""

    key: str
    title: str
    authors: str
    year: int | None
    doi: str
    arxiv: str
    url: str
    claims: tuple[FeedClaim, ...]


class Feed(Config):
    """`claims.json`."""

    schema_version: Literal[1] = 1
    profile: str
    version: str = Field(description="version of the project that judged; empty where it has none")
    papers: tuple[FeedPaper, ...]


def feed_text(site: Site, records: Mapping[str, ClaimRecord]) -> str:
    """The feed of a site as strict JSON."""
    papers = tuple(_paper(paper, records) for paper in site.papers)
    version = "" if site.about.cited is None else site.about.cited.version
    return Feed(profile=site.profile, version=version, papers=papers).model_dump_json(indent=1) + "\n"


def schema_text() -> str:
    """JSON Schema of `claims.json`, as committed."""
    schema = Feed.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=1, sort_keys=True) + "\n"


def claim_review(paper: Paper, verdict: Verdict, record: ClaimRecord, site: Site) -> Markup | None:
    """A claim of a paper as schema.org's `ClaimReview`, for the head of its page; None for claims of no paper and for
    those that no review can rate: not run, or compared and not judged."""
    rating = RATINGS.get(verdict.verdict)
    if verdict.claim.origin != "paper" or not paper.cited.title or rating is None:
        return None
    article = {"@type": "ScholarlyArticle", "name": paper.title, "author": paper.cited.authors}
    if paper.cited.url:
        article["url"] = paper.cited.url
    cited = site.about.cited
    review = {
        "@context": "https://schema.org",
        "@type": "ClaimReview",
        "claimReviewed": verdict.claim.statement,
        "itemReviewed": {"@type": "Claim", "appearance": article},
        "author": {"@type": "Organization", "name": "" if cited is None else cited.title},
        "reviewBody": record.finding,
        "reviewRating": {
            "@type": "Rating",
            "ratingValue": rating,
            "worstRating": 1,
            "bestRating": 5,
            "alternateName": record.verdict,
        },
    }
    # No text of a spec may end the element that it stands in.
    return Markup(json.dumps(review, ensure_ascii=False).replace("<", "\\u003c"))


def _paper(paper: Paper, records: Mapping[str, ClaimRecord]) -> FeedPaper:
    cited = paper.cited
    return FeedPaper(
        key=paper.key,
        title=paper.title,
        authors=cited.authors,
        year=cited.year or None,
        doi=_id(_DOI, cited),
        arxiv=_id(_ARXIV, cited),
        url=cited.url,
        claims=tuple(_claim(verdict, records[verdict.id]) for verdict in paper.verdicts),
    )


def _id(pattern: re.Pattern[str], cited: Citation) -> str:
    found = pattern.search(cited.url)
    return found[1] if found else ""


def _claim(verdict: Verdict, record: ClaimRecord) -> FeedClaim:
    return FeedClaim(
        id=verdict.id,
        page=f"claims/{slug(verdict.id)}.html",
        where=verdict.claim.where,
        statement=verdict.claim.statement,
        quotes=tuple(quote.text for quote in verdict.claim.quotes),
        origin=verdict.claim.origin,
        data=verdict.rests_on.data,
        verdict=verdict.verdict.value,
        certainty=record.certainty,
        found=record.finding,
        estimate=record.estimate,
        line=record.line,
        effect=record.effect,
        low=record.low,
        high=record.high,
        runs=record.runs,
        severity=record.severity,
    )
