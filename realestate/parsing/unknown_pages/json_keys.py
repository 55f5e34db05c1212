"""Keys under which JSON documents of unknown sites have the fields of a listing (`json_keys.toml`)."""

import tomllib
from importlib.resources import files
from typing import Any

_TABLE: dict[str, Any] = tomllib.loads(files(__package__).joinpath("json_keys.toml").read_text("utf-8"))

FIELD_OF_KEY: dict[str, str] = {name: field for field, names in _TABLE["fields"].items() for name in names}
PRICES: tuple[str, ...] = tuple(_TABLE["prices"])
AMOUNTS: tuple[str, ...] = tuple(_TABLE["amounts"])
CURRENCIES: tuple[str, ...] = tuple(_TABLE["currencies"])
LATITUDES: tuple[str, ...] = tuple(_TABLE["latitudes"])
LONGITUDES: tuple[str, ...] = tuple(_TABLE["longitudes"])
IDS = frozenset(_TABLE["ids"])
OTHER_SUBJECTS: tuple[str, ...] = tuple(_TABLE["other_subjects"])
"""Parts of an object that are about somebody or something else."""
UNITS: tuple[tuple[str, str], ...] = tuple(_TABLE["units_of_keys"].items())
UNIT_KEYS: tuple[str, ...] = tuple(_TABLE["units"])
ROW_LABELS: tuple[str, ...] = tuple(_TABLE["row_labels"])
ROW_VALUES: tuple[str, ...] = tuple(_TABLE["row_values"])
