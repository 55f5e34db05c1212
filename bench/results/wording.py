"""The numbers of a measure as text."""


def number(value: float) -> str:
    """At most four digits; thousands are written in full."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def amount(value: float, unit: str, spread: float) -> str:
    """With the spread of the rounds around the median, if there was more than one round."""
    around = f"±{spread / 2:.0%}" if spread else ""
    return " ".join(filter(None, (number(value), unit, around)))
