"""One worker for a whole module, lent to its tests one after the other.

A module whose tests need workers of other kinds has fixtures of its own under these names.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.kafka import KafkaBroker
from tests.integration.worker_rig import Rig, prefix_of


@pytest.fixture(scope="module")
def shared(
    request: pytest.FixtureRequest,
    kafka_broker: KafkaBroker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Rig]:
    """The worker, with a DynamoDB of its own."""
    home = tmp_path_factory.mktemp("worker")
    with Rig(kafka_broker, prefix_of(request.module.__name__), home) as rig:
        yield rig


@pytest.fixture
def rig(shared: Rig) -> Iterator[Rig]:
    """The same, without what other tests have made."""
    with shared.lent() as rig:
        yield rig
