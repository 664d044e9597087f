"""What the authors of a paper answer to verdicts: Markdown beside the spec, shown under the verdict.

`specs/<paper>/<spec>.answers.md` has a heading `## <claim>` for each claim that is answered; what follows it, to the
next such heading, is shown on the claim's page as the authors' words.
"""

from __future__ import annotations

from pathlib import Path

from markdown_it import MarkdownIt

from harness.errors import HarnessError
from harness.links import refuse_links
from harness.report.manual import read_page
from harness.spec.model import Spec

SUFFIX = ".answers.md"
_CLAIM = "## "


def read_answers(spec: Spec, file: Path) -> dict[str, str]:
    """The authors' answers by claim of a spec whose file is given, as HTML without images or markup of their own.

    Raises HarnessError, with file and line, for an answer to a claim that the spec does not have, or to none, and for a
    file that is a link, since what it leads to would be published.
    """
    path = file.with_name(file.name.removesuffix(".yaml") + SUFFIX)
    if not path.is_file():
        return {}
    refuse_links(path, path.parent)
    known, texts, claim = {c.id for c in spec.claims}, dict[str, list[str]](), ""
    for number, line in enumerate(read_page(path).splitlines(), 1):
        if line.startswith(_CLAIM) and (heading := line.removeprefix(_CLAIM).strip(" ")):
            claim = heading
            if claim not in known:
                raise HarnessError(f"{path}:{number}: answers the claim {claim!r}; known: {', '.join(sorted(known))}")
            texts[claim] = []
        elif claim:
            texts[claim].append(line)
        elif line.strip() and not line.startswith("# "):
            raise HarnessError(f"{path}:{number}: text before the first heading `## <claim>`; begin with one")
    render = MarkdownIt("commonmark", {"html": False}).disable("image").render
    return {claim: render("\n".join(lines).strip()) for claim, lines in texts.items()}
