"""Small pages of sites that do not exist."""

import json
from typing import Any

URL = "https://www.homes.example.net/homes/1234567"


def page(*parts: str, head: str = "", lang: str = "en") -> str:
    return f'<!DOCTYPE html><html lang="{lang}"><head>{head}</head><body>{"".join(parts)}</body></html>'


def json_ld(*nodes: dict[str, Any]) -> str:
    return "".join(f'<script type="application/ld+json">{json.dumps(node)}</script>' for node in nodes)


def next_data(props: Any) -> str:
    return f'<script id="__NEXT_DATA__" type="application/json">{json.dumps({"props": {"pageProps": props}})}</script>'


def rows(table: dict[str, str]) -> str:
    return "<dl>" + "".join(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in table.items()) + "</dl>"


def meta(**properties: str) -> str:
    return "".join(
        f'<meta property="{name.replace("_", ":")}" content="{value}">' for name, value in properties.items()
    )
