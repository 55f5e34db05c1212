"""`python -m tests.web.openapi` writes docs/openapi.json."""

import json
from pathlib import Path
from typing import NoReturn

from realestate.web.app import create_app, openapi_of


def no_store() -> NoReturn:
    raise AssertionError("the description needs no store")


if __name__ == "__main__":
    text = json.dumps(openapi_of(create_app(no_store)), indent=1, sort_keys=True)
    (Path(__file__).parents[2] / "docs" / "openapi.json").write_text(text + "\n")
