"""Entry points of installed packages: who names a plug-in, and which line of which package is none.

It imports nothing but the standard library: a line that is no entry makes other libraries fail as they are imported.
"""

from __future__ import annotations

from importlib.metadata import Distribution, EntryPoint, distributions

RIGHT = "right is `name = module`, or `name = module:attribute`; mend it, or pip uninstall the package"


def package_name(distribution: Distribution) -> str:
    """The name of an installed package; the folder that it lies in where it has none."""
    try:
        return distribution.metadata["Name"] or str(distribution.locate_file(""))
    except Exception:  # it has no metadata
        return str(distribution.locate_file(""))


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
    for distribution in distributions():
        group = ""
        for line in map(str.strip, (distribution.read_text("entry_points.txt") or "").splitlines()):
            if line.startswith("[") and line.endswith("]"):
                group = line.strip("[]")
            elif group and line and not line.startswith("#") and "=" not in line:
                package = package_name(distribution)
                return f"the package {package}: entry point {line!r} of the group {group} names no module; {RIGHT}"
    return None
