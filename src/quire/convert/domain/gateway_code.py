"""The code that a gateway gave its refusal (`PDF_ENCRYPTED`). A job's row has one column for words, so it stands there
in brackets of its own, where nothing else that a gateway says can stand; anything but a short identifier is no code."""

from __future__ import annotations

import re

CODE = r"[A-Z][A-Z0-9_]{1,63}"
ANSWER = re.compile(rf"the gateway answered \d+ \(({CODE})\)")


def checked_code(said: object) -> str | None:
    """Another's gateway is not trusted with what we show as a code."""
    return said if isinstance(said, str) and re.fullmatch(CODE, said) else None


def answer_in_words(status: int, code: str | None, detail: str) -> str:
    return f"the gateway answered {status}{f' ({code})' if code else ''}{': ' if detail else ''}{detail}"


def code_in(message: str | None) -> str | None:
    """Of a message made by `answer_in_words`."""
    found = ANSWER.match(message or "")
    return found[1] if found else None
