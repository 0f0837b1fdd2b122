"""One suite of behaviours against the fake, moto and ministack: a verified fake.

The fake must show every behaviour. Where an emulator is known to be wrong, a waiver says so and
why; a waiver whose emulator shows the behaviour after all is stale and fails.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.fakes.behaviours import Behaviour, Clients
from tests.fakes.behaviours_items import ITEMS
from tests.fakes.behaviours_streams import STREAMS
from tests.fakes.process import FakeProcess
from tests.harness.ministack import Ministack, answers_http
from tests.harness.processes import ManagedProcess, free_ports

pytestmark = pytest.mark.emulator

BEHAVIOURS = {behaviour.name: behaviour for behaviour in (*ITEMS.behaviours, *STREAMS.behaviours)}
START_DEADLINE_S = 30.0

# Known faults of the emulators, most of them listed in spec streams-and-leases 6 and
# test-infrastructure (b). The fake has no waivers.
MOTO = {
    "a_binary_key_is_encoded_once": "Keys.id.B of a stream record is base64 twice (S23)",
    "a_limit_that_fits_exactly_ends_on_an_empty_page": "looks ahead for the end; AWS does not",
    "a_scan_consumes_half_a_unit_per_four_kilobytes": "ConsumedCapacity is constantly 1.0",
    "a_stream_cannot_be_enabled_twice": "ResourceInUseException instead of ValidationException",
    "a_stream_describes_itself": "ignores ShardFilter",
    "a_stream_that_is_enabled_again_is_another_stream": "writes fail while it is disabled",
    "an_update_that_creates_leaves_one_record": "an upsert emits two INSERTs",
    "creation_times_are_whole_seconds": "milliseconds in ApproximateCreationDateTime",
    "impossible_items_are_refused": "takes numbers of more than 38 digits",
    "numbers_are_brought_into_normal_form": "stores numbers as they were written",
    "records_carry_what_identifies_them": "eventVersion 1.0; AWS sends 1.1",
    "senseless_scans_are_refused": "takes an ExclusiveStartKey that is no key",
    "sizes_count_keys_and_images": "SizeBytes is the size of Python's objects",
    "the_stream_of_a_deleted_table_can_be_read_to_its_end": "the stream goes with its table",
    "what_is_not_there_is_named": "HTTP 500 for an unknown shard and a malformed iterator",
    "writes_without_effect_leave_no_record": "no-op Put and Update emit MODIFY",
}
MINISTACK = {
    "a_scan_consumes_half_a_unit_per_four_kilobytes": "ConsumedCapacity is 0.5 per page",
    "a_stream_cannot_be_enabled_twice": "takes it without an error",
    "sizes_count_keys_and_images": "SizeBytes is 0",
    "sort_keys_are_in_their_own_order_and_resumable": "scans sort numeric keys as text",
    "tagged_resources_come_in_pages": "ignores ResourcesPerPage",
}


@pytest.fixture(scope="module")
def fake() -> Iterator[Clients]:
    with FakeProcess() as process:
        clients = Clients(process.url)
        yield clients
        clients.close()


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    process = ManagedProcess(
        "moto",
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        log_path=tmp_path_factory.mktemp("moto") / "moto.log",
    )
    process.start()
    try:
        process.wait_until(
            lambda: answers_http(url), what="an HTTP answer", deadline_s=START_DEADLINE_S
        )
        clients = Clients(url)
        yield clients
        clients.close()
    finally:
        process.stop(grace_s=5.0)


@pytest.fixture(scope="module")
def ministack() -> Iterator[Clients]:
    with Ministack() as server:
        clients = Clients(server.url)
        yield clients
        clients.close()


@pytest.mark.parametrize("server", ["fake", "moto", "ministack"])
@pytest.mark.parametrize("name", sorted(BEHAVIOURS))
def test_server_shows_the_behaviour(name: str, server: str, request: pytest.FixtureRequest) -> None:
    behaviour: Behaviour = BEHAVIOURS[name]
    clients: Clients = request.getfixturevalue(server)
    waivers = {"moto": MOTO, "ministack": MINISTACK}.get(server, {})
    try:
        seen = behaviour.run(clients)
    except (BotoCoreError, ClientError, KeyError, IndexError) as error:
        if name not in waivers:
            raise
        seen = error
    if name in waivers:
        assert seen != behaviour.expected, f"the waiver is stale: {waivers[name]}"
    else:
        assert seen == behaviour.expected
