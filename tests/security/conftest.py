"""The locked broker, started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.kafka_secured import SecuredBroker


@pytest.fixture(scope="session")
def secured_broker() -> Iterator[SecuredBroker]:
    """One for all tests; they share nothing in it."""
    with SecuredBroker() as broker:
        yield broker
