"""SVG images of a project's documentation, looked at before a site copies them.

A page shows an image without running or loading anything of it, but an SVG that is opened by itself is a page of its
own, under no policy of the site's: its scripts run there, with the address of the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from harness.escaping import web_address

SVG, XHTML = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xhtml}"
RUNS = frozenset({"script", "foreignObject", "handler", "listener", "iframe", "embed", "object", "audio", "video"})
ANIMATES = frozenset({"animate", "set", "animateTransform", "animateMotion"})
_PICTURE = r"data:image/(?:png|jpeg|gif|webp)[;,]"
PICTURE = re.compile(_PICTURE, re.IGNORECASE)
FOREIGN_STYLE = re.compile(rf"url\s*+\(\s*+(?![\"']?\s*+(?:#|{_PICTURE}))|@import|\\", re.IGNORECASE)
"""In a style: what is loaded, or may be (a backslash hides letters)."""
INSTRUCTION = re.compile(rb"<\?xml-|<!ENTITY|<!DOCTYPE[^>\[]*\[", re.IGNORECASE)
"""What names a style sheet, or text that stands for other text."""
OTHER_ENCODING = re.compile(rb"\0|\A\s*<\?xml[^>]*encoding\s*=\s*[\"'](?!utf-?8[\"'])", re.IGNORECASE)
WORDS = re.compile(r"aria-|d$|id$|class$|points$")
"""How names of attributes begin that hold no style."""


def fault_of_svg(content: bytes) -> str | None:
    """What an SVG image would run or load when it is opened by itself, or why it is none; None where all is well."""
    try:
        content.decode("utf-8")
        if (match := INSTRUCTION.search(content)) is not None:
            return f"has {match[0][:20].decode(errors='replace')!r}"
        root = ElementTree.fromstring(content)
        if root.tag != f"{SVG}svg" or OTHER_ENCODING.search(content):
            return "is no SVG in UTF-8"
    except (UnicodeDecodeError, ElementTree.ParseError, ValueError, RecursionError) as error:
        return f"is no SVG in UTF-8 ({str(error)[:100]})"
    return next((fault for element in root.iter() for fault in _faults_of_element(element)), None)


def _faults_of_element(element: ElementTree.Element) -> Iterator[str]:
    tag = str(element.tag)
    name = tag.rpartition("}")[2]
    if tag.startswith(XHTML) or ((tag.startswith(SVG) or "}" not in tag) and name in RUNS):
        yield f"has an element {name!r}"
    if name in ANIMATES and element.get("attributeName", "").rpartition(":")[2] in ("href", "src"):
        yield f"has an element {name!r} that changes an address"
    if name == "style" and FOREIGN_STYLE.search("".join(element.itertext())):
        yield "has a style that loads something"
    for attribute, value in element.attrib.items():
        short = attribute.rpartition("}")[2].lower()
        if short.startswith("on"):
            yield f"has an attribute {short!r}"
        elif short in ("href", "src"):
            if not _is_harmless(value.strip(), name):
                yield f"has the address {value.strip()[:60]!r}"
        elif not WORDS.match(short) and "(" in value and FOREIGN_STYLE.search(value):
            yield f"has an attribute {short!r} that loads something"


def _is_harmless(address: str, element: str) -> bool:
    """Whether an address is in the image itself, or one that a reader follows to the web."""
    if address.startswith("#") or not address:
        return True
    if element == "a":
        return bool(web_address(address))
    return element in ("image", "feImage") and PICTURE.match(address) is not None
