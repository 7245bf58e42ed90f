"""What every part of a Cross Industry Invoice asks: which profile, how an amount is written."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from babel.numbers import get_currency_precision

from quire.render.infrastructure.facturx.xml_writer import Node, node

# Each holds what the one before it holds, and more.
PROFILES = ("minimum", "basicwl", "basic", "en16931")


class InvoicePart:
    def __init__(self, data: Mapping[str, Any], profile: str) -> None:
        self._data = data
        self._profile = profile
        self._digits = get_currency_precision(data["currency"])

    def _amount(self, tag: str, amount_minor: int) -> Node:
        return node(tag, self._text(amount_minor))

    def _text(self, amount_minor: int) -> str:
        return f"{Decimal(amount_minor).scaleb(-self._digits):f}"

    def _holds(self, profile: str) -> bool:
        return PROFILES.index(self._profile) >= PROFILES.index(profile)


def tax_node(tag: str, category: str, rate: float) -> Node:
    return node(tag, node("TypeCode", "VAT"), node("CategoryCode", category), rate_node(category, rate))


def rate_node(category: str, rate: float) -> Node:
    """What is outside the scope of tax has no rate, not even zero (BR-O-5)."""
    return None if category == "O" else node("RateApplicablePercent", plain(rate))


def plain(value: float) -> str:
    return f"{Decimal(str(value)):f}"
