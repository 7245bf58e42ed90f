"""What a mapping refuses must leave the jail by its own name."""

from __future__ import annotations

import ast
from pathlib import Path

from quire.convert.infrastructure import mappings
from quire.convert.infrastructure.jail.pdf_mapper import REFUSALS

MAPPINGS = Path(mappings.__file__).parent


def raised_in(path: Path) -> set[str]:
    """Names of what its `raise` statements make."""
    tree = ast.parse(path.read_text())
    made = (node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise))
    return {call.func.id for call in made if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)}


def test_every_refusal_of_a_mapping_is_known_outside_the_jail() -> None:
    raised = set().union(*(raised_in(path) for path in MAPPINGS.glob("*.py")))
    assert {"CreditNoteError", "NoInvoiceError"} <= raised
    assert raised <= {error.__name__ for error in REFUSALS.values()}
