"""Fixtures that several contract suites share."""

from tests.support.broker_servers import rabbit_server as rabbit_server
from tests.support.broker_servers import redis_server as redis_server
from tests.support.broker_setup import any_broker as any_broker
from tests.support.broker_setup import message_system as message_system
from tests.support.s3_server import s3_server as s3_server
from tests.support.storage_setup import storage as storage
