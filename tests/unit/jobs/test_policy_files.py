"""Policy files: what is wrong is named with file and line, and what is shipped is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from quire.entrypoints.shipped import shipped_dir
from quire.jobs import load_policies
from quire.jobs.infrastructure.yaml.located_file import PolicyFileError

GOOD = {
    "queues": "version: 1\nqueues:\n  default: {class: small}\n",
    "retries": "version: 1\nkinds: {}\n",
    "throttling": "version: 1\n",
}
WRONG = {
    "a key nobody knows": ("queues", "version: 1\nqueues:\n  default:\n    clas: small\n", "queues.yaml:4", "clas"),
    "a wrong type": (
        "queues", "version: 1\nqueues:\n  default:\n    hard_limit_seconds: soon\n", "queues.yaml:4", "number",
    ),
    "a wrong choice": ("queues", "version: 1\nqueues:\n  default: {class: tiny}\n", "queues.yaml:3", "class"),
    "a wrong name": ("queues", "version: 1\nqueues:\n  default: {}\n  Bad-Name: {}\n", "queues.yaml:4", "Bad-Name"),
    "an unknown integration": (
        "queues", "version: 1\nqueues:\n  default: {}\n  ocr:\n    integration: tika\n", "queues.yaml:5", "tika",
    ),
    "an unknown queue": (
        "queues", "version: 1\nqueues: {default: {}}\nkinds:\n  a.b: {queue: gone}\n", "queues.yaml:4", "gone",
    ),
    "an unknown queue among several": (
        "queues", "version: 1\nqueues: {default: {}}\nkinds:\n  a.b:\n    queues: [default, gone]\n",
        "queues.yaml:5", "gone",
    ),
    "queue and queues": (
        "queues", "version: 1\nqueues: {default: {}}\nkinds:\n  a.b: {queue: default, queues: [default]}\n",
        "queues.yaml:4", "queues",
    ),
    "a kind without a queue": (
        "queues", "version: 1\nqueues: {default: {}}\nkinds:\n  a.b: {ttl_seconds: 1}\n", "queues.yaml:4", "queue",
    ),
    "no default queue": ("queues", "version: 1\n\nqueues:\n  other: {}\n", "queues.yaml:3", "default"),
    "a soft limit after the hard one": (
        "queues",
        "version: 1\nqueues:\n  default:\n    hard_limit_seconds: 5\n    soft_limit_seconds: 6\n",
        "queues.yaml:5", "soft",
    ),
    "a key given twice": (
        "queues", "version: 1\nqueues:\n  default: {}\n  default: {class: large}\n", "queues.yaml:4", "twice",
    ),
    "no version": ("queues", "queues:\n  default: {}\n", "queues.yaml:1", "version"),
    "a version of the future": ("retries", "version: 2\nkinds: {}\n", "retries.yaml:1", "version"),
    "no YAML": ("retries", "version: 1\nkinds: {a: [\n", "retries.yaml:3", "YAML"),
    "a tab": ("retries", "version: 1\nkinds:\n\tx: 1\n", "retries.yaml:3", "YAML"),
    "a date that is none": ("retries", "version: 2026-13-45\n", "retries.yaml", "YAML"),
    "nothing": ("retries", "", "retries.yaml:1", "dictionary"),
    "a list": ("retries", "- 1\n", "retries.yaml:1", "dictionary"),
    "no codes": ("retries", "version: 1\nkinds:\n  a.b:\n    - attempts: 3\n", "retries.yaml:4", "codes"),
    "too many attempts": (
        "retries", "version: 1\nkinds:\n  a.b:\n    - {codes: [A], attempts: 1000}\n", "retries.yaml:4", "attempts",
    ),
    "an endless time": (
        "queues", "version: 1\nqueues: {default: {}}\nkinds:\n  a.b: {queue: default, ttl_seconds: .inf}\n",
        "queues.yaml:4", "ttl_seconds",
    ),
    "a time that is no number": (
        "queues", "version: 1\nqueues: {default: {hard_limit_seconds: .nan}}\n", "queues.yaml:2", "hard_limit",
    ),
    "a breaker without codes": (
        "throttling",
        "version: 1\nintegrations:\n  ocr:\n    breaker:\n      failure_codes: []\n", "throttling.yaml:5", "codes",
    ),
    "a rate of nothing": (
        "throttling", "version: 1\nintegrations:\n  ocr: {rate_per_second: 0}\n", "throttling.yaml:3", "rate",
    ),
}  # fmt: skip


def write(directory: Path, **files: str) -> Path:
    for name, text in {**GOOD, **files}.items():
        (directory / f"{name}.yaml").write_text(text, encoding="utf-8")
    return directory


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_policy_is_refused_with_file_and_line(tmp_path: Path, name: str) -> None:
    file, text, place, word = WRONG[name]
    with pytest.raises(PolicyFileError) as refusal:
        load_policies(write(tmp_path, **{file: text}))
    assert refusal.value.code == "CONFIG_INVALID"
    assert refusal.value.detail.startswith(place), refusal.value.detail
    assert word in refusal.value.detail
    assert "\n" not in refusal.value.detail


def test_a_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "throttling.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyFileError, match=r"^throttling\.yaml: cannot be read"):
        load_policies(tmp_path)
    (tmp_path / "throttling.yaml").unlink()
    with pytest.raises(PolicyFileError, match=r"^throttling\.yaml: cannot be read"):
        load_policies(tmp_path)


def test_the_shipped_policies_are_valid() -> None:
    policies = load_policies(shipped_dir("config"))
    assert policies.queues.queue("default").size_class == "small"
    assert policies.retries.max_crashes == 3
    assert policies.retries.dead_letter_days == 10


def test_the_shipped_classes_end_at_five_twenty_and_a_hundred_megabytes() -> None:
    queues = load_policies(shipped_dir("config")).queues
    ends = [5 * 2**20, 20 * 2**20, 100 * 2**20]
    assert [queues.size_class_of(size) for size in ends] == ["small", "medium", "large"]
    assert [queues.size_class_of(size + 1) for size in ends] == ["medium", "large", "xlarge"]


def test_the_soft_limit_is_five_seconds_before_the_hard_one_unless_given(tmp_path: Path) -> None:
    text = (
        "version: 1\nqueues:\n  default: {hard_limit_seconds: 60}\n  quick: {hard_limit_seconds: 4}\n"
        "  own: {hard_limit_seconds: 60, soft_limit_seconds: 20}\n"
    )
    queues = load_policies(write(tmp_path, queues=text)).queues
    assert [queues.queue(name).soft_limit_seconds for name in ("default", "quick", "own")] == [55, 2, 20]


def test_a_kind_lists_its_queues_and_one_queue_is_a_list_of_one(tmp_path: Path) -> None:
    text = (
        "version: 1\nqueues: {default: {}, slow: {class: large}}\nkinds:\n"
        "  a.one: {queue: slow}\n  a.two: {queues: [slow, default], size_classes: [small, large]}\n"
    )
    queues = load_policies(write(tmp_path, queues=text)).queues
    assert (queues.kind("a.one").queues, queues.kind("a.one").queue) == (("slow",), "slow")
    assert (queues.kind("a.two").queues, queues.kind("a.two").queue) == (("slow", "default"), "slow")
    assert queues.kind("a.two").size_classes == ("small", "large")
    assert queues.kind("a.unlisted").queues == ("default",)


def test_only_kinds_of_an_integrations_queue_use_it(tmp_path: Path) -> None:
    queues = (
        "version: 1\nqueues: {default: {}, ask: {integration: partner}}\n"
        "kinds: {a.b: {queue: ask}, a.c: {queues: [default, ask]}, a.d: {queue: default}}\n"
    )
    throttling = "version: 1\nintegrations: {partner: {max_concurrency: 1}}\n"
    policies = load_policies(write(tmp_path, queues=queues, throttling=throttling))
    uses = {kind: policies.integration_of(kind, "ask") is not None for kind in ("a.b", "a.c", "a.d", "a.e")}
    assert uses == {"a.b": True, "a.c": True, "a.d": False, "a.e": False}
    assert policies.integration_of("a.c", "default") is None


def test_exact_kinds_go_before_patterns_and_longer_patterns_before_shorter_ones(tmp_path: Path) -> None:
    rule = "[{{codes: [A], attempts: {}}}]"
    names = {'"*"': 2, '"render.*"': 3, "render.pdf": 4, '"render.p*"': 5}
    lines = "\n".join(f"  {name}: {rule.format(attempts)}" for name, attempts in names.items())
    retries = load_policies(write(tmp_path, retries=f"version: 1\nkinds:\n{lines}\n")).retries
    kinds = ("render.pdf", "render.png", "render.xml", "convert.xml")
    assert [retries.rule_for(kind, "A", "small").attempts for kind in kinds] == [4, 5, 3, 2]  # type: ignore[union-attr]


def test_a_worker_serves_the_queues_its_patterns_name_smallest_class_first(tmp_path: Path) -> None:
    text = "version: 1\nqueues:\n  default: {}\n  ocr_large: {class: large}\n  ocr_small: {}\n  asr: {class: medium}\n"
    queues = load_policies(write(tmp_path, queues=text)).queues
    assert [queue.name for queue in queues.matching(["ocr_*"])] == ["ocr_small", "ocr_large"]
    assert [queue.name for queue in queues.matching(["*"])] == ["default", "ocr_small", "asr", "ocr_large"]
    assert queues.matching(["nothing"]) == []


def test_a_file_falls_into_the_first_class_that_holds_it(tmp_path: Path) -> None:
    text = "version: 1\nsize_limits_bytes: {small: 10, medium: 20, large: 30}\nqueues: {default: {}}\n"
    queues = load_policies(write(tmp_path, queues=text)).queues
    sizes = [queues.size_class_of(size) for size in (0, 10, 11, 20, 30, 31)]
    assert sizes == ["small", "small", "medium", "medium", "large", "xlarge"]
