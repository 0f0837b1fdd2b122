"""Probes and /metrics of a control plane: what they say while things go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from connectd.configdef import rest_login
from connectd.configdef.worker import WorkerConfig
from connectd.model.cluster import ClusterConfigState
from connectd.model.ids import ConnectorTaskId
from connectd.model.record import SourcePartition
from connectd.model.states import State
from connectd.model.status import Status
from connectd.observe.metrics import Exposition
from connectd.rest.api import create_admin_api, create_api
from connectd.runtime.herder import HerderSettings
from connectd.stores.memory import MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore
from tests.kit.asgi_client import AsgiClient
from tests.kit.control_plane import WORKER_PROPERTIES, Plane, control_plane, src
from tests.kit.probes import ProbeConnector
from tests.kit.virtual import virtual

Labels = dict[str, str]
Stores = tuple[MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore]


class OfHerder:
    """The numbers of the herder alone."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    async def text(self) -> bytes:
        exposition = Exposition()
        await self._plane.herder.metering.add_to(exposition)
        return await exposition.render()


async def scraped(plane: Plane) -> dict[str, list[tuple[Labels, float]]]:
    """Samples by name."""
    client = AsgiClient(create_api(plane.herder, numbers=OfHerder(plane)))
    answer = await client.get("/metrics", headers={"accept": "text/plain;version=0.0.4"})
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found: dict[str, list[tuple[Labels, float]]] = {}
    for family in text_string_to_metric_families(answer.body.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def value(found: dict[str, list[tuple[Labels, float]]], name: str, **labels: str) -> float:
    (only,) = [number for its, number in found[name] if labels.items() <= its.items()]
    return only


# -- metrics ------------------------------------------------------------------------------------


@virtual
async def test_states_are_told_in_the_words_of_both_dialects() -> None:
    async with control_plane() as plane:
        await plane.create("s", tasks_max="3")
        plane.probes["s"].latest(1).fail(ValueError("x"))
        await plane.settle()
        found = await scraped(plane)
        assert value(found, "kafka_connect_connector_status", connector="s", status="running") == 1
        states = {
            (its["task"], its["status"]) for its, _ in found["kafka_connect_connector_task_status"]
        }
        assert states == {("0", "running"), ("1", "failed"), ("2", "running")}
        prefix = "kafka_connect_connect_worker_metrics_connector"
        assert value(found, f"{prefix}_failed_task_count", connector="s") == 1
        assert value(found, "kafka_connect_worker_connector_running_task_count") == 2
        (everything,) = found["kafka_connect_connector_metrics"]
        assert everything[0]["connector_class"] == "tests.ProbeSource"
        assert (everything[0]["connector_type"], everything[0]["connector_version"]) == (
            "source",
            "1.0",
        )


@virtual
async def test_starts_and_restarts_are_counted() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        assert (await plane.client.post("/connectors/s/tasks/0/restart")).status == 204
        await plane.settle()
        plane.probes["bad"].start_error = ValueError("x")
        await plane.create("bad")
        found = await scraped(plane)
        assert value(found, "connectd_task_restarts_total", connector="s", task="0") == 1
        assert value(found, "kafka_connect_worker_task_startup_attempts_total") == 2
        assert value(found, "kafka_connect_worker_metrics_task_startup_success_total") == 2
        assert value(found, "kafka_connect_worker_connector_startup_failure_total") == 1
        assert value(found, "kafka_connect_worker_connector_startup_success_percentage") == 0.5


@virtual
async def test_what_is_deleted_is_not_told_any_more() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        assert value(await scraped(plane), "connectd_table_state", table="t0") == 1
        assert (await plane.client.delete("/connectors/s")).status == 204
        await plane.settle()
        found = await scraped(plane)
        assert "connectd_table_state" not in found
        assert "kafka_connect_connector_status" not in found
        assert value(found, "kafka_connect_worker_task_count") == 0


@virtual
async def test_an_assignment_is_a_rebalance_and_has_an_age() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        before = await scraped(plane)
        await asyncio.sleep(60)
        found = await scraped(plane)
        group = "kafka_connect_connect_worker_rebalance_metrics"
        assert value(found, f"{group}_completed_rebalances_total") >= 2
        status = plane.statuses.task(ConnectorTaskId("s", 0))
        assert status is not None
        assert value(found, f"{group}_epoch") == status.generation
        older = value(found, f"{group}_time_since_last_rebalance_ms")
        assert older >= value(before, f"{group}_time_since_last_rebalance_ms") + 60_000
        assert value(found, f"{group}_leader_name", leader_name="http://worker:8083/") == 1


@virtual
async def test_a_table_shows_what_its_row_shows() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        plane.probes["s"].latest().row = {
            "lag_s": 1.5,
            "gaps": 2,
            "items_scanned": 50,
            "items_estimated": 200,
            "last_read_age_s": None,
            "scan": {"segments": 4, "segments_finished": 1, "left_s": None},
        }
        found = await scraped(plane)
        assert value(found, "connectd_table_lag_seconds", table="t0", task="0") == 1.5
        assert value(found, "connectd_table_gaps_total", table="t0") == 2
        assert value(found, "connectd_table_scan_progress_ratio", table="t0") == 0.25
        assert value(found, "connectd_table_scan_segments", table="t0") == 4
        assert "connectd_table_last_read_age_seconds" not in found
        assert "connectd_table_scan_left_seconds" not in found
        assert value(found, "connectd_connector_tables", state="skipped") == 1


@virtual
async def test_a_table_that_no_task_has_is_degraded_if_it_makes_no_progress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may have been copied before the worker was started anew: nobody else would tell."""
    unknown = {"table": "unknown", "state": "DISCOVERY", "progress_age_s": 1e6}
    skipped = {"table": "skipped", "state": "SKIPPED", "reason": "no stream"}
    monkeypatch.setattr(ProbeConnector, "tables", lambda connector: [unknown, skipped])
    async with control_plane() as plane:
        await plane.create("s")
        found = await scraped(plane)
        degraded = {its["table"]: number for its, number in found["connectd_table_degraded"]}
        assert degraded == {"unknown": 1, "t0": 0}
        assert value(found, "connectd_worker_tables_degraded") == 1


@virtual
async def test_a_plugin_that_cannot_tell_of_its_tables_takes_nothing_else_away() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        await plane.create("other")

        def explode() -> Any:
            raise ZeroDivisionError

        plane.probes["s"].latest().tables = explode  # type: ignore[method-assign]
        found = await scraped(plane)
        assert {its["connector"] for its, _ in found["connectd_table_degraded"]} == {"other"}
        assert value(found, "kafka_connect_connector_task_status", connector="s") == 1


def _ends_early() -> Iterator[dict[str, object]]:
    yield {"table": "a", "state": "SYNC"}
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "told", [None, 5, "x", [None], ["x"], [{5: 6}], _ends_early()], ids=lambda told: repr(told)[:9]
)
@virtual
async def test_a_plugin_whose_rows_are_none_makes_no_worker_unready(
    told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProbeConnector, "tables", lambda connector: told)
    async with control_plane() as plane:
        await plane.create("s")
        assert (await plane.client.get("/connectd/health/ready")).status == 200
        found = await scraped(plane)
        assert value(found, "connectd_table_state", connector="s", table="t0") == 1
        answer = await plane.client.get("/connectd/connectors/s/tables")
        assert (answer.status, "tables gave" in answer.message) == (500, True)


@virtual
async def test_what_cannot_be_shown_of_a_row_takes_nothing_else_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd = {
        "table": "half \ud800",
        "state": Path("odd"),
        "lag_s": float("nan"),
        "gaps": 10**5000,
        "scan": {"of": {"of": {"of": {}}}},
    }
    monkeypatch.setattr(ProbeConnector, "tables", lambda connector: [odd])
    async with control_plane() as plane:
        await plane.create("s")
        (row, _) = (await plane.client.get("/connectd/connectors/s/tables")).json()["tables"]
        assert row == {
            "table": "half ?",
            "state": "odd",
            "lag_s": None,
            "gaps": None,
            "scan": {"of": {"of": "{'of': {}}"}},
            "degraded": False,
        }
        assert value(await scraped(plane), "connectd_table_state", table="half ?", state="odd") == 1


@virtual
async def test_a_task_that_does_not_tell_of_itself_takes_nothing_else_away() -> None:
    async with control_plane() as plane:
        await plane.create("s")

        def explode() -> Any:
            raise ZeroDivisionError

        plane.probes["s"].latest().metrics = explode  # type: ignore[method-assign]
        found = await scraped(plane)
        assert value(found, "kafka_connect_connector_task_status", connector="s") == 1
        assert value(found, "connectd_table_state", table="t0") == 1


@pytest.mark.parametrize(
    "accept",
    [
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        "application/json",
        "*/*",
    ],
)
@virtual
async def test_every_scraper_is_given_the_one_format_and_told_which_it_is(accept: str) -> None:
    async with control_plane() as plane:
        answer = await plane.client.get("/metrics", headers={"accept": accept})
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


@pytest.mark.parametrize("name", ['quo"te', "back\\slash", 'a{b="c"} 1', "é世😀", "\u2028", "<b>"])
@virtual
async def test_a_connector_of_any_name_is_told_by_that_name(name: str) -> None:
    async with control_plane() as plane:
        answer = await plane.client.post("/connectors", {"name": name, "config": src(name)})
        assert answer.status == 201
        await plane.settle()
        found = await scraped(plane)
        assert value(found, "kafka_connect_connector_status", connector=name) == 1
        assert value(found, "connectd_table_state", connector=name, table="t0") == 1


# -- a table that stands still --------------------------------------------------------------------


@virtual
async def test_a_table_that_stands_still_is_degraded_everywhere_and_the_worker_stays_ready() -> (
    None
):
    """P07: a pod that is ready, with a pipeline that has been dead for days."""
    async with control_plane() as plane:
        await plane.create("s")
        ready = (await plane.client.get("/connectd/health/ready")).json()
        assert ready == {"status": "ready", "reasons": [], "tables_degraded": 0}
        plane.probes["s"].latest().row = {"progress_age_s": 301.0}
        answer = await plane.client.get("/connectd/health/ready")
        assert (answer.status, answer.json()["tables_degraded"]) == (200, 1)
        found = await scraped(plane)
        assert value(found, "connectd_table_degraded", table="t0") == 1
        assert value(found, "connectd_worker_tables_degraded") == 1
        assert value(found, "connectd_connector_tables_degraded", connector="s") == 1
        rows = (await plane.client.get("/connectd/connectors/s/tables")).json()["tables"]
        assert [row["degraded"] for row in rows] == [False, True]
        assert (await plane.client.get("/connectors/s/status")).json()["tasks"][0]["state"] == (
            "RUNNING"
        )


@virtual
async def test_a_reason_that_repeats_a_secret_shows_it_nowhere() -> None:
    secret = "PLANTsk7x"
    async with control_plane() as plane:
        await plane.create("s", aws_secret_key=secret)
        said = {"reason": f"AccessDeniedException: credential {secret}", "progress_age_s": 301.0}
        plane.probes["s"].latest().row = said
        rows = (await plane.client.get("/connectd/connectors/s/tables")).json()["tables"]
        assert [row.get("reason") for row in rows[1:]] == [
            "AccessDeniedException: credential [hidden]"
        ]
        client = AsgiClient(create_api(plane.herder, numbers=OfHerder(plane)))
        for path in ("/metrics", "/connectd/health/ready", "/connectors/s/status"):
            assert secret not in (await client.get(path)).body.decode(), path


# -- probes ---------------------------------------------------------------------------------------


@virtual
async def test_a_worker_that_starts_lives_and_is_not_ready() -> None:
    started = asyncio.Event()

    async def wait_for_the_broker() -> None:
        await started.wait()

    async with control_plane(opens=wait_for_the_broker) as plane:
        before_s = asyncio.get_running_loop().time()
        assert (await plane.client.get("/connectd/health/live")).json() == {"status": "live"}
        answer = await plane.client.get("/connectd/health/ready")
        assert asyncio.get_running_loop().time() == before_s  # unlike /health they do not wait
        assert answer.status == 503
        (reason,) = answer.json()["reasons"]
        assert reason.startswith(
            "Worker is still starting up. The worker is currently initializing and reading"
        )
        started.set()
        await plane.settle()
        assert (await plane.client.get("/connectd/health/ready")).status == 200


@pytest.mark.parametrize("store", ["configs", "offsets", "statuses"])
@virtual
async def test_a_worker_whose_brokers_do_not_answer_is_not_ready_until_they_do(store: str) -> None:
    async with control_plane() as plane:
        getattr(plane, store).is_available = False
        answer = await plane.client.get("/connectd/health/ready")
        assert (answer.status, answer.json()["status"]) == (503, "not ready")
        assert answer.json()["reasons"] == [
            f"Kafka does not answer the reader of the {store} topic."
        ]
        assert (await plane.client.get("/connectd/health/live")).status == 200
        assert (await plane.client.get("/health")).status == 200  # KIP-1017: it handles requests
        getattr(plane, store).is_available = True
        assert (await plane.client.get("/connectd/health/ready")).status == 200


@virtual
async def test_a_worker_whose_topic_has_gone_does_not_say_that_kafka_is_away() -> None:
    async with control_plane() as plane:
        plane.configs.is_available = False
        plane.configs.refusal = "topic connect-configs does not exist any more"
        answer = await plane.client.get("/connectd/health/ready")
        assert (answer.status, answer.json()["reasons"]) == (
            503,
            [
                "The reader of the configs topic cannot go on: topic connect-configs does not "
                "exist any more."
            ],
        )


async def _remembered(name: str = "orders") -> Stores:
    """What is left when the config topic is made anew: offsets, and a status."""
    configs, offsets, statuses = MemoryConfigStore(), MemoryOffsetStore(), MemoryStatusStore()
    configs.is_new = True
    await offsets.put(name, {SourcePartition((("table_name", "t"),)): {"n": 1}})
    statuses.put_connector("other", Status(State.RUNNING, "w:8083", 1, None))
    return configs, offsets, statuses


@virtual
async def test_a_worker_with_a_new_config_topic_beside_old_ones_is_not_ready_but_serves() -> None:
    stores = await _remembered()
    configs = stores[0]
    with capture_logs() as lines:
        async with control_plane(stores=stores) as plane:
            answer = await plane.client.get("/connectd/health/ready")
            assert answer.status == 503
            (reason,) = answer.json()["reasons"]
            assert "knows connectors (2)" in reason
            assert "config.storage.topic" in reason
            assert "orders" not in reason  # answered without a login
            assert plane.herder.connectors_lost() == 2
            assert plane.status("other") is not None, "a restart is to find it again"
            assert (await plane.client.get("/health")).status == 200
            await plane.create("orders")
            configs.is_new = False  # as the store says from then on
            assert (await plane.client.get("/connectd/health/ready")).status == 200
            assert plane.herder.connectors_lost() == 0
            await plane.create("another")
            assert plane.status("other") is None
    (told,) = [line for line in lines if line["log_level"] == "error"]
    assert told["connectors"] == ["orders", "other"]


@pytest.mark.parametrize("case", ["allowed", "not new", "nothing is remembered", "read meanwhile"])
@virtual
async def test_a_new_config_topic_may_be_meant_or_be_none(case: str) -> None:
    stores = await _remembered()
    configs = stores[0]
    settings = HerderSettings(allows_new_config_topic=case == "allowed")
    if case == "not new":
        configs.is_new = False
    if case == "nothing is remembered":
        stores = (configs, MemoryOffsetStore(), MemoryStatusStore())
    if case == "read meanwhile":

        async def refresh() -> ClusterConfigState:
            configs.is_new = False
            return configs.snapshot()

        configs.refresh = refresh  # type: ignore[method-assign]
    async with control_plane(stores=stores, settings=settings) as plane:
        assert (await plane.client.get("/connectd/health/ready")).status == 200
        assert plane.herder.connectors_lost() == 0


@virtual
async def test_a_worker_that_ends_is_not_ready() -> None:
    async with control_plane() as plane:
        plane.herder.stop()
        answer = await plane.client.get("/connectd/health/ready")
        assert (answer.status, answer.json()["reasons"]) == (503, ["The worker is ending."])


# -- who may ask ----------------------------------------------------------------------------------


@pytest.fixture
def login(tmp_path: Path) -> Callable[..., WorkerConfig]:
    users = tmp_path / "users.properties"
    users.write_text("admin=s3cret\n")

    def config(**properties: str) -> WorkerConfig:
        more = {name.replace("_", "."): text for name, text in properties.items()}
        return WorkerConfig.from_properties(
            {**WORKER_PROPERTIES, rest_login.CREDENTIALS_FILE: str(users), **more}
        )

    return config


@virtual
async def test_probes_need_no_login_and_metrics_do(login: Callable[..., WorkerConfig]) -> None:
    """X09. Metrics name connectors and tables."""
    async with control_plane() as plane:
        client = AsgiClient(create_api(plane.herder, login().rest))
        for path, status in {
            "/connectd/health/live": 200,
            "/connectd/health/ready": 200,
            "/metrics": 401,
            "/health": 401,
        }.items():
            assert (await client.get(path)).status == status, path


@virtual
async def test_metrics_can_be_opened(login: Callable[..., WorkerConfig]) -> None:
    async with control_plane() as plane:
        config = login(connectd_rest_basic_auth_public_paths="/metrics")
        client = AsgiClient(create_api(plane.herder, config.rest))
        assert (await client.get("/metrics")).status == 200
        assert (await client.get("/connectors")).status == 401


@virtual
async def test_listeners_of_operators_have_metrics_and_probes() -> None:
    async with control_plane() as plane:
        client = AsgiClient(create_admin_api(plane.herder, OfHerder(plane)))
        assert b"kafka_connect_worker_task_count" in (await client.get("/metrics")).body
        assert (await client.get("/connectd/health/ready")).status == 200
        assert (await client.get("/connectors")).status == 404
