"""The text of a spec on a file of results, from what its columns are likely to be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from harness.metrics import METRICS
from harness.results.guess import Guess

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
NO_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "nan", "inf", "y", "n"})


def draft_spec(guess: Guess, path: str, title: str) -> str:
    """A spec with one claim, to be made one's own."""
    lines = [
        "# Written by `harness new results`: check what was guessed, then write your own claims.",
        "paper: own",
        f"title: {_text(title)}",
        f"where: {_text(path)}",
        "",
        "experiment:",
        "  kind: table",
        f"  path: {_text(path)}",
        f"  format: {guess.format}",
    ]
    if guess.separator != ",":
        lines.append(f"  separator: {json.dumps(guess.separator)}")
    if guess.columns:
        lines.append(f"  columns: {_mapping({name: _text(column) for name, column in guess.columns.items()})}")
    for field, named in (("arms", guess.arms), ("attacks", guess.attacks)):
        if named:
            lines += [f"  {field}:", *(f"    {name}: {_in_file(name, level)}" for name, level in named.items())]
    if guess.axes:
        lines.append(f"  axes: [{', '.join(guess.axes)}]")
    if guess.metrics:
        lines.append("  metrics:")
        lines += [f"    {name}: {_metric(guess, name)}" for name in guess.metrics]
    if guess.repeats is not None:
        lines.append(f"  repeats: {guess.repeats}")
    if guess.format == "summary":
        lines.append(f"  spread: {guess.spread}")
    return "\n".join([*lines, "", "claims:", *_claim(guess)]) + "\n"


def _claim(guess: Guess) -> list[str]:
    """One claim that names things that are there; which way it goes is for its author to say."""
    metric = "auc" if guess.format == "scores" else next(iter(guess.metrics))
    left = {"metric": metric}
    known = METRICS.get(metric)
    of_attacks = known.scope == "attack" if known is not None else bool(guess.attacks)
    if of_attacks and guess.attacks:
        left["attack"] = next(iter(guess.attacks))
    arms = list(guess.arms)
    if arms:
        left["arm"] = arms[0]
    if len(arms) > 1 and guess.format != "scores":
        statement, right = f"{metric} is higher with {arms[0]} than with {arms[1]}.", f"{{arm: {arms[1]}}}"
    else:
        value = 0.5 if guess.format == "scores" or guess.metrics.get(metric) else 0
        statement, right = f"{metric} is above {value}.", f"{{value: {value}}}"
    return [
        "  - id: mine",
        "    where: here",
        f"    statement: {_text(statement)}",
        f'    expect: {{kind: compare, left: {_mapping(left)}, relation: ">", right: {right}}}',
    ]


def _metric(guess: Guess, name: str) -> str:
    written, ranged = guess.metrics_in_file.get(name, name), guess.metrics[name]
    scope = {"scope": "model"} if guess.lacks_attack(name) else {}
    if written == name and not scope:
        return "[0, 1]" if ranged else "{}"
    in_file = {} if written == name else {"in_file": _text(written)}
    return _mapping(in_file | scope | ({"range": "[0, 1]"} if ranged else {}))


def _in_file(name: str, level: str) -> str:
    return "{}" if name == level else f"{{in_file: {_text(level)}}}"


def _mapping(entries: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in entries.items()) + "}"


def _text(text: str) -> str:
    """Text as YAML has it, in quotes where it might be read as something else."""
    plain = PLAIN.fullmatch(text) and text.lower() not in NO_WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)
