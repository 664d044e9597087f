"""`harness list`: the specs, and everything that a spec may name."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands.common import AsJson, load, print_json, project_here
from harness.commands.tables import print_table, print_text
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.paths import Project
    from harness.spec.load import Loaded

SPECS = "specs"
Things = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SORT|SPEC",
        help="A sort of things (`harness list` says which there are), or ids (paper/figure), papers or files of specs.",
    ),
]


def list_things(things: Things = None, as_json: AsJson = False) -> None:
    """List specs, or all things of a sort that a spec may name, each with what it is; plug-ins are among them.

    Examples: `harness list` the sorts and all specs; `harness list metrics`; `harness list attacks --json`;
    `harness list humphries2020` the specs of a paper, with their place in it, their claims, and what they need.
    """
    from harness.report.reference import HEADINGS

    first, *others = things or [""]
    if first in HEADINGS or first == SPECS:
        if others:
            raise HarnessError(f"list {first}: takes no other words, found {others[0]!r}; leave out one of the two")
        if first in HEADINGS:
            _list_sort(first, as_json)
            return
    project = project_here()
    names = [] if first in ("", SPECS) else [first, *others]
    _check_names(project, names)
    rows = [_row_of_spec(one) for one in load(project, names, alternatives=False)]
    if as_json:
        print_json(rows)
        return
    if not things:
        _print_sorts(len(rows))
        print_text("")
    print_table(
        ("spec", "where", "dataset", "arms", "attacks", "claims"),
        [
            (
                row["id"],
                row["where"],
                row["dataset"] or "theory",
                ", ".join(row["arms"]),
                ", ".join(row["attacks"]),
                str(len(row["claims"])),
            )
            for row in rows
        ],
    )


def _list_sort(sort: str, as_json: bool) -> None:
    from harness.report.reference import reference

    entries = reference()[sort]
    if as_json:
        print_json([{"name": e.name, "text": e.text, "source": e.source, "fields": dict(e.fields)} for e in entries])
    else:
        print_table(("name", "what it is"), [(e.name, e.text) for e in entries])


def _print_sorts(specs: int) -> None:
    """Print what there is to list, how many of it, and the command that lists it."""
    from harness.report.reference import HEADINGS, reference

    counts = {sort: (HEADINGS[sort], len(entries)) for sort, entries in reference().items()}
    counts[SPECS] = ("Specs, as below", specs)
    print_table(
        ("what there is", "number", "command"),
        [(title, str(number), f"harness list {sort}") for sort, (title, number) in counts.items()],
    )


def _row_of_spec(loaded: Loaded) -> dict[str, Any]:
    spec, experiment = loaded.spec, loaded.spec.experiment
    arms = experiment.arms if experiment else {}
    own_arms = {} if spec.own_experiment is None else spec.own_experiment.arms
    datasets = list(dict.fromkeys(arm.dataset.plugin_name() for arm in own_arms.values()))
    if spec.results is not None:
        datasets = [spec.results.path]
    return {
        "id": spec.id,
        "where": spec.where,
        "title": spec.title,
        "claims": [c.id for c in spec.claims],
        "dataset": ", ".join(datasets) or None,
        "arms": list(arms),
        "axes": list(spec.axes),
        "attacks": list(spec.attack_names),
        "catalogue": sorted({c for claim in spec.claims for c in claim.catalogue}),
        "sha256": loaded.sha256,
    }


def _check_names(project: Project, names: list[str]) -> None:
    """Raises HarnessError, with the nearest names, for a word that is neither a sort nor a spec."""
    from harness.report.reference import HEADINGS
    from harness.spec.load import resolve_names, spec_id, spec_paths

    for name in names:
        if name in (*HEADINGS, SPECS):
            raise HarnessError(f"list {name}: is a sort, which is listed by itself; give it alone, or specs alone")
        try:
            resolve_names(project, [name])
        except HarnessError:
            ids = [spec_id(project, path) for path in spec_paths(project)]
            known = dict.fromkeys([*HEADINGS, SPECS, *(id.split("/")[0] for id in ids), *ids])
            close = difflib.get_close_matches(name, known, n=2)
            if (close and close[0] in ids) or not name.isidentifier() or Path(f"{name}.yaml").is_file():
                raise  # what could only be meant as a spec is answered as by every command
            hint = f"did you mean {' or '.join(close)}?" if close else "`harness list` says what there is"
            raise HarnessError(f"list: no sort of things and no spec {name!r}; {hint}") from None
