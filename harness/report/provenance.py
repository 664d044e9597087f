"""Where the numbers of a site come from: models, data with their hashes, machines, versions, licence and citation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.claims.verdict import Verdict
from harness.report.gather import Section
from harness.report.headings import datasets_of
from harness.spec.document import load_document

CITATION = "CITATION.cff"


@dataclass(frozen=True)
class MeasuredSpec:
    """What one spec was measured on."""

    spec: str
    datasets: tuple[str, ...]
    data_sha256: str
    models: int
    core_hours: float | None
    """Of training and attacking all its models; None where the table does not remember it."""


@dataclass(frozen=True)
class Provenance:
    """What the page about a site tells."""

    measured: tuple[MeasuredSpec, ...]
    machines: tuple[str, ...]
    packages: dict[str, str]
    cited: dict[str, Any] = field(default_factory=dict)
    """Of CITATION.cff; empty where there is none."""

    @property
    def models(self) -> int:
        """Trained models of all specs."""
        return sum(one.models for one in self.measured)

    @property
    def core_hours(self) -> float:
        """Of all specs that remember it."""
        return sum(one.core_hours or 0.0 for one in self.measured)

    @property
    def bibtex(self) -> str:
        """An entry for a bibliography; empty where nothing says how to cite."""
        if not self.cited:
            return ""
        names = " and ".join(_name(author) for author in self.cited.get("authors", ()))
        rows = {"title": self.cited["title"], "author": names, "version": self.cited.get("version", "")}
        if released := self.cited.get("date-released"):
            rows["year"] = str(released)[:4]
        fields = ",\n".join(f"  {name} = {{{{{text}}}}}" for name, text in rows.items() if text)
        return f"@software{{mi_dp_harness,\n{fields}\n}}"


def provenance(root: Path, sections: Sequence[Section], verdicts: Sequence[Verdict]) -> Provenance:
    """What the tables and verdicts of a site remember, and what the project at `root` says of citing it."""
    measured = tuple(
        MeasuredSpec(
            section.spec.id, datasets_of(section.spec), section.data_sha256, section.models, section.core_hours
        )
        for section in sections
        if section.models
    )
    machines = tuple(dict.fromkeys(v.hardware for v in verdicts if v.hardware))
    packages = {name: version for v in verdicts for name, version in v.packages.items()}
    path = root / CITATION
    cited: dict[str, Any] = load_document(path).data if path.is_file() else {}
    return Provenance(measured, machines, dict(sorted(packages.items())), cited)


def _name(author: dict[str, str]) -> str:
    family = author.get("family-names")
    return author.get("name", "") if family is None else f"{family}, {author.get('given-names', '')}".strip(", ")
