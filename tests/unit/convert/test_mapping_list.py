"""What ships is allowed as shipped, and the API tells of it in the gateway's words."""

from __future__ import annotations

from quire.convert.domain.mapping_list import DESCRIPTIONS
from quire.convert.infrastructure.mappings import MAPPINGS
from quire.entrypoints.convert import mapping_list
from quire.runtime.settings import Settings, load_settings


def test_every_mapping_that_ships_may_be_asked_for_as_shipped() -> None:
    shipped = Settings.model_fields["convert_mappings"].default
    assert mapping_list(load_settings(CONVERT_MAPPINGS=shipped)).names == tuple(MAPPINGS)


def test_the_api_describes_each_mapping_in_the_words_of_the_gateway() -> None:
    assert {name: mapping.about.description for name, mapping in MAPPINGS.items()} == DESCRIPTIONS
