"""Commands of extensions: what installed packages offer by entry points, each loaded when it is asked for.

A command of the harness itself runs without a look at what else is installed. The names of the others are read from the
packages' metadata, and a module is imported for its own command, or for the help that lists all.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

import typer
from typer.core import TyperGroup

from harness.addresses import hide_secrets
from harness.entry_points import MEND, entries_of, fault_of_value, package_name
from harness.errors import HarnessError
from harness.escaping import visible_line
from harness.offered import NOT_REGISTERED, OWN

NAME = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True)
class Offer:
    """A command that an installed package offers."""

    entry: EntryPoint
    package: str

    @property
    def is_own(self) -> bool:
        """Whether it is of one of the harness's own extensions."""
        return self.entry.value.startswith(OWN)

    @property
    def panel(self) -> str:
        """The heading under which help lists it: the extension's name."""
        return f"Extension {self.entry.value.split('.')[2] if self.is_own else visible_line(self.package)}"

    def load(self) -> Any:
        """The command. Raises HarnessError where its module cannot be imported, or has nothing that is a command."""
        name, holder = self.entry.name, typer.Typer(rich_markup_mode="markdown", add_completion=False)
        holder.callback()(lambda: None)  # makes it a group, however few commands it has
        try:
            offered = self.entry.load()
            if isinstance(offered, typer.Typer):
                holder.add_typer(offered, name=name, rich_help_panel=self.panel)
            elif callable(offered):
                holder.command(name, rich_help_panel=self.panel)(offered)
            else:
                raise TypeError(f"it is a {type(offered).__name__}, and right is a function or a typer.Typer")
            return vars(typer.main.get_command(holder))["commands"][name]
        except (Exception, SystemExit) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            what = f"the command {name} ({self.entry.value}) of the package {self.package} cannot be loaded: {reason}"
            raise HarnessError(f"{what}; {MEND}") from error


@dataclass
class Offers:
    """What installed packages offer, and what is wrong with it."""

    commands: dict[str, Offer] = field(default_factory=dict)
    """By name, the harness's own first."""
    contested: dict[str, str] = field(default_factory=dict)
    """By a name that several packages give to a command of theirs: that they do, in one line."""
    faults: list[str] = field(default_factory=list)
    """What is wrong with entries that offer nothing, a line each."""

    def add(self, offer: Offer) -> None:
        """Enter an offer; those of the harness itself come before others. A name that is taken makes a fault."""
        name, held = offer.entry.name, self.commands.get(offer.entry.name)
        if NAME.fullmatch(name) is None:
            self.faults.append(
                f"the package {offer.package}: {name!r} of the group {offer.entry.group} is no name of a command; "
                f"right are small letters, digits and -, a letter first; {MEND}"
            )
        elif held is not None and held.is_own:
            self.faults.append(taken(offer))
        elif held is not None:
            del self.commands[name]
            both = f"{held.package} and {offer.package}"
            self.contested[name] = f"the command {name} is offered by the packages {both}; pip uninstall one of them"
        elif name not in self.contested:
            self.commands[name] = offer


def taken(offer: Offer) -> str:
    """That an offer has the name of a command of the harness, in one line."""
    name = offer.entry.name
    return f"the package {offer.package}: its command {name} has the name of one of the harness; {MEND}"


@cache
def read_offers(group: str) -> Offers:
    """What the packages that are installed offer in a group of entry points."""
    entries, faults = entries_of(group)
    offers = Offers(faults=faults)
    found = []
    for entry in entries:
        if (fault := fault_of_value(entry)) is None:
            found.append(Offer(entry, package_name(entry.dist) if entry.dist is not None else ""))
        else:
            offers.faults.append(fault)
    for offer in sorted(found, key=lambda one: (not one.is_own, one.package.casefold())):
        offers.add(offer)
    if not any(one.is_own for one in found):
        offers.faults.append(NOT_REGISTERED)
    return offers


class ExtensibleGroup(TyperGroup):
    """Commands to which installed packages add theirs."""

    entry_points = "harness.commands"
    """The group of entry points of those that are added."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.core = frozenset(self.commands)
        """Names of commands that it has without any package."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, its own first. What cannot be loaded is left out, with a line on standard error
        for each."""
        offers = read_offers(self.entry_points)
        faults = [*offers.faults, *offers.contested.values()]
        for name, offer in offers.commands.items():
            if name in self.core:
                faults.append(taken(offer))
            elif name not in self.commands:
                try:
                    self.commands[name] = offer.load()
                except HarnessError as error:
                    faults += error.lines
        for fault in faults:
            print(f"harness: {visible_line(hide_secrets(fault))}", file=sys.stderr)
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is typed first, and the words behind it.

        Raises HarnessError where an extension offers it and it cannot be loaded.
        """
        name = args[0]
        if name not in self.commands:
            offers = read_offers(self.entry_points)
            if name in offers.contested:
                raise HarnessError(offers.contested[name])
            if name in offers.commands:
                self.commands[name] = offers.commands[name].load()
            else:
                self.list_commands(ctx)  # so that what was meant is suggested
        return super().resolve_command(ctx, args)
