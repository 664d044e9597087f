"""A small project, and what an attacker who may write into a project's folder would make of it.

`build_project` makes an honest one that is judged and has a site. `mutate` changes a copy of it by one to three of
`MUTATIONS`, drawn from a seed: hostile names, links, texts, code, sizes and encodings. Whatever of it is run leaves a
file called `PWNED`; whatever lies beside the project holds `SECRET`.
"""

from __future__ import annotations

import base64
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

SECRET = "SECRET-7261-beside-the-project"
PWNED = "PWNED"
SPECS = ("specs/study/a.yaml", "specs/study/b.yaml")
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)
_SPEC = """\
paper: study
title: "{title}"
where: Table 1
experiment:
  kind: table
  path: {path}
  format: wide
  arms: {{plain: {{label: "no noise"}}, dp: {{}}}}
  axes: [epsilon]
  metrics: {{accuracy: [0, 1], advantage: {{scope: model}}}}
claims:
  - id: mine
    where: here
    statement: "accuracy is higher with plain than with dp."
    origin: paper
    quotes: [{{section: "Section 1", text: "higher"}}]
    hedge: "No hedge."
    expect: {{kind: compare, left: {{metric: accuracy, arm: plain}}, relation: ">", right: {{arm: dp}}}}
    note: "A note."
  - id: other
    where: there
    statement: "accuracy is at most one."
    expect: {{kind: compare, left: {{metric: accuracy, arm: plain}}, relation: "<=", right: {{value: 1}}}}
deviations: ["Fewer runs."]
figure:
  - {{title: "Accuracy", metrics: [accuracy], arms: [plain, dp], x: epsilon, y: accuracy}}
"""
_PAPERS = """\
study:
  title: "A paper"
  authors: "A. Author, B. Author"
  year: 2020
  url: "https://example.org/paper"
  about: "What it is about."
"""
_CITATION = """\
cff-version: 1.2.0
message: "Please cite it."
title: "A study"
license: MIT
authors: [{name: "Somebody"}]
repository-code: "https://example.org/code"
"""


def build_project(root: Path) -> None:
    """Write an honest project: two specs on results from elsewhere, citations, an answer, documentation."""
    draw = random.Random(0)
    rows = [
        f"{arm},{epsilon},{repeat},{0.7 + 0.1 * (arm == 'plain') + draw.gauss(0, 0.01):.4f},{draw.gauss(0, 0.01):.4f}"
        for arm in ("plain", "dp")
        for epsilon in (1, 10)
        for repeat in range(6)
    ]
    (root / "specs" / "study").mkdir(parents=True)
    (root / "docs" / "images").mkdir(parents=True)
    for spec, title in zip(SPECS, ("One", "Two"), strict=True):
        (root / spec).write_text(_SPEC.format(title=title, path="runs.csv"))
    (root / "specs/study/runs.csv").write_text("arm,epsilon,repeat,accuracy,advantage\n" + "\n".join(rows) + "\n")
    (root / "specs/study/a.answers.md").write_text("## mine\n\nThe authors say [this](https://example.org/answer).\n")
    (root / "specs/papers.yaml").write_text(_PAPERS)
    (root / "CITATION.cff").write_text(_CITATION)
    (root / "params.yaml").write_text("profile: full\nprofiles:\n  full: {}\n")
    (root / "docs/README.md").write_text("# Documentation\n\nThis page leads to [another](page.md).\n")
    (root / "docs/page.md").write_text("# A page\n\nThis page has a picture.\n\n![a pixel](images/pixel.png)\n")
    (root / "docs/images/pixel.png").write_bytes(PIXEL)


def build_neighbours(folder: Path) -> None:
    """Write what lies beside a project and is none of its business."""
    folder.mkdir(parents=True)
    (folder / "secret.txt").write_text(SECRET + "\n")
    (folder / "secret.yaml").write_text(f"title: {SECRET}\n")
    (folder / "secret.csv").write_text(f"arm,epsilon,repeat,accuracy\n{SECRET},1,0,0.5\n")
    (folder / "secret.png").write_bytes(PIXEL + SECRET.encode())
    (folder / "page.html").write_text(f"<p>{SECRET}</p>")
    (folder / "docs").mkdir()
    (folder / "docs" / "README.md").write_text(f"# {SECRET}\n")


# --- What is hostile


_RUN = f"touch {PWNED}"
CODE = f"open({PWNED!r}, 'w').write('run')\n"
TEXTS: tuple[str, ...] = (
    "<script src=https://evil.example/x.js></script>",
    "<img src=https://evil.example/x.gif onerror=alert(1)>",
    "\"><svg onload=alert(1)><style>@import 'https://evil.example/x.css'</style>",
    "</title></head><base href=https://evil.example/><iframe src=//evil.example>",
    "--><script>alert(1)</script><!--",
    "javascript:alert(1)",
    "![t](https://evil.example/track.gif) [l](javascript:alert(1)) <https://evil.example>",
    "{{ 7 * 7 }} {% include '/etc/passwd' %}",
    f"$({_RUN}) `{_RUN}` ; {_RUN} ; '{_RUN}'",
    f"' ; {_RUN} ; '",
    f'" ; {_RUN} ; "',
    "[red]bold[/red] [/x] [link=https://evil.example]l[/link]",
    "\x1b[2J\x1b]0;owned\x07\x1b[31m",
    "\x9b2J\x9d0;owned\x9c",
    "\u202egnp.exe\u202c \u2066x\u2069 \u200b\ufeff",
    '=HYPERLINK("https://evil.example";"x")',
    "+1+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "line one\n# Heading\n| a | b |\n- [x] done",
    "\r\nSet-Cookie: x=1\r\n",
    "]]><x xmlns='y'>&amp;&lt;&#0;",
    "%s %n %x {0.__class__} ${HOME} %HOME%",
    "a" * 20_000,
    " " * 3000 + "x",
    "é" * 300 + "\u0301" * 300,
    "../" * 12 + "etc/passwd",
    "\ud7ff\ue000\uffff\U0010ffff",
    "NaN",
    "-0",
    "",
)
NAMES: tuple[str, ...] = (
    "a b",
    "a#b",
    f"x$({_RUN})",
    f"x`{_RUN}`",
    f"x;{_RUN};",
    f"x'; {_RUN}; '",
    "[red]",
    "[/x]",
    '"><b>',
    "<img src=x>",
    "-rf",
    "--help",
    "new\nline",
    "\x1b[2J",
    "\u202etxt",
    "..a",
    "...",
    "a-b",
    "study-a",
    "ünïcode",
    "%2e%2e%2f",
    "con",
    "x" * 200,
    "{{x}}",
    "&a",
    "*",
    "a:b",
    "a\\b",
    "'",
    "~",
    "CAPS",
    "index",
    "javascript:alert(1)",
)
PATHS: tuple[str, ...] = (
    "../outside/secret.csv",
    "../../../outside/secret.csv",
    "/etc/passwd",
    "/dev/zero",
    "/dev/stdin",
    "/proc/self/environ",
    "fifo",
    ".",
    "specs",
    "https://evil.example/runs.csv",
    "file:///etc/passwd",
    "~/runs.csv",
    "runs.csv\x00",
    "",
    "a" * 5000,
)
NUMBERS: tuple[str, ...] = (
    "1000000000",
    "-1",
    "1e308",
    "1e999",
    ".nan",
    "true",
    "0x" + "f" * 4000,
    "9" * 4000,
    "1_000",
    "0o17",
    "12:30:45",
    "2020-01-01",
    "null",
    "[1, 2]",
    "{a: 1}",
)
MODULES = ("selectors.py", "json.py", "harness.py", "sitecustomize.py", "pandas.py", "typing.py", "pip.py", "yaml.py")
VALUES: tuple[str, ...] = (
    f'!!python/object/apply:os.system ["{_RUN}"]',
    f'!!python/object/new:subprocess.check_output [["touch", "{PWNED}"]]',
    "!!binary aGVsbG8=",
    "&a [*a]",
    "*undefined",
    "{<<: {title: merged}, title: own}",
    "! ''",
    "!!set {a, b}",
    "[" * 900 + "]" * 900,
)

Mutation = Callable[[Path, random.Random], None]
MUTATIONS: list[Mutation] = []


def mutate(root: Path, seed: int) -> list[str]:
    """Change a project by one to three mutations drawn from a seed. Returns their names."""
    draw = random.Random(seed)
    chosen = draw.choices(MUTATIONS, k=draw.choice((1, 1, 2, 3)))
    for mutation in chosen:
        mutation(root, draw)
    return [mutation.__name__ for mutation in chosen]


def _mutation(change: Mutation) -> Mutation:
    MUTATIONS.append(change)
    return change


def _quote(text: str) -> str:
    """A YAML scalar in double quotes."""
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{escaped}"'


def _replace_first(path: Path, pattern: str, text: str, draw: random.Random) -> None:
    """Put a text in the place of one match of a pattern, where the file is there and has one."""
    if not path.is_file() or path.is_symlink():
        return
    content = path.read_text(encoding="utf-8", errors="replace")
    matches = list(re.finditer(pattern, content))
    if matches:
        match = draw.choice(matches)
        path.write_text(
            content[: match.start()] + text + content[match.end() :], encoding="utf-8", errors="surrogatepass"
        )


def _move(root: Path, old: str, new: str) -> None:
    """Rename a file of the project, where it is there and its new name may be had."""
    try:
        (root / new).parent.mkdir(parents=True, exist_ok=True)
        (root / old).rename(root / new)
    except (OSError, ValueError):
        return


def _link(root: Path, place: str, to: str) -> None:
    """Put a symbolic link in the place of a file or folder."""
    path = root / place
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(to)
    except OSError:  # a file or a loop stands where a folder would
        return


def _files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())


@_mutation
def text_of_a_spec(root: Path, draw: random.Random) -> None:
    """Something between double quotes in a spec says something hostile."""
    _replace_first(root / draw.choice(SPECS), r'"[^"\n]*"', _quote(draw.choice(TEXTS)), draw)


@_mutation
def value_of_a_spec(root: Path, draw: random.Random) -> None:
    """A value in a spec is a tag, an alias or a nest."""
    _replace_first(root / draw.choice(SPECS), r'"[^"\n]*"|(?<=: )[a-z]+(?=[,}\n])', draw.choice(VALUES), draw)


@_mutation
def text_of_a_citation(root: Path, draw: random.Random) -> None:
    """Something in the citations says something hostile."""
    _replace_first(
        root / draw.choice(("specs/papers.yaml", "CITATION.cff")), r'"[^"\n]*"', _quote(draw.choice(TEXTS)), draw
    )


@_mutation
def name_in_a_spec(root: Path, draw: random.Random) -> None:
    """An arm, a claim, a metric or an axis has a hostile name everywhere in a spec."""
    path, old = root / draw.choice(SPECS), draw.choice(("plain", "mine", "epsilon", "accuracy", "study"))
    if path.is_file() and not path.is_symlink():
        name = draw.choice((*NAMES, *TEXTS))
        content = path.read_text(encoding="utf-8", errors="replace")
        path.write_text(re.sub(rf"\b{old}\b", lambda _: _quote(name), content), encoding="utf-8", errors="replace")


@_mutation
def number_in_a_spec(root: Path, draw: random.Random) -> None:
    """A number is none, or far too large."""
    added = draw.choice(("repeats", "repeat_unit", "spread", "separator", "seed"))
    path = root / draw.choice(SPECS)
    if draw.random() < 0.5:
        _replace_first(path, r"\b\d+\b", draw.choice(NUMBERS), draw)
    else:
        _replace_first(path, r"\n  format: wide", f"\n  format: wide\n  {added}: {draw.choice(NUMBERS)}", draw)


@_mutation
def path_of_results(root: Path, draw: random.Random) -> None:
    """Results are read from elsewhere."""
    os.mkfifo(root / "specs/study/fifo") if not (root / "specs/study/fifo").exists() else None
    spec, path = root / draw.choice(SPECS), draw.choice(PATHS)
    if draw.random() < 0.7:
        _replace_first(spec, r"path: runs\.csv", f"path: {_quote(path)}", draw)
    else:
        _replace_first(spec, r"^paper: study", f"extends: {_quote(path)}\npaper: study", draw)


@_mutation
def name_of_a_spec(root: Path, draw: random.Random) -> None:
    """A spec's file, or its folder, has a hostile name."""
    name = draw.choice(NAMES).replace("/", "")
    old = draw.choice(SPECS)
    _move(root, old, draw.choice((f"specs/study/{name}.yaml", f"specs/{name}.yaml", f"specs/study/{name}/a.yaml")))


@_mutation
def specs_that_meet(root: Path, draw: random.Random) -> None:
    """Two specs whose pages, figures or tables could have one name."""
    copy = draw.choice(("specs/study-a.yaml", "specs/study/a/b.yaml", "specs/study/a-b.yaml", "specs/study/a--b.yaml"))
    (root / copy).parent.mkdir(parents=True, exist_ok=True)
    if (root / SPECS[0]).is_file():
        shutil.copy(root / SPECS[0], root / copy)
        _replace_first(root / copy, r"path: runs\.csv", "path: ../study/runs.csv", draw)


@_mutation
def profile(root: Path, draw: random.Random) -> None:
    """A profile's name leads out of the project, or its limits are none."""
    name = draw.choice(("../outside", "../../outside", "/tmp/outside", *NAMES, *TEXTS[:12]))
    limits = draw.choice(("{}", "{repeats: 1000000000}", "{max_repeats: -1}", "{papers: {study: {repeats: 1e999}}}"))
    (root / "params.yaml").write_text(
        f"profile: {_quote(name)}\nprofiles:\n  {_quote(name)}: {limits}\n", encoding="utf-8", errors="replace"
    )


@_mutation
def link_out(root: Path, draw: random.Random) -> None:
    """A file or a folder of the project is a link out of it, or onto itself."""
    place = draw.choice(
        (
            *SPECS,
            "specs/papers.yaml",
            "specs/study/runs.csv",
            "specs/study/a.answers.md",
            "CITATION.cff",
            "params.yaml",
            "docs/page.md",
            "docs/images/pixel.png",
            "docs",
            "reports",
            "reports/full",
            "reports/full/site",
            "reports/full/site/claims",
            "reports/full/site/index.html",
            "reports/full/study/a",
            "reports/full/study/a/verdicts.json",
            "reports/full/verdicts.json",
            "reports/full/baseline.json",
            ".harness",
            "models",
        )
    )
    outside = root.parent / "outside"
    to = draw.choice((".", place.split("/")[-1], "/dev/zero", "/etc/passwd", str(outside), str(outside / "secret.yaml"),
                      str(outside / "page.html"), str(outside / "docs"), str(outside / "new-file")))  # fmt: skip
    _link(root, place, to)


@_mutation
def documentation(root: Path, draw: random.Random) -> None:
    """A page of the documentation shows or links what is not its own."""
    text = draw.choice(
        (
            "![p](../../outside/secret.png)",
            "![p](../../outside/secret.txt)",
            "![p](../specs/papers.yaml)",
            "![p](/etc/passwd)",
            "![p](//evil.example/x.png)",
            "![p](data:text/html,<script>alert(1)</script>)",
            "[p](javascript:alert(1)) [q](data:text/html,x) [r](vbscript:x)",
            "<script>alert(1)</script>\n\n<img src=https://evil.example/x>",
            "[x]: javascript:alert(1)\n\n[x]",
            *TEXTS,
        )
    )
    name = draw.choice(("page", "README", "javascript:alert(1)%2f%2f", "notes/x", "index", "reference", *NAMES[:8]))
    try:
        path = root / "docs" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {draw.choice(TEXTS)}\n\n{text}\n", encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return


@_mutation
def answer(root: Path, draw: random.Random) -> None:
    """An author's answer has markup, images and links."""
    path = root / "specs/study/a.answers.md"
    if not path.is_symlink():
        path.write_text(
            f"## mine\n\n{draw.choice(TEXTS)}\n\n{draw.choice(TEXTS)}\n", encoding="utf-8", errors="replace"
        )


@_mutation
def code(root: Path, draw: random.Random) -> None:
    """Modules that Python could take for its own lie in the folder."""
    for name in draw.sample(MODULES, 3):
        (root / name).write_text(CODE)
    (root / "evil.pth").write_text(f"import os; os.system('{_RUN}')\n")


@_mutation
def repository(root: Path, draw: random.Random) -> None:
    """The folder is a repository whose settings run commands."""
    git = root / ".git"
    for folder in ("objects", "refs/heads", "hooks"):
        (git / folder).mkdir(parents=True, exist_ok=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    run = f"touch {root}/{PWNED}"
    (git / "config").write_text(
        f'[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "{run} #"\n\tpager = "{run} #"\n\thooksPath = {git}/hooks\n'
        f'[filter "x"]\n\tclean = "{run} #"\n[diff]\n\texternal = "{run} #"\n'
    )
    (root / ".gitattributes").write_text("* filter=x diff=x\n")
    for hook in ("post-index-change", "pre-commit", "fsmonitor-watchman"):
        (git / "hooks" / hook).write_text(f"#!/bin/sh\n{run}\n")
        (git / "hooks" / hook).chmod(0o755)


@_mutation
def results(root: Path, draw: random.Random) -> None:
    """The file of results has hostile cells, another encoding, or one row too large."""
    path = root / "specs/study/runs.csv"
    if path.is_symlink() or not path.is_file():
        return
    lines = path.read_bytes().split(b"\n")
    if len(lines) < 4:  # an earlier mutation has left little of it
        return
    cell = draw.choice(TEXTS).replace('"', '""').encode("utf-8", "replace")
    change = draw.randrange(7)
    if change == 0:
        lines[draw.randrange(1, len(lines))] = b'"' + cell + b'",1,0,0.5,0.1'
    elif change == 1:
        lines[0] = b'arm,epsilon,repeat,accuracy,"' + cell + b'"'
    elif change == 2:
        lines = [path.read_text().encode(draw.choice(("utf-16", "utf-32", "cp037")))]
    elif change == 3:
        lines[3] = b"plain,1,2,1" + b" " * 100_000 + b"x,0"
    elif change == 4:
        lines[2] = b"\x00\xff\xfe" + lines[2]
    elif change == 5:
        lines = [b"\x1f\x8b\x08\x00" + draw.randbytes(200)]
    else:
        lines[0] += b',"' + b"x" * 200_000 + b'"'
    path.write_bytes(b"\n".join(lines))


@_mutation
def encoding(root: Path, draw: random.Random) -> None:
    """A text of the project is written in another encoding, or has bytes that no encoding has."""
    path = root / draw.choice((*SPECS, "specs/papers.yaml", "CITATION.cff", "params.yaml", "docs/page.md"))
    if path.is_symlink() or not path.is_file():
        return
    content = path.read_bytes()
    at = draw.randrange(len(content) + 1)
    path.write_bytes(
        draw.choice(
            (
                b"\xef\xbb\xbf" + content,
                content.replace(b"\n", b"\r\n"),
                content.replace(b"\n", b"\r"),
                content[:at] + b"\xff\xfe\x00" + content[at:],
                content[:at] + b"\x00" + content[at:],
                content[:at],
                content.decode("utf-8", "replace").encode("utf-16"),
                content + b"\n" + content,
                b"",
                b"\t" + content,
                content[:at] + "\u2028\u0085".encode() + content[at:],
            )
        )
    )


@_mutation
def size(root: Path, draw: random.Random) -> None:
    """A text is far larger than anybody would write it."""
    path = root / draw.choice((*SPECS, "specs/papers.yaml", "params.yaml", "CITATION.cff"))
    if path.is_symlink() or not path.is_file():
        return
    content = path.read_text(encoding="utf-8", errors="replace")
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
    )
    more = draw.choice((bomb, "# " + "x" * 3_000_000, "extra: [" + "1, " * 300_000 + "1]\n", "k: " + "[" * 3000))
    path.write_text(f"{content}\n{more}", encoding="utf-8", errors="replace")


@_mutation
def bytes_of_a_file(root: Path, draw: random.Random) -> None:
    """One to eight bytes of any file are other ones: of tables, verdicts, pages too."""
    files = [path for path in _files(root) if path.stat().st_size]
    path = draw.choice(files)
    content = bytearray(path.read_bytes())
    for _ in range(draw.randint(1, 8)):
        content[draw.randrange(len(content))] = draw.randrange(256)
    path.write_bytes(content)


@_mutation
def removed(root: Path, draw: random.Random) -> None:
    """A file is missing, or a folder stands in its place."""
    path = draw.choice(_files(root))
    path.unlink()
    if draw.random() < 0.3:
        path.mkdir()
