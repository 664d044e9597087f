"""Entry points of installed packages: who names a plug-in, and which line of which package is none.

It imports nothing but the standard library: a line that is no entry makes other libraries fail as they are imported.
"""

from __future__ import annotations

import contextlib
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, distributions

MEND = "mend it, or pip uninstall the package"
RIGHT = f"right is `name = module`, or `name = module:attribute`; {MEND}"


def package_name(installed: Distribution) -> str:
    """The name of an installed package; the folder that it lies in where it has none."""
    try:
        return installed.metadata["Name"] or str(installed.locate_file(""))
    except Exception:  # it has no metadata
        return str(installed.locate_file(""))


def entries_of(group: str) -> tuple[list[EntryPoint], list[str]]:
    """The entry points of a group, and what is wrong with packages whose entry points cannot be read, a line each.

    Of packages of one name that with which Python begins its search counts. Only the text of those that do not mention
    the group is read, which takes a third of the time of `importlib.metadata.entry_points`.
    """
    entries, faults, seen = list[EntryPoint](), list[str](), set[str]()
    for installed in distributions():
        try:
            if f"[{group}]" not in (installed.read_text("entry_points.txt") or ""):
                continue
            name = package_name(installed)
            if name not in seen:
                seen.add(name)
                entries += _first_of(installed, name).entry_points.select(group=group)
        except Exception:
            fault = f"the package {package_name(installed)}: its entry points cannot be read; {MEND}"
            with contextlib.suppress(Exception):
                fault = _malformed_line_of(installed) or fault
            faults.append(fault)
    return entries, faults


def _first_of(installed: Distribution, name: str) -> Distribution:
    """The package of this name that is found first; a package without a name is that itself."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return installed


def fault_of_value(entry: EntryPoint) -> str | None:
    """What is wrong with an entry that names no module, in one line; None where it names one."""
    if entry.pattern.match(entry.value) is not None:
        return None
    package = "a package" if entry.dist is None else f"the package {package_name(entry.dist)}"
    written = f"{entry.name} = {entry.value}".strip()
    return f"{package}: entry point {written!r} of the group {entry.group} names no module; {RIGHT}"


def first_malformed_line() -> str | None:
    """The first line of an installed package's entry points that is none, which keeps Python from reading any, and what
    is wrong with it, in one line; None where there is none."""
    return next((fault for one in distributions() if (fault := _malformed_line_of(one)) is not None), None)


def _malformed_line_of(installed: Distribution) -> str | None:
    group = ""
    for line in map(str.strip, (installed.read_text("entry_points.txt") or "").splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line.strip("[]")
        elif group and line and not line.startswith("#") and "=" not in line:
            package = package_name(installed)
            return f"the package {package}: entry point {line!r} of the group {group} names no module; {RIGHT}"
    return None
