"""Packs on disk: what is allowed, which version, whole or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quire.entrypoints.render import open_templates
from quire.render.domain.errors import TemplateError
from quire.render.infrastructure.filesystem import template_store
from quire.render.infrastructure.filesystem.template_store import FolderTemplateStore
from quire.runtime.settings import SettingsError, load_settings

FILES = {
    "template.html": "<p>{{ name }}</p>",
    "schema.json": '{"type": "object"}',
    "sample.json": '{"name": "Ann"}',
    "manifest.yaml": "title: Note\ndescription: A note\n",
}


def write_pack(root: Path, name: str = "note", version: str = "1.0", **changes: str | None) -> Path:
    """`changes` by file name with `_` for the dot; None leaves the file out."""
    folder = root / name / version
    folder.mkdir(parents=True)
    files = FILES | {key.replace("_", "."): text for key, text in changes.items()}
    for file, text in files.items():
        if text is not None:
            (folder / file).write_text(text, encoding="utf-8")
    return folder


def store(*roots: Path, allow: tuple[str, ...] = ("note",)) -> FolderTemplateStore:
    return FolderTemplateStore(roots, allow)


def test_only_allowed_packs_exist(tmp_path: Path) -> None:
    write_pack(tmp_path, "note")
    write_pack(tmp_path, "secret")
    packs = store(tmp_path, allow=("note", "absent"))
    assert packs.names() == ["note"]
    for name in ("secret", "absent", "", "NOTE", "../note", "note/1.0", "note\n", "a" * 100):
        with pytest.raises(TemplateError):
            packs.pack(name)


def test_allowlist_is_no_way_out_of_the_folder(tmp_path: Path) -> None:
    write_pack(tmp_path / "outside", "note")
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(TemplateError):
        store(inside, allow=("../outside/note",)).pack("../outside/note")


def test_newest_version_goes_by_number_and_any_other_by_name(tmp_path: Path) -> None:
    for version in ("1.9", "1.10", "1.2.7"):
        write_pack(tmp_path, version=version, template_html=version)
    (tmp_path / "note" / "draft").mkdir()
    packs = store(tmp_path)
    assert packs.versions("note") == ["1.2.7", "1.9", "1.10"]
    assert packs.pack("note").version == "1.10"
    assert packs.pack("note", "1.9").source == "1.9"
    for version in ("2.0", "draft", "..", ""):
        with pytest.raises(TemplateError):
            packs.pack("note", version)


def test_a_version_that_comes_or_goes_on_disk_is_seen_with_the_next_document(tmp_path: Path) -> None:
    first = write_pack(tmp_path, version="1.0")
    packs = store(tmp_path)
    assert packs.pack("note").version == "1.0"
    second = write_pack(tmp_path, version="2.0")
    assert packs.pack("note").version == "2.0"
    second.rename(tmp_path / "note" / "draft")
    assert packs.pack("note").version == "1.0"
    first.rename(tmp_path / "note" / "old")
    with pytest.raises(TemplateError):
        packs.pack("note", "1.0")


def test_own_pack_stands_before_a_shipped_one_of_its_name(tmp_path: Path) -> None:
    write_pack(tmp_path / "shipped", template_html="shipped")
    write_pack(tmp_path / "own", template_html="own")
    assert store(tmp_path / "shipped", tmp_path / "own").pack("note").source == "own"


def test_allowlist_that_names_no_template_is_refused_with_those_that_exist(tmp_path: Path) -> None:
    write_pack(tmp_path)
    known = {"PDF_TEMPLATE_ALLOWLIST": "note, invoice", "QUIRE_TEMPLATES_DIR": str(tmp_path)}
    assert list(open_templates(load_settings(**known)).names()) == ["invoice", "note"]
    with pytest.raises(
        SettingsError, match=r"no template 'invocie'; there are: contract, invoice, note, receipt"
    ):
        open_templates(load_settings(**{**known, "PDF_TEMPLATE_ALLOWLIST": "note,invocie"}))


@pytest.mark.parametrize("file", FILES)
def test_pack_with_a_missing_file_is_refused_by_its_name(tmp_path: Path, file: str) -> None:
    write_pack(tmp_path, **{file.replace(".", "_"): None})
    with pytest.raises(TemplateError, match=file.replace(".", "\\.")):
        store(tmp_path).pack("note")


@pytest.mark.parametrize(
    "changes",
    [
        {"schema_json": "{"},
        {"schema_json": '{"type": "object", "type": "object"}'},
        {"sample_json": '{"a": 1, "a": 2}'},
        {"schema_json": '{"type": "nonsense"}'},
        {"sample_json": "no"},
        {"manifest_yaml": "title: [\n"},
        {"manifest_yaml": "title: Note\n"},
        {"manifest_yaml": FILES["manifest.yaml"] + "javascrpt: true\n"},
        {"manifest_yaml": FILES["manifest.yaml"] + "paper: napkin\n"},
        {"manifest_yaml": FILES["manifest.yaml"] + "facturx_profile: shiny\n"},
        {"manifest_yaml": "!!python/object/apply:os.system ['true']"},
    ],
)
def test_pack_that_is_not_whole_is_refused(tmp_path: Path, changes: dict[str, str | None]) -> None:
    write_pack(tmp_path, **changes)
    with pytest.raises(TemplateError):
        store(tmp_path).pack("note")


def test_every_file_of_a_pack_is_in_its_hash_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "passwd").write_text("root")
    hashes = set()
    for number, name in enumerate((*FILES, "style.css")):
        root = tmp_path / str(number)
        folder = write_pack(root)
        if name != "style.css":
            (folder / name).write_text(FILES[name] + "\n")
        else:
            (folder / name).write_text("p{}")
        (folder / "link.txt").symlink_to(tmp_path / "passwd")
        pack = store(root).pack("note")
        assert "link.txt" not in pack.assets
        hashes.add(pack.content_hash)
    assert len(hashes) == len(FILES) + 1


def test_assets_keep_their_place_and_type(tmp_path: Path) -> None:
    folder = write_pack(tmp_path)
    (folder / "img").mkdir()
    (folder / "img" / "logo.svg").write_text("<svg/>")
    assert store(tmp_path).pack("note").assets == {"img/logo.svg": (b"<svg/>", "image/svg+xml")}


def test_pack_past_its_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_store, "PACK_MAX_BYTES", 1000)
    write_pack(tmp_path, style_css="x" * 1000)
    with pytest.raises(TemplateError, match="too large"):
        store(tmp_path).pack("note")


def test_pack_is_read_once(tmp_path: Path) -> None:
    folder = write_pack(tmp_path)
    packs = store(tmp_path)
    first = packs.pack("note")
    (folder / "sample.json").write_text(json.dumps({"name": "Bob"}))
    assert packs.pack("note") is first
