"""What pages need beside specs and verdicts, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence

from harness.paths import Project
from harness.report.author_answers import read_answers
from harness.report.citations import PAPERS, read_citations, read_project_citation
from harness.report.contents import NO_PAPERS
from harness.report.findings import FINDINGS, read_findings
from harness.report.manual import page_paths, read_page
from harness.spec.load import Loaded


def check_page_inputs(project: Project, specs: Sequence[Loaded]) -> None:
    """Raises HarnessError for citations, findings, answers or documentation of which no page can be made."""
    read_citations(project)
    read_project_citation(project.root)
    read_findings(project.specs / FINDINGS)
    for one in specs:
        read_answers(one.spec, one.raw.files[0])
    for path in page_paths(project.root / "docs").values():
        read_page(path)


def describe_uncited_papers(project: Project, specs: Sequence[Loaded]) -> str:
    """A line on the papers that pages have to call by their key; empty where there is none."""
    cited = read_citations(project)
    papers = dict.fromkeys(one.spec.paper for one in specs if one.spec.paper not in NO_PAPERS)
    unknown = [paper for paper in papers if paper not in cited or not (cited[paper].title and cited[paper].authors)]
    if not unknown:
        return ""
    path = (project.specs / PAPERS).relative_to(project.root)
    names = ", ".join(unknown)
    return f"pages call these papers by their key or title: {names}; give their title, authors and year in {path}"
