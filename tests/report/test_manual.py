"""The documentation as pages: links, anchors, search, and a reference of everything that a spec may name."""

from __future__ import annotations

import json
from pathlib import Path

from harness.attacks import ATTACKS
from harness.formulas import FORMULAS
from harness.metrics import METRICS
from harness.report.manual import anchor, images_of, index_json, pages, sections
from harness.report.reference import HEADINGS, reference
from tests.conftest import REPO

TEXT = """# A *title* of `mine`

See [the other](two.md#part-one), [a file](../specs/x.yaml), [`code.py`](../code.py) and [outside](https://example.org).

## Part one: 1 & 2

<script>alert(1)</script>

| a | b |
| --- | --- |
| 1 | 2 |

![what is shown](images/one.png)
"""


def test_links_anchors_and_markup(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text(TEXT)
    (tmp_path / "two.md").write_text("# Two\n\n## Part one\n\nwords here\n")
    one, two = pages(tmp_path)
    assert (one.name, one.title, images_of(one.html)) == ("one", "A title of mine", ["images/one.png"])
    assert '<a href="two.html#part-one">the other</a>' in one.html
    assert '<a href="https://example.org">outside</a>' in one.html
    assert "specs/x.yaml" not in one.html
    assert "<code>a file</code>" in one.html
    assert "<script>" not in one.html
    assert '<h2 id="part-one-1--2">' in one.html
    assert 'aria-label="Table 1"' in one.html
    result = list(sections([one, two]))
    assert [(s["page"], s["title"]) for s in result][-1] == ("two", "Part one")
    assert result[-1]["text"] == "words here"
    assert "</script" not in index_json([one, two])
    assert json.loads(index_json([one, two])) == result
    assert pages(tmp_path / "none") == []


def test_anchors_are_those_of_the_repositorys_host() -> None:
    assert anchor("How `x` is read: 1 & 2, or *so*") == "how-x-is-read-1--2-or-so"


def test_the_reference_has_everything_that_is_registered_with_a_text() -> None:
    result = reference()
    assert list(result) == list(HEADINGS)
    assert {e.name for e in result["attacks"]} == set(ATTACKS.names())
    assert {e.name for e in result["formulas"]} == set(FORMULAS)
    assert {e.name for e in result["metrics"]} == set(METRICS)
    for sort, entries in result.items():
        for entry in entries:
            assert entry.text, (sort, entry.name)
    for entry in (*result["formulas"], *result["accountants"]):
        assert entry.source, entry.name


def test_every_page_of_the_documentation_has_a_title() -> None:
    result = pages(REPO / "docs")
    assert len(result) > 15
    assert len({page.title for page in result}) == len(result)
