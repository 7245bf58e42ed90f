"""Reads template packs from folders: `{root}/{name}/{version}/`. Read once, kept; a changed pack is a new version."""

from __future__ import annotations

import hashlib
import json
import mimetypes
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import jsonschema
import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from quire.kernel import DuplicateKeyError, there_is, unique_keys
from quire.render.domain.errors import TemplateError
from quire.render.domain.render_options import PAPERS
from quire.render.domain.template_pack import NAME, VERSION, Manifest, TemplatePack, version_key

OWN_FILES = frozenset({"template.html", "schema.json", "sample.json", "manifest.yaml"})
FILE_MAX_BYTES = 5_000_000
PACK_MAX_BYTES = 20_000_000


class ManifestFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str
    description: str
    paper: str = "A4"
    landscape: bool = False
    margin: str = "20mm 18mm 22mm 18mm"
    javascript: bool = False
    facturx_profile: Literal["minimum", "basicwl", "basic", "en16931"] | None = None
    language: str = "en"


class FolderTemplateStore:
    def __init__(self, roots: Sequence[Path], allowlist: Sequence[str]) -> None:
        """Later roots win: a user's pack stands before a shipped one of the same name."""
        self._places = {
            name: [root / name for root in reversed(roots)]
            for name in sorted(set(allowlist))
            if NAME.fullmatch(name)
        }
        self._roots = tuple(roots)
        self._packs: dict[tuple[str, str], TemplatePack] = {}

    def names(self) -> Sequence[str]:
        return [name for name in self._places if self._folder(name) is not None]

    def found(self) -> frozenset[str]:
        """Every pack there is, on the allowlist or not."""
        folders = (folder for root in self._roots if root.is_dir() for folder in root.iterdir())
        return frozenset(folder.name for folder in folders if folder.is_dir() and NAME.fullmatch(folder.name))

    def versions(self, name: str) -> Sequence[str]:
        folder = self._allowed_folder(name)
        # Looked at with every document, so that a new version counts at once; a scan says what is a folder by itself.
        with os.scandir(folder) as entries:
            found = [entry.name for entry in entries if VERSION.fullmatch(entry.name) and entry.is_dir()]
        return sorted(found, key=version_key)

    def pack(self, name: str, version: str | None = None) -> TemplatePack:
        versions = self.versions(name)
        if not versions or (version is not None and version not in versions):
            raise TemplateError(
                f"template {name!r} has no version {version!r}; {there_is(versions, version or '')}"
            )
        chosen = version or versions[-1]
        if (name, chosen) not in self._packs:
            self._packs[name, chosen] = _read_pack(self._allowed_folder(name) / chosen, name, chosen)
        return self._packs[name, chosen]

    def _allowed_folder(self, name: str) -> Path:
        folder = self._folder(name)
        if folder is None:
            raise TemplateError(f"no template {name[:80]!r}; {there_is(self.names(), name)}")
        return folder

    def _folder(self, name: str) -> Path | None:
        return next((folder for folder in self._places.get(name, ()) if folder.is_dir()), None)


def _read_pack(folder: Path, name: str, version: str) -> TemplatePack:
    try:
        files = _read_files(folder)
        manifest = ManifestFile.model_validate(yaml.safe_load(files["manifest.yaml"]))
        schema = json.loads(files["schema.json"], object_pairs_hook=unique_keys)
        jsonschema.Draft202012Validator.check_schema(schema)
        if manifest.paper not in PAPERS:
            raise TemplateError(f"template {name}: unknown paper {manifest.paper}")
        return TemplatePack(
            name=name,
            version=version,
            manifest=Manifest(**manifest.model_dump()),
            source=files["template.html"].decode(),
            schema=schema,
            sample=json.loads(files["sample.json"], object_pairs_hook=unique_keys),
            assets=_assets(files),
            content_hash=_hash(files),
        )
    except KeyError as error:
        raise TemplateError(f"template {name}/{version}: {error.args[0]} is missing") from None
    except (ValidationError, DuplicateKeyError, ValueError, yaml.YAMLError, jsonschema.SchemaError) as error:
        raise TemplateError(
            f"template {name}/{version}: {type(error).__name__}: {str(error)[:300]}"
        ) from None


def _read_files(folder: Path) -> dict[str, bytes]:
    """Links are not followed: a pack holds what it shows."""
    files, size = {}, 0
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        size += path.stat().st_size
        if path.stat().st_size > FILE_MAX_BYTES or size > PACK_MAX_BYTES:
            raise TemplateError(f"template pack {folder.parent.name}/{folder.name} is too large")
        files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files


def _assets(files: Mapping[str, bytes]) -> dict[str, tuple[bytes, str]]:
    return {
        path: (data, mimetypes.guess_type(path)[0] or "application/octet-stream")
        for path, data in files.items()
        if path not in OWN_FILES
    }


def _hash(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for path, data in sorted(files.items()):
        digest.update(f"{path}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()
