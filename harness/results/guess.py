"""What the columns of a file of results are likely to be, and why: a beginning of a spec, for its author to check."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from harness.data.quoting import quote_names, quote_value
from harness.experiment.results import Format
from harness.metrics import METRICS
from harness.results.cells import TRUTH, ResultsCells, ResultsFault, finite_number, is_nearly_number
from harness.results.rows import split_spread

NAMES: dict[str, tuple[str, ...]] = {
    "member": ("member", "is_member", "ismember", "membership", "in_training"),
    "score": ("score", "scores", "attack_score", "membership_score", "confidence"),
    "decision": ("decision", "predicted_member", "prediction", "called"),
    "repeat": ("repeat", "seed", "trial", "run", "fold", "rep", "replicate", "random_state"),
    "attack": ("attack", "attack_name", "attack_type"),
    "arm": ("arm", "method", "model", "algorithm", "variant", "composition", "defence", "defense", "setting", "config"),
    "metric": ("metric", "measure", "variable"),
    "value": ("value", "val"),
    "mean": ("mean", "avg", "average"),
    "spread": ("spread", "std", "sd", "stdev", "std_dev", "stderr", "se", "sem", "std_err"),
    "n": ("n", "runs", "repeats", "n_runs", "count"),
}
"""How columns are called that hold what a spec asks for, in lower case."""
ERRORS = ("stderr", "se", "sem", "std_err")
MEAN_OF = re.compile(r"(?P<metric>.+?)[_ .](?:mean|avg|average)", re.IGNORECASE)
"""A column of means of one metric; beside it is one with the same beginning and a name of what they spread by."""
AXES = {"epsilon": ("epsilon", "eps", "ε"), "epoch": ("epoch", "epochs", "step", "round")}
RATE = re.compile(r"(^|_)(acc|accuracy|auc|auroc|tpr|fpr|precision|recall|f1|rate)($|_)")
"""Names of what lies between 0 and 1."""
MOST_LEVELS = 200
"""Values of a column that is taken for an axis."""


@dataclass
class Guess:
    """What a file is taken to be."""

    format: Format
    columns: dict[str, str] = field(default_factory=dict)
    """By what it is, the column of the file, where that has another name."""
    known: set[str] = field(default_factory=set)
    """What there is a column of."""
    arms: dict[str, str] = field(default_factory=dict)
    """By name, what the file writes."""
    attacks: dict[str, str] = field(default_factory=dict)
    axes: list[str] = field(default_factory=list)
    metrics: dict[str, bool] = field(default_factory=dict)
    """By name, whether it lies between 0 and 1 and is none of the harness' own, which has its range."""
    metrics_in_file: dict[str, str] = field(default_factory=dict)
    """By name, what the column of metrics writes."""
    spread: str = "std"
    repeats: int | None = None
    """To be filled in, where a summary has no column of them."""
    doubtful: dict[str, str] = field(default_factory=dict)
    """Columns that are of numbers but for some cells, and what is wrong with the first of these."""
    separator: str = ","
    why: list[str] = field(default_factory=list)
    """What was guessed, a line each."""

    def lacks_attack(self, metric: str) -> bool:
        """Whether a metric is one of attacks here, and the file names none."""
        known = METRICS.get(metric)
        return known is not None and known.scope == "attack" and not self.attacks and self.format != "scores"


def guess_columns(cells: ResultsCells) -> Guess:
    """What the columns of a file are likely to be."""
    left = dict.fromkeys(cells.columns)
    guess = Guess(_guess_format(cells))
    guess.why.append(f"format {guess.format}: {_why_format(guess.format)}")
    _take_named(guess, cells, left)
    _take_names(guess, cells, left)
    _take_axes(guess, cells, left)
    _take_metrics(guess, cells, left)
    for column, odd in guess.doubtful.items():
        guess.why.append(f"left out: {odd}")
        left.pop(column, None)
    if left:
        guess.why.append(f"left out: {quote_names(list(left))}")
    return guess


def _fault_of_number(cells: ResultsCells, column: str) -> str:
    """What is wrong with a column of which half of the cells at least are numbers, decimal commas too, and not all;
    empty for another column."""
    texts = cells.columns[column]
    if 2 * sum(map(is_nearly_number, texts)) < len(texts):
        return ""
    try:
        cells.numbers(column, "")
    except ResultsFault as fault:
        return str(fault)
    return ""


def _column_named(cells: Iterable[str], names: Collection[str]) -> str | None:
    """The column that has one of the names."""
    return next((column for column in cells if column.lower().replace(" ", "_") in names), None)


def _all(cells: ResultsCells, column: str, holds: Callable[[str], bool]) -> bool:
    return all(holds(text) for text in set(cells.columns[column]))


def _is_numeric(cells: ResultsCells, column: str) -> bool:
    return _all(cells, column, lambda text: finite_number(text) is not None)


def _column_of_spreads(cells: ResultsCells) -> str | None:
    """The first column all of whose cells are a mean and its spread."""
    return next((c for c in cells.columns if _all(cells, c, lambda text: split_spread(text) is not None)), None)


def _columns_of_means(cells: ResultsCells) -> dict[str, tuple[str, str]]:
    """By metric, of a summary with a column each: its column of means, and that of what they spread by, which is empty
    where one column has both."""
    printed = [c for c in cells.columns if _all(cells, c, lambda text: split_spread(text) is not None)]
    if len(printed) > 1:
        return {column: (column, "") for column in printed}
    pairs = {}
    for column in cells.columns:
        if (match := MEAN_OF.fullmatch(column)) and _is_numeric(cells, column):
            begins = match["metric"].lower()
            rest = {
                c: c.lower().removeprefix(begins).lstrip("_ .") for c in cells.columns if c.lower().startswith(begins)
            }
            beside = next((c for c, end in rest.items() if end in NAMES["spread"] and _is_numeric(cells, c)), None)
            if beside is not None:
                pairs[match["metric"]] = column, beside
    return pairs


def _guess_format(cells: ResultsCells) -> Format:
    member, score = (_column_named(cells.columns, NAMES[name]) for name in ("member", "score"))
    if member and score and _all(cells, member, lambda text: text.lower() in TRUTH):
        return "scores"
    mean, spread = (_column_named(cells.columns, NAMES[name]) for name in ("mean", "spread"))
    if _column_of_spreads(cells) or (mean and spread) or _columns_of_means(cells):
        return "summary"
    return (
        "tidy"
        if _column_named(cells.columns, NAMES["metric"]) and _column_named(cells.columns, NAMES["value"])
        else "wide"
    )


def _why_format(what: Format) -> str:
    return {
        "scores": "a column of scores, and one that says who is a member",
        "summary": "means with what they spread by",
        "tidy": "a column of metrics, and one of their values",
        "wide": "a column each metric",
    }[what]


def _take_named(guess: Guess, cells: ResultsCells, left: dict[str, None]) -> None:
    """Columns that each format needs, and that of repeats."""
    wanted = {
        "scores": ("member", "score", "decision", "repeat"),
        "summary": ("metric", "mean", "spread", "n"),
        "tidy": ("metric", "value", "repeat"),
        "wide": ("repeat",),
    }[guess.format]
    by_metric = _columns_of_means(cells) if guess.format == "summary" else {}
    if by_metric:
        wanted = ("n",)
    for metric, (mean, spread) in by_metric.items():
        name = metric if metric in METRICS else _snake(metric)
        guess.metrics[name] = False
        _take(guess, left, name, mean)
        if spread:
            _take(guess, left, f"{name}_spread", spread)
            guess.spread = "stderr" if spread.lower().removeprefix(metric.lower()).lstrip("_ .") in ERRORS else "std"
    if guess.spread == "stderr":
        guess.why.append("spread stderr: by the names of the columns beside the means")
    for name in wanted:
        column = _column_named(left, NAMES[name])
        if name == "mean" and (printed := _column_of_spreads(cells)) is not None:
            column = printed
        if column is None:
            continue
        if name == "decision" and not _all(cells, column, lambda text: text.lower() in TRUTH):
            continue
        _take(guess, left, name, column)
        if name == "spread" and column.lower() in ERRORS:
            guess.spread = "stderr"
            guess.why.append(f"spread stderr: {quote_value(column)} is an error of the mean")
    if guess.format == "summary" and "n" not in guess.known:
        guess.repeats = 1
        guess.why.append("repeats 1: no column says of how many repeats means are; WRITE THE NUMBER THAT IS RIGHT")
    if guess.format in ("tidy", "wide", "scores") and "repeat" not in guess.known:
        guess.why.append("no column of repeats: one repeat decides nothing")


def _take(guess: Guess, left: dict[str, None], name: str, column: str) -> None:
    guess.known.add(name)
    if column != name:
        guess.columns[name] = column
    del left[column]
    guess.why.append(f"{name}: the column {quote_value(column)}")


def _take_names(guess: Guess, cells: ResultsCells, left: dict[str, None]) -> None:
    """Columns of arms and of attacks."""
    for what in ("attack", "arm"):
        column = _column_named(left, NAMES[what])
        if column is None or len(set(cells.columns[column])) > MOST_LEVELS:
            continue
        levels = dict.fromkeys(text for text in cells.columns[column] if text)
        named = {_slug(level): level for level in levels}
        if not levels or len(named) < len(levels) or (what == "arm" and "" in cells.columns[column]):
            continue
        _take(guess, left, what, column)
        setattr(guess, f"{what}s", named)
    if guess.format == "scores" and not guess.attacks:
        guess.attacks = {"scores": "scores"}
        guess.why.append("attacks: no column says which, so there is one; call it what it is")


def _take_axes(guess: Guess, cells: ResultsCells, left: dict[str, None]) -> None:
    """Columns of axes: those with their names, and of a file that has none each text."""
    for axis, names in AXES.items():
        if (column := _column_named(left, names)) is not None and "" not in cells.columns[column]:
            _take(guess, left, axis, column)
            guess.axes.append(axis)
    for column in list(left):
        texts = set(cells.columns[column])
        varies = 1 < len(texts) <= MOST_LEVELS and "" not in texts
        text = guess.format == "wide" and not _is_numeric(cells, column)
        if text and (fault := _fault_of_number(cells, column)):
            guess.doubtful[column] = fault
            continue
        few = guess.format in ("tidy", "summary") and len(texts) < len(cells)
        if varies and (text or few) and (name := _slug(column)) not in guess.axes:
            _take(guess, left, name, column)
            guess.axes.append(name)


def _take_metrics(guess: Guess, cells: ResultsCells, left: dict[str, None]) -> None:
    """Metrics: of a wide file columns of numbers that are left, of others the names in the column of metrics."""
    if guess.format == "scores":
        return
    if guess.format == "wide":
        numeric = [column for column in left if _is_numeric(cells, column)]
        names = {column if column in METRICS else _snake(column): column for column in numeric}
        for name, column in names.items():
            _take(guess, left, name, column)
        columns = {name: cells.columns[column] for name, column in names.items()}
    elif guess.metrics:
        columns = {name: cells.columns[guess.columns.get(name, name)] for name in guess.metrics}
    else:
        columns = _values_by_metric(guess, cells)
    for name, texts in columns.items():
        known = METRICS.get(name)
        values = [value for value in map(_leading_number, texts) if value is not None]
        inside = bool(values) and min(values) >= 0 and max(values) <= 1
        guess.metrics[name] = known is None and bool(RATE.search(name)) and inside
        if known is not None:
            guess.why.append(f"range of {name}: [{known.low:g}, {known.high:g}], the harness' own metric")
            if guess.lacks_attack(name):
                guess.why.append(f"scope of {name}: model, since no column says of which attack it is")
        elif guess.metrics[name]:
            guess.why.append(f"range of {name}: [0, 1], by its name and its values")
        else:
            ends = f"{min(values):g} to {max(values):g}" if values else "none"
            guess.why.append(f"range of {name}: none (values {ends}); give one where it has one")


def _values_by_metric(guess: Guess, cells: ResultsCells) -> dict[str, list[str]]:
    value = "mean" if guess.format == "summary" else "value"
    values = cells.columns[guess.columns.get(value, value)]
    column = guess.columns.get("metric", "metric")
    if column not in cells.columns:
        name = _snake(guess.columns.get(value, value))
        return {name if name != value else "metric": values}
    by_metric: dict[str, list[str]] = {}
    for written, text in zip(cells.columns[column], values, strict=True):
        name = written if written in METRICS else _snake(written)
        guess.metrics_in_file[name] = written
        by_metric.setdefault(name, []).append(text)
    return by_metric


def _leading_number(text: str) -> float | None:
    parts = split_spread(text)
    return finite_number(parts[0] if parts else text)


def _slug(text: str) -> str:
    """A name that a spec may give an arm, an attack or an axis."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"


def _snake(text: str) -> str:
    """A name that a spec may give a metric."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "unnamed"
    return name if name[0].isalpha() else f"metric_{name}"
