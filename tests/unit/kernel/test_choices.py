"""What a refusal offers in place of an unknown name."""

from __future__ import annotations

from quire.kernel import there_is

MANY = [f"ocr_pdf_{number}" for number in range(20)] + ["render_pdf"]


def test_few_names_are_all_said() -> None:
    assert there_is({"b", "a"}, "c") == "there are: a, b"
    assert there_is(["a"], "c") == "there is a alone"
    assert there_is([], "c") == "there is none"


def test_of_many_names_the_nearest_are_said() -> None:
    assert there_is(MANY, "render_pfd").startswith("nearest of 21: render_pdf")
    assert there_is(MANY, "x" * 10_000) == "none of 21 is like it"
