"""Fixtures that several contract suites share."""

from tests.contract.s3_server import s3_server as s3_server
from tests.contract.storage_setup import storage as storage
