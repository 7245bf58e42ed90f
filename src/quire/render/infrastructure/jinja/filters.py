"""What templates may call: money, numbers, dates and percentages in the document's language, CSS strings, QR codes,
chart ticks. Pure. Money is whole minor units; no float ever holds an amount."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from math import ceil

import zxingcpp
from babel.dates import format_date
from babel.numbers import format_currency, format_decimal, format_percent, get_currency_precision
from markupsafe import Markup

from quire.render.domain.render_options import css_string

QR_MAX_CHARACTERS = 1_000
QR_DRAWING = re.compile(r'<svg width="(\d+)".*<path d="([MZhv\d -]+)"', re.DOTALL)
TICKS_MAX = 20


def money(amount_minor: int, currency: str = "EUR", language: str = "en") -> str:
    return _minus(format_currency(_amount(amount_minor, currency), currency, locale=language))


def major(amount_minor: int, currency: str = "EUR") -> str:
    """`123456` → `1234.56`: for machines (payment codes), never for readers."""
    return f"{_amount(amount_minor, currency):f}"


def figure(amount_minor: int, currency: str = "EUR", language: str = "en") -> str:
    """An amount without its currency, for columns whose heading names it."""
    digits = get_currency_precision(currency)
    pattern = "#,##0." + "0" * digits if digits else "#,##0"
    return _minus(format_decimal(_amount(amount_minor, currency), format=pattern, locale=language))


def _minus(text: str) -> str:
    """A hyphen is shorter than a digit: columns of figures take the minus sign."""
    return text.replace("-", "−")


def _amount(amount_minor: int, currency: str) -> Decimal:
    if isinstance(amount_minor, bool) or not isinstance(amount_minor, int):
        raise ValueError("money takes whole minor units")
    return Decimal(amount_minor).scaleb(-get_currency_precision(currency))


def number(value: float, language: str = "en", digits: int = 2) -> str:
    pattern = "#,##0." + "#" * max(0, min(digits, 6)) if digits else "#,##0"
    return _minus(format_decimal(Decimal(str(value)), format=pattern, locale=language))


def percent(value: float, language: str = "en") -> str:
    """`19` → `19%`, `%19`, `19 %`: the sign stands where the language puts it."""
    share = round(Decimal(str(value)), 4) / 100
    return str(format_percent(share, locale=language, decimal_quantization=False))


def day(value: str, language: str = "en", style: str = "long") -> str:
    parsed = datetime.fromisoformat(value).date() if "T" in value else date.fromisoformat(value)
    return str(format_date(parsed, format=style, locale=language))


def css(value: object) -> Markup:
    """A CSS string for a style element, where HTML escaping would show as text."""
    return Markup(css_string(str(value)))  # noqa: S704 - every character that could end it is a number


def qr(text: str) -> Markup:
    """A QR code as inline SVG that takes the size of its box. The text itself never becomes markup."""
    if len(text) > QR_MAX_CHARACTERS:
        raise ValueError(f"a QR code holds at most {QR_MAX_CHARACTERS} characters here")
    # Bytes of UTF-8, as payment standards have it: given text, an encoder chooses a character set of its own.
    code = zxingcpp.create_barcode(text.encode(), zxingcpp.BarcodeFormat.QRCode, ec_level="M")
    drawn = QR_DRAWING.search(code.to_svg(add_quiet_zones=False))
    assert drawn is not None
    size, path = drawn.groups()
    # Numbers and the letters that move a pen: nothing of the text itself.
    return Markup(f'<svg viewBox="0 0 {size} {size}" class="qr"><path d="{path}"/></svg>')  # noqa: S704


def iban(value: str) -> str:
    compact = "".join(value.split())
    return " ".join(compact[i : i + 4] for i in range(0, len(compact), 4))


def ticks(largest: float, wanted: int = 5) -> list[int | float]:
    """Round numbers from zero to at least `largest`: the scale of a chart."""
    top = Decimal(str(max(largest, 0))) or Decimal(1)
    rough = top / max(1, min(wanted, TICKS_MAX))
    unit = Decimal(1).scaleb(rough.adjusted())
    step = next(unit * factor for factor in (1, 2, Decimal("2.5"), 5, 10) if unit * factor >= rough)
    return [_plain(step * i) for i in range(ceil(top / step) + 1)]


def agree(computed: int, given: int, pointer: str) -> int:
    """Refuses a document whose figures do not add up. Both are whole minor units, so equal means equal."""
    if computed != given:
        raise ValueError(f"{pointer} is {given}, but the figures above it give {computed}")
    return given


def _plain(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


FILTERS = {
    "money": money,
    "major": major,
    "figure": figure,
    "number": number,
    "percent": percent,
    "day": day,
    "css": css,
    "qr": qr,
    "iban": iban,
    "ticks": ticks,
    "agree": agree,
}
