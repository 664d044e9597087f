"""Whose a claim is, and in which words."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from pydantic import Field

from harness.config import Config

Origin = Literal["paper", "corrected", "ours", "check"]
"""Who makes a claim. `paper`: the paper. `corrected`: nobody, it is what is right in a paper's claim's place. `ours`:
whoever wrote the spec. `check`: it cannot fail if the software is right."""
ToleranceSource = Literal["text", "printed-errors", "printed-digits", "records", "scale", "ours"]
"""Where the tolerance of a claim comes from, as `TOLERANCE_SOURCES` has it in words."""
TOLERANCE_SOURCES: dict[ToleranceSource, str] = {
    "text": "a number that the paper's text gives",
    "printed-errors": "two of the standard errors that the paper prints",
    "printed-digits": "the digits that the paper prints",
    "records": "what another draw of as many records may move (95%)",
    "scale": "half a step of the values that were tried",
    "ours": "us: the paper gives none",
}


class Quote(Config):
    """The paper's own words."""

    section: str
    """Where they stand, such as `Section 4.3`."""
    text: str = Field(min_length=1)
    """Verbatim; `...` stands for what is left out."""
    compared: bool = Field(default=True, exclude_if=lambda compared: compared)
    """Whether it was found in the paper's text; what a spec says of it counts for nothing (`specs/quotations.json`)."""

    def pieces(self) -> list[str]:
        """What has to be found in the paper, each by itself and in this order, in normal form."""
        return [piece for part in re.split(r"\.\.\.|…", self.text) if (piece := normal_form(part))]


def normal_form(text: str) -> str:
    """Text without what typesetting adds: line breaks, hyphens at their ends, ligatures, kinds of quotes and dashes."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"[\u2010-\u2015\u2212]", "-", text)
    text = re.sub(r"[\u2018\u2019\u201a\u2032`]", "'", text)
    text = re.sub(r"[\u201c\u201d\u201e\u2033]|''", '"', text)
    return re.sub(r"[\s-]+", "", text).lower()
