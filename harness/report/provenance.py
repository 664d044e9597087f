"""Where the numbers of a site come from: models, data with their hashes, machines, versions, licence and citation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.claims.verdict import Verdict
from harness.report.citations import ProjectCitation, read_project_citation
from harness.report.gather import Section
from harness.report.headings import datasets_of


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
    cited: ProjectCitation | None = None
    """How the project asks to be cited; None where it does not."""

    @property
    def models(self) -> int:
        """Trained models of all specs."""
        return sum(one.models for one in self.measured)

    @property
    def core_hours(self) -> float:
        """Of all specs that remember it."""
        return sum(one.core_hours or 0.0 for one in self.measured)


def provenance(root: Path, sections: Sequence[Section], verdicts: Sequence[Verdict]) -> Provenance:
    """What the tables and verdicts of a site remember, and what the project at `root` says of citing it."""
    measured = tuple(
        MeasuredSpec(
            section.spec.id, datasets_of(section.spec), section.data_sha256, section.models, section.core_hours
        )
        for section in sections
        if section.models
    )
    machines = tuple(dict.fromkeys(v.provenance.hardware for v in verdicts if v.provenance.hardware))
    packages = {name: version for v in verdicts for name, version in v.provenance.packages.items()}
    return Provenance(measured, machines, dict(sorted(packages.items())), read_project_citation(root))
