"""Pages as tests read them: white space as a browser has it, whatever lines the templates are broken into."""

from __future__ import annotations

import re
from pathlib import Path

BLOCKS = "article|caption|dd|details|div|dl|dt|figcaption|h[1-6]|li|ol|option|p|section|table|tbody|td|th|thead|tr|ul"
AROUND_BLOCKS = re.compile(rf' ?(</?(?:{BLOCKS})\b(?:"[^"]*"|[^>"])*>) ?')


def read_page(path: Path) -> str:
    """The text of a page with one space for each run of white space, and none beside the tags of blocks and tables."""
    return AROUND_BLOCKS.sub(r"\1", re.sub(r"\s+", " ", path.read_text()))
