"""Resolving a relative IRI against a base, by the rules of RFC 3986, section 5."""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<authority>[^/?#]*))?"
    r"(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.DOTALL,
)


_NOT_IN_IRIS: Final = re.compile(r"[\x00-\x20<>\"{}|^`\\\ud800-\udfff]")


def is_well_formed(iri: str) -> bool:
    """Whether an IRI has only characters that may stand between < and >."""
    return _NOT_IN_IRIS.search(iri) is None


def is_absolute(iri: str) -> bool:
    """Whether an IRI has a scheme."""
    return _split(iri)["scheme"] is not None


def resolve(reference: str, base: str) -> str:
    """The IRI that a reference means where the base is in force.

    >>> resolve("../c?q", "http://example.org/a/b/")
    'http://example.org/a/c?q'
    >>> resolve("urn:x", "http://example.org/")
    'urn:x'
    """
    target = _split(reference)
    if target["scheme"] is not None:
        return reference
    given = _split(base)
    target["scheme"] = given["scheme"]
    if target["authority"] is None:
        target["authority"] = given["authority"]
        path = target["path"] or ""
        if not path:
            target["path"] = given["path"]
            if target["query"] is None:
                target["query"] = given["query"]
        elif path.startswith("/"):
            target["path"] = _without_dots(path)
        else:
            target["path"] = _without_dots(_merged(path, given))
    else:
        target["path"] = _without_dots(target["path"] or "")
    return _joined(target)


def _split(iri: str) -> dict[str, str | None]:
    match = _PARTS.fullmatch(iri)
    return match.groupdict() if match else {"scheme": None, "path": iri}


def _merged(path: str, base: dict[str, str | None]) -> str:
    base_path = base["path"] or ""
    if base["authority"] is not None and not base_path:
        return "/" + path
    return base_path[: base_path.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")
    for position, segment in enumerate(segments):
        last = position == len(segments) - 1
        if segment in {".", ".."}:
            # The empty segment before a leading slash stands for the root, which has no parent.
            if segment == ".." and kept and kept != [""]:
                kept.pop()
            if last:
                kept.append("")
        else:
            kept.append(segment)
    return "/".join(kept)


def _joined(parts: dict[str, str | None]) -> str:
    text = "" if parts["scheme"] is None else parts["scheme"] + ":"
    if parts["authority"] is not None:
        text += "//" + parts["authority"]
    text += parts["path"] or ""
    if parts["query"] is not None:
        text += "?" + parts["query"]
    if parts["fragment"] is not None:
        text += "#" + parts["fragment"]
    return text
