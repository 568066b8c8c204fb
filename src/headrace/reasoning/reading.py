"""A schema from files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from headrace.errors import DataError, SettingError
from headrace.rdf.files import content
from headrace.rdf.formats import Format, format_of_path
from headrace.rdf.options import FILE_LIMITS, ReadOptions
from headrace.rdf.reading import read
from headrace.rdf.scopes import Scope
from headrace.reasoning.schema import Schema, schema_of
from headrace.reasoning.unsupported_axioms import note_of

_XML: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml|!|[A-Za-z][\w.-]*:?RDF[\s>])")


def read_schema(path: Path | str) -> Schema:
    """Read a schema from a file.

    What tools call `.owl` may be RDF/XML or Turtle: how it begins says which.

    Raises:
        SettingError: the file is missing, of a format that is not known, cannot be read, or says
            nothing that a schema says.
    """
    path = Path(path)
    try:
        data = content(path)
        form = format_of_path(path)
        if form is Format.RDF_XML and not _XML.match(data):
            form = Format.TURTLE
        # Most ontologies are RDF/XML, and whoever runs queries chooses the file, not its data.
        base = path.resolve().as_uri()
        options = ReadOptions(base=base, rdf_xml=True, limits=FILE_LIMITS)
        found = schema_of(read(data, form, name=str(path), scope=Scope("schema"), options=options))
    except OSError as error:
        raise SettingError(f"cannot read schema {path}: {error.strerror}") from None
    except DataError as error:
        raise SettingError(f"cannot read schema {error}") from None
    if found == Schema():
        note = note_of(found.ignored)
        raise SettingError(
            f"{path} is no schema: it declares no class or property, and relates none to another"
            + (f"; it has {note}" if note else "")
        )
    return found
