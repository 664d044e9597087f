"""Fills what the docs take from somewhere else: `python docs/fill.py [--write]`; tests/test_docs.py asks whether it is.

A number that a comment follows is taken from what the comment names, to as many decimals as stand there, and times 100
where a per cent sign stands between them:

    0.92<!-- humphries2020/fig6#logloss-cap value -->   of the point that decides; or low, high, line, at, repeats
    0.07<!-- humphries2020/fig2#modest value epsilon=1 -->   of another point
    0.58<!-- rahimian2021/location30 mean accuracy_test arm=victim -->   a mean over repeats of the committed table
    7<!-- humphries2020 count claims verdict=reproduced -->  claims of a paper, by columns of claims.csv
    1.2<!-- benchmarks/results.json engines/results/fast * 1000 -->   a number in a file; of a list, its median
    0.24<!-- formula humphries epsilon=0.5 delta=1e-5 -->   a registered formula
    8.4<!-- accountant gaussian of=rdp epsilon=1 -->   an accountant's ε of the noise that another gives for an ε
    0.81<!-- accountant rdp noise=7 n=10000 -->   an accountant's ε of a noise multiplier
    47<!-- core-hours -->   what the flagship's tables and those of readings took on one core, by their own clock;
                            of a paper that is named
    3<!-- tables-without-clock -->   of these, how many do not say
    205<!-- claims-of-papers measured -->   claims of papers that are proved or on their data; of these those that are
                            `measured`, are open for want of `models`, or lie too `close` to their margin
    434<!-- core-hours-to-decide -->   the costs that open claims of papers print, added up; of a paper that is named

Accountants are asked for 100 epochs of batches of 200, from 10,000 records unless `n` says otherwise. `paper:` before a
spec takes it from the profile `paper` instead of the flagship. Between `<!-- begin NAME -->` and `<!-- end -->` stands
what `BLOCKS` makes.
"""

from __future__ import annotations

import ast
import csv
import functools
import json
import math
import re
import statistics
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from harness.claims.verdict import Point, Verdict
from harness.execution.table import read_table
from harness.extensions.survey.page import WORDS as DISCOVERIES
from harness.extensions.survey.ranking import BELOW, TURNED
from harness.formulas import FORMULAS
from harness.paths import Project
from harness.privacy.accountants import ACCOUNTANTS
from harness.privacy.accountants.accountant import Run
from harness.report.findings import SORTS, findings_that_hold, read_findings
from harness.report.gather import SPENT
from harness.report.manual import PARTS, first_sentence, page_paths, title_of
from harness.report.prose import deciding_point, left_interval
from harness.report.vocabulary import figure
from harness.spec.load import Loaded, load_specs

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", DOCS / "README.md", *page_paths(DOCS).values())
_NUMBER = re.compile(r"(?P<number>[−-]?\d[\d,]*(?:\.\d+)?)(?P<percent>%?)<!-- (?P<source>[^>]+?) -->")
_BLOCK = re.compile(r"(?s)(<!-- begin ([a-z-]+) -->\n).*?(<!-- end -->)")
_PER_ROW = {
    "delta",
    "accountant",
    "noise_multiplier",
    "repeat",
    "value",
    "stderr",
    "n",
    "cell",
    "work",
    "code",
    "outcome",
}
"""Columns of a table that may differ among rows of one mean."""
_FIELDS = {"value": "left", "line": "right", "left": "left", "right": "right", "effect": "effect", "repeats": "repeats"}


def filled(page: Path) -> str:
    """The text of a page with numbers and blocks as they are now. Raises ValueError for a source without a number."""

    def number(match: re.Match[str]) -> str:
        try:
            value = value_of(match["source"]) * (100 if match["percent"] else 1)
        except (KeyError, LookupError, ValueError) as error:
            raise ValueError(f"{page.name}: {match['source']}: {error}") from error
        decimals = len(match["number"].partition(".")[2])
        minus = "−" if match["number"].startswith("−") else "-"
        text = f"{value:,.{decimals}f}" if "," in match["number"] or value >= 10_000 else f"{value:.{decimals}f}"
        return f"{text.replace('-', minus)}{match['percent']}<!-- {match['source']} -->"

    text = page.read_text(encoding="utf-8")
    text = _BLOCK.sub(lambda match: match[1] + BLOCKS[match[2]](page) + match[3], text)
    return _NUMBER.sub(number, text)


def value_of(source: str) -> float:
    """The number that a source names."""
    words = source.split()
    scale = 1.0
    if len(words) > 2 and words[-2] in ("*", "/"):
        scale = float(words[-1]) if words[-2] == "*" else 1 / float(words[-1])
        words = words[:-2]
    first, rest = words[0], words[1:]
    if first == "formula":
        return scale * FORMULAS[rest[0]].value({key: float(value) for key, value in _pairs(rest[1:]).items()})
    if first == "accountant":
        return scale * _of_accountant(rest[0], _pairs(rest[1:]))
    if first == "core-hours":
        return scale * _core_hours(*rest)
    if first == "tables-without-clock":
        return scale * sum(not _seconds(table) for table in _tables("*"))
    if first == "claims-of-papers":
        return scale * len(_claims_of_papers(*rest))
    if first == "core-hours-to-decide":
        return scale * _core_hours_to_decide(*rest)
    if first.endswith(".json"):
        return scale * _of_file(first, " ".join(rest))
    profile, _, name = first.rpartition(":")
    profile = profile or "sequential"
    if rest[0] == "count":
        where = _pairs(rest[2:])
        rows = [row for row in _claims(profile) if row["paper"] == name or row["id"].startswith(f"{name}#")]
        return scale * sum(all(row[key] == value for key, value in where.items()) for row in rows)
    if "#" in name:
        return scale * _of_verdict(profile, name, rest[0], _pairs(rest[1:]))
    return scale * _mean(profile, name, rest[1], _pairs(rest[2:]))


def _pairs(words: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words)


@functools.cache
def _run_of(records: int) -> Run:
    return Run(records, 200, 100, 1e-5)


def _of_accountant(name: str, where: Mapping[str, str]) -> float:
    run = _run_of(int(where.get("n", "10000")))
    noise = where.get("noise")
    multiplier = float(noise) if noise else ACCOUNTANTS[where["of"]].noise_multiplier(float(where["epsilon"]), run)
    return float(ACCOUNTANTS[name].epsilon(multiplier, run))


def _tables(paper: str) -> list[Path]:
    """The flagship's tables and those of its readings."""
    reports = ROOT / "reports/sequential"
    tables = reports.glob(f"{paper}/**/measurements.parquet")
    return sorted(table for table in tables if table.relative_to(reports).parts[0] != "site")


@functools.cache
def _seconds(table: Path) -> float:
    return float(sum(read_table(table).attrs.get(SPENT, {}).values()))


def _core_hours(paper: str = "*") -> float:
    return sum(_seconds(table) for table in _tables(paper)) / 3600


def _core_hours_to_decide(paper: str = "*") -> float:
    """What open claims of papers, on their own data, say that deciding them would cost; one without a cost counts 0."""
    hours = 0.0
    for verdict in _claims_of_papers("models"):
        cost = re.search(r"([\d.,]+) (hours?|minutes?|seconds?) on one core", verdict["would_decide"])
        if cost and paper in ("*", verdict["paper"]):
            hours += float(cost[1].replace(",", "")) / {"h": 1, "m": 60, "s": 3600}[cost[2][0]]
    return hours


def _claims_of_papers(which: str = "") -> list[dict[str, Any]]:
    """The flagship's verdicts on claims of papers that are proved or on their data, or some of these."""
    verdicts = json.loads((ROOT / "reports/sequential/verdicts.json").read_text(encoding="utf-8"))["verdicts"]
    own = [
        v for v in verdicts if v["claim"]["origin"] == "paper" and v["rests_on"]["data"] in ("paper", "smaller", "none")
    ]
    if which == "measured":
        return [v for v in own if v["rests_on"]["data"] != "none"]
    if not which:
        return own
    starts = {
        "models": ("about",),
        "close": ("more than", "no number"),
        "readings": ("this reading", "these ", "in the reading"),
    }[which]
    return [v for v in own if v["verdict"] == "inconclusive" and (v["would_decide"] or "").startswith(starts)]


def _of_file(path: str, keys: str) -> float:
    value = json.loads((ROOT / path).read_text(encoding="utf-8"))
    for key in keys.split("/"):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return float(statistics.median(value) if isinstance(value, list) else value)


@functools.cache
def _claims(profile: str) -> list[dict[str, str]]:
    with (ROOT / "reports" / profile / "claims.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@functools.cache
def _spec(name: str) -> Loaded:
    return load_specs(Project(ROOT), [name])[0]


@functools.cache
def _verdicts(profile: str, spec: str) -> Mapping[str, Verdict]:
    data = json.loads((ROOT / "reports" / profile / spec / "verdicts.json").read_text(encoding="utf-8"))
    return {verdict["id"]: Verdict.model_validate(verdict) for verdict in data["verdicts"]}


def _of_verdict(profile: str, name: str, field: str, where: Mapping[str, str]) -> float:
    verdict = _verdicts(profile, name.partition("#")[0])[name]
    if not where and verdict.numbers.counterexample and field in verdict.numbers.counterexample:
        return float(verdict.numbers.counterexample[field])
    point = _point(verdict, where)
    if field == "at":
        return float(point.epsilon or 0)
    if field in ("low", "high"):
        spec = _spec(verdict.spec).spec
        claim = next(claim for claim in spec.claims if f"{spec.id}#{claim.id}" == name)
        interval = left_interval(spec.parts(claim)[point.expectation], point)
        end = interval[field == "high"] if interval else None
        if end is None:
            raise ValueError("no such end of an interval")
        return float(end)
    return float(getattr(point, _FIELDS[field]))


def _point(verdict: Verdict, where: Mapping[str, str]) -> Point:
    if not where:
        point = deciding_point(verdict)
        if point is None:
            raise ValueError("no point decides it")
        return point
    for point in verdict.numbers.points:
        known = {"epsilon": point.epsilon, "part": point.expectation, **(point.at or {})}
        if all(_same(known.get(key), value) for key, value in where.items()):
            return point
    raise LookupError(f"no point at {dict(where)}")


def _same(known: object, said: str) -> bool:
    if isinstance(known, int | float) and not isinstance(known, bool):
        return math.isclose(float(known), float(said), rel_tol=1e-9)
    return str(known) == said


@functools.cache
def _table(profile: str, spec: str) -> pd.DataFrame:
    return pd.read_parquet(ROOT / "reports" / profile / spec / "measurements.parquet")


def _mean(profile: str, spec: str, metric: str, where: Mapping[str, str]) -> float:
    table = _table(profile, spec)
    kept = table[table["metric"] == metric]
    for column, said in where.items():
        kept = kept[[_same(value, said) for value in kept[column]]]
    if kept.empty:
        raise LookupError("no such rows")
    several = [c for c in kept.columns if c not in _PER_ROW and kept[c].nunique(dropna=False) > 1]
    if several:
        raise ValueError(f"rows of several values of {', '.join(several)}")
    return float(kept["value"].mean())


# --- blocks


def _findings(page: Path) -> str:
    """Every finding of `specs/findings.yaml` whose claims have the verdicts that it names, by its sort."""
    del page
    declared = read_findings(ROOT / "specs" / "findings.yaml")
    names = {rests.claim.partition("#")[0] for finding in declared for rests in finding.rests.values()}
    verdicts = {key: verdict for name in names for key, verdict in _verdicts("sequential", name).items()}
    kept, _ = findings_that_hold(declared, verdicts, {name: _spec(name).spec for name in names})
    lines: list[str] = []
    for sort in SORTS:
        of_sort = [shown for shown in kept if shown.finding.sort == sort]
        lines += [f"## {sort[0].upper()}{sort[1:]}", ""] if of_sort else []
        for shown in of_sort:
            claims = ", ".join(f"`{claim.id}`" for claim in shown.claims)
            text = f"**{shown.title}** ({shown.finding.where}). {shown.text}"
            lines += [*textwrap.wrap(text, 120, break_on_hyphens=False), "", f"Rests on {claims}.", ""]
    return "\n".join(lines)


def _contents(page: Path) -> str:
    """All pages, by their part, each with what it is for."""
    del page
    paths = page_paths(DOCS)
    lines: list[str] = []
    for part, names in PARTS.items():
        lines += [f"## {part}", ""]
        if part == "Contribute":
            lines.append(
                "- [CONTRIBUTING](../CONTRIBUTING.md): set-up, tests, where things go, and the rules for changes."
            )
        for name in names:
            text = paths[name].read_text(encoding="utf-8")
            line = f"- [{title_of(text)}]({paths[name].relative_to(DOCS).as_posix()}): {first_sentence(text)}"
            lines += textwrap.wrap(line, 120, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
        lines.append("")
    return "\n".join(lines)


def _layers(page: Path) -> str:
    """The layers of `tests/test_imports.py`, the highest first, each package with the first line of its docstring."""
    del page
    tree = ast.parse((ROOT / "tests" / "test_imports.py").read_text(encoding="utf-8"))
    (order,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and [getattr(name, "id", "") for name in node.targets] == ["ORDER"]
    )
    lines = ["```text"]
    for floor in reversed(order):
        packages = floor.split()
        width = max(len(name) for name in packages)
        lines += [f"{name:{max(width, 12)}}  {_docline(name)}" for name in packages] + ["-" * 12]
    return "\n".join([*lines[:-1], "```", ""])


def _docline(name: str) -> str:
    path = ROOT / "harness" / name
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    line = " ".join((ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0].split())
    return line.split(". ")[0].rstrip(".").split("; ")[0]


# --- tables of benchmarks/calibration.json


@functools.cache
def _calibration() -> Any:
    return json.loads((ROOT / "benchmarks" / "calibration.json").read_text(encoding="utf-8"))


def _table_text(header: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, ["---"] * len(header), *rows))


def _percent(value: float, decimals: int = 0) -> str:
    return f"{100 * value:.{decimals}f}%"


def _level(page: Path) -> str:
    """How often means on the margin are told from it, by shape of results."""
    del page
    fixed, looked = [f"fixed, {n}" for n in (6, 10, 20, 40)], [f"looked, at most {n}" for n in (10, 40, 120)]
    rows = []
    for noise, row in _calibration()["level"]["wrong"].items():

        def cells(names: list[str], key: str, row: dict[str, Any] = row) -> str:
            return " / ".join(_percent(row[name][key], 1) for name in names)

        columns = [cells(names, key) for names in (fixed, looked) for key in ("shape", "shape, allowed")]
        allowed = [text if text != before else "the same" for before, text in (columns[:2], columns[2:])]
        bets = _percent(max(one["free"] for one in row.values()), 1)
        rows.append([noise, columns[0], allowed[0], columns[2], allowed[1], bets])
    header = ["results", "t-test, 6 / 10 / 20 / 40 repeats", "where the basis allows them"]
    header += ["sequential test, up to 10 / 40 / 120", "where the basis allows them", "bets, at most"]
    return _table_text(header, rows)


def _corrections(page: Path) -> str:
    """The level and power of the fixed t-test by the factor on the skewness."""
    del page
    by = {(row["noise"], row["n"]): row for row in _calibration()["corrections"]}
    noises = list(dict.fromkeys(noise for noise, _ in by))

    def cells(noise: str, key: str, decimals: int) -> str:
        return " / ".join(_percent(by[noise, n][key], decimals) for n in (6, 8, 10, 20))

    rows = [[noise, *(cells(noise, key, 1) for key in ("0", "4", "8"))] for noise in noises]
    for effect in (1, 2):
        powers = [cells(noises[0], f"{key}, at {effect} s.d.", 0) for key in ("0", "4", "8")]
        rows.append([f"power at {effect} s.d., Gaussian", *powers])
    return _table_text(["results", "1: 6 / 8 / 10 / 20 repeats", "**1 + 4/n**", "1 + 8/n"], rows)


def _claims_table(page: Path) -> str:
    """How often claims of known truth are judged wrongly, and at all."""
    del page
    fixed, sequential = (_calibration()["designs"][name] for name in ("fixed", "sequential"))
    names = {"true": "true", "false": "false", "margin": "exactly on the margin (any decision is wrong)"}
    pairs = [(names[key], fixed["truth"][key], sequential["truth"][key]) for key in names]
    pairs += [
        (f"on the margin, {name}", _on_margin(fixed, rare=rare), _on_margin(sequential, rare=rare))
        for name, rare in (("rare outcomes", True), ("other shapes", False))
    ]
    rows = [
        [
            name,
            f"{one['claims']:,}",
            *(_percent(row["wrong"], 2) for row in (one, two)),
            *(_percent(row["decided"]) for row in (one, two)),
        ]
        for name, one, two in [*pairs, ("all", fixed["all"]["all"], sequential["all"]["all"])]
    ]
    return _table_text(
        ["truth", "claims", "wrong, fixed", "wrong, sequential", "decided, fixed", "decided, sequential"], rows
    )


def _on_margin(design: dict[str, Any], *, rare: bool) -> dict[str, Any]:
    """What claims on the margin come to whose results do (`rare`), or do not, have an outcome that is seldom drawn."""
    by = design["margin, by noise and repeats"]
    rows = [row for name, row in by.items() if name.startswith("outcome of 1 in") == rare]
    claims = sum(row["claims"] for row in rows)
    shares = {key: sum(row[key] * row["claims"] for row in rows) / claims for key in ("wrong", "decided")}
    return {"claims": claims, **shares}


def _power(page: Path) -> str:
    """How often a claim on one point is decided."""
    del page
    fixed, sequential = (_calibration()["designs"][name]["power"] for name in ("fixed", "sequential"))
    rows = []
    for effect in ("0.5", "1", "2"):
        looked = [sequential[f"{effect}, {n}"] for n in (10, 40)]
        cells = [_percent(fixed[f"{effect}, {n}"]["decided"]) for n in (6, 10, 40)]
        rows.append([f"{effect} s.d.", *cells, *(f"{_percent(x['decided'])} ({x['repeats']:.1f})" for x in looked)])
    return _table_text(["distance from the margin", "fixed: 6 repeats", "10", "40", "sequential, of 10", "of 40"], rows)


def _bets(page: Path) -> str:
    """Median repeats until bets tell a mean from a number, by how the stake is divided."""
    del page
    rows = [[effect, *(f"{value:.0f}" for value in row.values())] for effect, row in _calibration()["bets"].items()]
    names = {"half on all of it": "**half on all of it**", "plug-in (ville)": "plug-in bets (ville)"}
    return _table_text(["effect", *(names.get(x, x) for x in next(iter(_calibration()["bets"].values())))], rows)


def _stakes(page: Path) -> str:
    """How often claims are decided within 120 repeats, by the share of the stake that waits for outcomes."""
    del page
    rows = [
        [
            row["outcomes"],
            f"{row['effect']:g}",
            *(f"{_percent(row[k])} ({row[f'{k}, repeats']:.0f})" for k in ("0", "0.25", "0.5")),
        ]
        for row in _calibration()["stakes"]
    ]
    return _table_text(["outcomes", "effect", "none waits", "**a quarter**", "half"], rows)


def _reach(page: Path) -> str:
    """How often a claim on one point is decided, by when a sequential run stops asking for repeats."""
    del page
    names = {
        "at most 40": "at most 40",
        "120, slack 0": "at most 120, no slack",
        "120, slack 1": "one error of slack",
        "120, slack 1, early 1.5": "**one error, 1.5 before 40**",
        "120, slack 1, early 1": "one error, one before 40",
        "120": "never given up",
    }
    rows = [
        [
            f"{row['effect']:g}",
            _percent(row["fixed"]),
            *(f"{_percent(row[k])} ({row[f'{k}, repeats']:.0f})" for k in names),
        ]
        for row in _calibration()["reach"]
    ]
    return _table_text(["effect", "fixed: 40", *names.values()], rows)


def _slopes(page: Path) -> str:
    """The sequential test's level and repeats by the least slope of its transform."""
    del page
    by = {(row["noise"], row["slope"]): row for row in _calibration()["slopes"]}
    slopes = (0.0, 0.1, 0.25, 4 / 9)
    known = {s for _, s in by}
    near = {slope: next(s for s in known if math.isclose(s, slope, abs_tol=0.01)) for slope in slopes}
    rows = []
    for noise in dict.fromkeys(noise for noise, _ in by):
        one = [by[noise, near[slope]] for slope in slopes]
        wrong = [f"{row['wrong, of 0.025']:.2f}, {row['wrong, of 0.0025']:.1f}" for row in one]
        rows.append([noise, *wrong, *(f"{row['2 s.d.']:.1f}, {row['2 s.d., 95%']:.0f}" for row in one)])
    header = ["results", "wrong, over the level: none", "0.1", "**a quarter**", "4/9"]
    return _table_text([*header, "repeats at 2 s.d.: none", "0.1", "**a quarter**", "4/9"], rows)


def _parts(page: Path) -> str:
    """What claims of several parts come to, by which of their parts get repeats."""
    del page
    by = {(row["parts"], row["repeats"], row["effects"]): row for row in _calibration()["parts"]}
    names = {
        "one fails clearly": "one part fails clearly: found violated",
        "one fails narrowly": "one fails narrowly: found violated",
        "half fail": "half of them fail: found violated",
        "all hold": "all hold: found reproduced",
    }
    sizes = [(4, 5), (9, 3), (4, 40)]
    rows = []
    for effects, name in names.items():
        cells = []
        for size in sizes:
            row = by[(*size, effects)]
            cells += [
                f"{_percent(row[f'{k}, right'])} ({row[f'{k}, models']:.0f})" for k in ("the clearest", "all open")
            ]
        rows.append([name, *cells])
    header = [
        text for parts, repeats in sizes for text in (f"{parts} parts, {repeats} repeats", "all open parts alike")
    ]
    return _table_text(["claim", *header], rows)


# --- tables of accountants


def _benchmark(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / f"{name}.json").read_text(encoding="utf-8"))


def _places(page: Path) -> str:
    """How often claims are contradicted all of whose places lie on their line, by shape and number of places."""
    del page
    by_shape: dict[str, list[dict[str, Any]]] = {}
    for row in _benchmark("standing")["points"]:
        by_shape.setdefault(row["results"], []).append(row)
    ways = [name for name in next(iter(by_shape.values()))[0] if name not in ("results", "points")]
    counts = " / ".join(str(row["points"]) for row in next(iter(by_shape.values())))
    rows = [
        [shape, *(" / ".join(_percent(row[way], 1) for row in of) for way in ways)] for shape, of in by_shape.items()
    ]
    return _table_text(["results", f"as they come out: {counts} places", "**at least the chance of a miss**"], rows)


def _standing(page: Path) -> str:
    """How many verdicts stand in a simulated world of claims, and how many of them are wrong, by rule."""
    del page
    rows = []
    for row in _benchmark("standing")["standing"]:
        rules = [row[name] for name in row if name not in ("results", "worlds")]
        rows.append([row["results"], *(f"{r['stand']:.0f}, {_percent(r['wrong'], 1)} wrong" for r in rules)])
    return _table_text(["results", "before", "**today**"], rows)


def _in_sight(page: Path) -> str:
    """How often claims that were written in sight of results are wrongly decided, by which repeats count."""
    del page
    rows = []
    for row in _benchmark("declared")["rows"]:
        cells = [row["results"], str(row["seen"]), str(row["candidates"])]
        rows.append([*cells, _percent(row["all"], 1), _percent(row["since"], 1)])
    return _table_text(["results", "repeats seen", "comparisons", "all repeats", "**those since**"], rows)


def _records(page: Path) -> str:
    """How often differences on the same records are told from their true value, by the least error that is taken."""
    del page
    rows = []
    for row in _benchmark("record_errors"):
        cells = []
        for floor in ("as if independent", "least possible", "none"):
            wrong, half, whole = (row[f"{floor}, {effect:g}"]["decided"] for effect in (0, 0.5, 1))
            cells.append(f"{_percent(wrong, 1)} ({_percent(half)}, {_percent(whole)})")
        rows.append([f"{row['records']}, {row['metric']}, {row['together']:g}", *cells])
    return _table_text(["records, metric, correlation", "independent", "**least possible**", "none"], rows)


def _worth(page: Path) -> str:
    """The noise of four accountants, and what it is worth on shuffled and on Poisson batches."""
    del page
    run = _run_of(10_000)
    rows = []
    for epsilon in (0.1, 1, 10, 100, 1000):
        cells = []
        for name in ("naive", "advanced", "zcdp", "rdp"):
            noise = ACCOUNTANTS[name].noise_multiplier(epsilon, run)
            low, high = ACCOUNTANTS["gaussian"].sides(noise, run)
            cells.append(
                f"{noise:.4g} ({_short(low)} to {_short(high)}; {_short(ACCOUNTANTS['pld'].epsilon(noise, run))})"
            )
        rows.append([f"{epsilon:g}", *cells])
    return _table_text(["nominal ε", "naive", "advanced", "zCDP", "RDP (Poisson)"], rows)


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def _declared(page: Path) -> str:
    """What the noise released with jayaraman2019 is worth."""
    del page
    released = {
        0.01: 525,
        0.05: 150,
        0.1: 70,
        0.5: 13.8,
        1: 7,
        5: 1.669,
        10: 1.056,
        50: 0.551,
        100: 0.445,
        500: 0.275,
        1000: 0.219,
    }
    kinds = {
        "by `rdp-2019`, 10,000 records": ("rdp-2019", 10_000),
        "by `rdp`, 10,000 records": ("rdp", 10_000),
        "by `rdp`, 2,059 records (COMPAS)": ("rdp", 2_059),
    }
    rows = [["noise multiplier", *(f"{noise:g}" for noise in released.values())]]
    for text, (name, n) in kinds.items():
        worth = [ACCOUNTANTS[name].epsilon(noise, _run_of(n)) for noise in released.values()]
        rows.append([text, *(f"{x:.3g}" if x < 999.5 else f"{x:,.0f}" for x in worth)])
    return _table_text(["nominal ε", *(f"{epsilon:g}" for epsilon in released)], rows)


# --- surveys of docs/surveys


TOP = 12
"""Member sets of a survey that its table shows."""


def _survey(name: str, page: Path) -> str:
    """How many splits of a survey show what; its first rows, and those on which the attack is turned round."""
    del page
    with (DOCS / "surveys" / f"{name}-survey.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    by_set: dict[str, list[dict[str, str]]] = {}
    for line in lines:
        by_set.setdefault(line["member_set"], []).append(line)
    told = [what for line in lines for what in line["discoveries"].split("; ") if what]
    splits = len(by_set)
    counts = "; ".join(f"{text} on {told.count(what)} of {splits} splits" for what, text in DISCOVERIES.items())
    epsilons = [line["epsilon"] for line in next(iter(by_set.values()))]
    rows = []
    negative = {line["member_set"] for line in lines if {BELOW, TURNED} & {*line["discoveries"].split("; ")}}
    for label in dict.fromkeys([*list(by_set)[:TOP], *(label for label in by_set if label in negative)]):
        of = by_set[label]
        shown = {one["epsilon"]: f"{figure(float(one['advantage']))}{_ends(one)}" for one in of}
        what = "; ".join(dict.fromkeys(DISCOVERIES[w] for one in of for w in one["discoveries"].split("; ") if w))
        blind = figure(float(of[0]["blind"])) if of[0]["blind"] else ""
        rows.append([f"`{label}`", *(shown.get(epsilon, "") for epsilon in epsilons), blind, what])
    names = ["no noise" if epsilon == "inf" else f"ε = {epsilon}" for epsilon in epsilons]
    sentence = textwrap.fill(f"{counts[:1].upper()}{counts[1:]}.", 120, break_on_hyphens=False)
    return f"{sentence}\n\n{_table_text(['members', *names, 'blind', 'discovered'], rows)}"


def _ends(line: Mapping[str, str]) -> str:
    return f" ({figure(float(line['low']))} to {figure(float(line['high']))})" if line["low"] and line["high"] else ""


BLOCKS: dict[str, Callable[[Path], str]] = {
    "survey-adult": functools.partial(_survey, "adult"),
    "survey-compas": functools.partial(_survey, "compas"),
    "findings": _findings,
    "contents": _contents,
    "layers": _layers,
    "level": _level,
    "corrections": _corrections,
    "claims": _claims_table,
    "power": _power,
    "bets": _bets,
    "stakes": _stakes,
    "reach": _reach,
    "slopes": _slopes,
    "parts": _parts,
    "places": _places,
    "standing": _standing,
    "in-sight": _in_sight,
    "records": _records,
    "worth": _worth,
    "declared": _declared,
}


def main() -> int:
    """Say which pages are not as they would be filled; with `--write`, fill them. Exit 1 where one is not."""
    stale = {page: text for page in PAGES if (text := filled(page)) != page.read_text(encoding="utf-8")}
    for page, text in stale.items():
        print(page.relative_to(ROOT))
        if "--write" in sys.argv:
            page.write_text(text, encoding="utf-8")
    return int(bool(stale) and "--write" not in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
