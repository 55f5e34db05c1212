"""A measure's numbers as people read them."""


def number(value: float) -> str:
    """At most four digits; thousands in full."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def amount(value: float, unit: str, spread: float) -> str:
    """With how far the outermost rounds were from the middle, where there was more than one."""
    around = f"±{spread / 2:.0%}" if spread else ""
    return " ".join(filter(None, (number(value), unit, around)))
