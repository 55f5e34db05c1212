"""Data going out: a table of the store as one file, with a manifest that proves that the file is complete."""

from realestate.exports.errors import ExportError, MissingExtra, WrongExport
from realestate.exports.formats import FORMATS, FormatName, format_of
from realestate.exports.table_file import Exported, export

__all__ = ["FORMATS", "ExportError", "Exported", "FormatName", "MissingExtra", "WrongExport", "export", "format_of"]
