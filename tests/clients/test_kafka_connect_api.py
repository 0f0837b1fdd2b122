"""kafka-connect-api: clusters, connectors and tasks as objects that always ask the worker."""

from __future__ import annotations

import json

import pytest

from tests.clients.interpreter import ClientError, Interpreter
from tests.integration.worker_rig import Rig

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]


@pytest.fixture
def library(python: Interpreter, rig: Rig) -> Interpreter:
    """A session as the README opens one."""
    python.run(
        "from kafka_connect_api.kafka_connect_api import Api, Cluster, Connector",
        f"api = Api('127.0.0.1', port={rig.worker.rest_port})",
        "cluster = Cluster(api)",
        f"name, config = {rig.name!r}, {rig.config()!r}",
    )
    return python


def test_the_cluster_says_what_it_is(library: Interpreter, rig: Rig) -> None:
    assert library.value("cluster.version") == rig.expect(200, "GET", "/").body["version"]
    assert library.value("cluster.kafka_cluster")
    assert library.value("cluster.connectors") == {}


def test_a_connector_lives_by_its_properties(library: Interpreter, rig: Rig) -> None:
    rig.create_table("t", items=2)
    library.run("connector = Connector(cluster, name)", "connector.config = config")
    rig.wait_states("RUNNING", "RUNNING")

    assert library.value("list(cluster.connectors)") == [rig.name]
    assert library.value("connector.exists()") is True
    assert library.value("connector.config") == {**rig.config(), "name": rig.name}
    assert library.value("connector.connector_class") == rig.config()["connector.class"]
    assert library.value("[task.id for task in connector.tasks]") == [0]
    assert library.value("connector.tasks[0].is_running()") is True
    assert library.value("connector.status") == rig.status()

    library.run("connector.pause()")
    rig.wait_states("PAUSED", "PAUSED")
    assert library.value("connector.state") == "PAUSED"
    library.run("connector.resume()")
    rig.wait_states("RUNNING", "RUNNING")
    library.run("connector.restart()", "connector.restart_all_tasks()")
    rig.wait_states("RUNNING", "RUNNING")
    library.run("connector.cycle_connector()")
    rig.wait_states("RUNNING", "RUNNING")
    rig.wait_equal("t")

    library.run("connector.delete()")
    assert library.value("list(cluster.connectors)") == []
    with pytest.raises(ClientError) as missing:
        library.run("connector.exists()")
    assert missing.value.kind == "GenericNotFound"


def test_errors_carry_the_body_that_the_worker_sent(library: Interpreter) -> None:
    library.run("from kafka_connect_api.errors import GenericNotFound")
    library.run(
        "try:",
        "    Connector(cluster, 'none').status",
        "except GenericNotFound as error:",
        "    code, details = error.code, error.details",
    )
    assert library.value("code") == 404
    found = library.value("details[0]")
    assert found == {"error_code": 404, "message": "No status found for connector none"}


def test_its_functions_for_operators_create_check_and_delete(
    library: Interpreter, rig: Rig
) -> None:
    rig.create_table("t", items=1)
    event = {
        "cluster": {"hostname": "127.0.0.1", "port": rig.worker.rest_port},
        "connector": {"name": rig.name, "config": rig.config()},
    }
    library.run(
        "from kafka_connect_api import aws_lambdas as operations",
        f"event = {json.dumps(event)}",
    )

    assert library.value("operations.create_update_connector(event, None)") == 0
    rig.wait_states("RUNNING", "RUNNING")
    assert library.value("operations.check_connector_health(event, None)") is True
    assert library.value("operations.restart_connector(event, None)") == 0
    rig.wait_states("RUNNING", "RUNNING")
    assert library.value("operations.delete_connector(event, None)") == 0
    assert rig.expect(200, "GET", "/connectors").body == []
