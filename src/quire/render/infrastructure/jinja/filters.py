"""What templates may call: money, numbers, dates and percentages in the document's language. Money is whole minor
units; no float ever holds an amount."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from babel.dates import format_date
from babel.numbers import format_currency, format_decimal, get_currency_precision


def money(amount_minor: int, currency: str = "EUR", language: str = "en") -> str:
    if isinstance(amount_minor, bool) or not isinstance(amount_minor, int):
        raise ValueError("money takes whole minor units")
    amount = Decimal(amount_minor).scaleb(-get_currency_precision(currency))
    return str(format_currency(amount, currency, locale=language))


def number(value: float, language: str = "en", digits: int = 2) -> str:
    pattern = "#,##0." + "#" * max(0, min(digits, 6)) if digits else "#,##0"
    return str(format_decimal(Decimal(str(value)), format=pattern, locale=language))


def percent(value: float, language: str = "en") -> str:
    return f"{number(value, language)} %"


def day(value: str, language: str = "en", style: str = "long") -> str:
    parsed = datetime.fromisoformat(value).date() if "T" in value else date.fromisoformat(value)
    return str(format_date(parsed, format=style, locale=language))


FILTERS = {"money": money, "number": number, "percent": percent, "day": day}
