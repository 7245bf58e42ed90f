"""Fixtures that several contract suites share."""

from tests.broker_servers import rabbit_server as rabbit_server
from tests.broker_servers import redis_server as redis_server
from tests.contract.broker_setup import any_broker as any_broker
from tests.contract.broker_setup import message_system as message_system
from tests.contract.s3_server import s3_server as s3_server
from tests.contract.storage_setup import storage as storage
