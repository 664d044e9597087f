"""What a project says of papers, and of itself, to be cited: `specs/papers.yaml` and `CITATION.cff`.

Both files may be missing, and so may a paper in the former: a page then has the paper's key in the place of its title.
"""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from harness.config import Config
from harness.errors import HarnessError
from harness.escaping import web_address
from harness.links import check_inside
from harness.paths import Project
from harness.spec.document import Document, load_document, locate

PAPERS = "papers.yaml"
"""Of `specs/`."""
CITATION = "CITATION.cff"
"""Of the project's folder."""


def _check_address(text: str) -> str:
    if text and not web_address(text):
        raise ValueError("pages link it, and it is no address of the web; right is one that begins with https://")
    return text


WebAddress = Annotated[str, AfterValidator(_check_address)]
"""What pages may link; empty for none."""


class Citation(Config):
    """A paper, as far as it is known."""

    title: str = ""
    authors: str = ""
    """Names with `, ` between them."""
    year: int = 0
    url: WebAddress = ""
    about: str = ""
    """What it claims, in a sentence or two."""
    further: bool = False
    """Whether its claims stand apart: those of further papers are in no count of the front."""

    @property
    def family_names(self) -> list[str]:
        """The last word of each author's name."""
        return [name.split()[-1] for name in self.authors.split(",") if name.strip()]


class Author(BaseModel):
    """An author of the project: a person or an entity."""

    name: str = ""
    given: str = Field(default="", alias="given-names")
    family: str = Field(default="", alias="family-names")

    @property
    def full_name(self) -> str:
        """`Ada Lovelace`."""
        return self.name or f"{self.given} {self.family}".strip()

    @property
    def sorted_name(self) -> str:
        """`Lovelace, Ada`."""
        return self.name or ", ".join(filter(None, (self.family, self.given)))


def _write_out(value: object) -> object:
    """A number, a date or a list of texts as text."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value) if isinstance(value, int | float | datetime.date) else value


Text = Annotated[str, BeforeValidator(_write_out)]


class ProjectCitation(BaseModel):
    """What pages use of a `CITATION.cff`, which may say more."""

    model_config = ConfigDict(extra="ignore")
    title: str
    authors: tuple[Author, ...] = ()
    version: Text = ""
    license: Text = ""
    released: Text = Field(default="", alias="date-released")
    repository: WebAddress = Field(default="", alias="repository-code")

    @property
    def names(self) -> str:
        """All authors."""
        return ", ".join(author.full_name for author in self.authors)

    @property
    def version_text(self) -> str:
        """`Version 0.2.0 of 2026-11-28`; empty where neither is given."""
        if not self.version:
            return f"Released {self.released}" if self.released else ""
        return f"Version {self.version}" + (f" of {self.released}" if self.released else "")

    @property
    def bibtex(self) -> str:
        """An entry for a bibliography."""
        names = " and ".join(author.sorted_name for author in self.authors)
        rows = {"title": self.title, "author": names, "version": self.version, "year": self.released[:4]}
        fields = ",\n".join(f"  {name} = {{{{{text}}}}}" for name, text in rows.items() if text)
        key = "_".join(re.findall(r"[a-z0-9]+", self.title.lower())[:3]) or "project"
        return f"@software{{{key},\n{fields}\n}}"


M = TypeVar("M", bound=BaseModel)


def read_citations(project: Project) -> dict[str, Citation]:
    """The citations of `specs/papers.yaml` by paper; none without the file. Raises HarnessError with file, line and
    field, and for a link that leads out of the project."""
    path = project.specs / PAPERS
    check_inside(path, project.root)  # what a link leads to would be published
    if not path.exists():
        return {}
    document = load_document(path)
    return {name: _validate(Citation, document, name, cited) for name, cited in document.data.items()}


def read_project_citation(root: Path) -> ProjectCitation | None:
    """The content of `CITATION.cff` in a folder; None without one. Raises HarnessError with file, line and field, and
    for a link that leads out of the folder."""
    path = root / CITATION
    check_inside(path, root)
    if not path.is_file():
        return None
    document = load_document(path)
    return _validate(ProjectCitation, document, None, document.data)


def _validate(model: type[M], document: Document, name: str | None, data: object) -> M:
    """Raises HarnessError for the first fault of what stands in a document under a name, or is the document."""
    keys = () if name is None else (name,)
    if not isinstance(data, Mapping):
        raise HarnessError(
            f"{locate(document, keys)}: {name}: a mapping of title, authors, year and url is right, not {data!r}"
        )
    try:
        return model.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        place = (*keys, *fault["loc"])
        field = ".".join(map(str, place))
        raise HarnessError(f"{locate(document, place)}: {field}: {_explain(model, fault)}") from None


def _explain(model: type[BaseModel], fault: Any) -> str:
    """What is wrong with a field, and what would be right."""
    if fault["type"] == "extra_forbidden":
        known = [info.alias or field for field, info in model.model_fields.items()]
        close = difflib.get_close_matches(str(fault["loc"][-1]), known, 1)
        return "unknown field" + (f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known)}")
    if fault["type"] == "missing":
        return "is missing; it has to be given"
    message = " ".join(fault["msg"].split()).removeprefix("Value error, ")
    return f"{message[:1].lower()}{message[1:]}, found {fault['input']!r}"
