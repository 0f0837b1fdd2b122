"""How the two kinds of Connect workers differ towards clients: texts, and when they answer.

Taken from real workers of Kafka 4.3 (spec kafka-connect A.4, A.9, B.3). Two answers of a standalone
one are not kept, since they are failures of its own making: restarting an unknown connector, or a
task of it, is 404 here and a NullPointerException there.
"""

from __future__ import annotations

from dataclasses import dataclass

from connectd.errors import ConnectdError, NotFoundError
from connectd.runtime.requests import RequestFailedError


@dataclass(frozen=True)
class Manners:
    """``awaits_effect``: a change is answered when it has taken effect, not when it is written.

    ``refuses_task_configs`` and ``refuses_fencing`` are why the endpoints between workers of a
    cluster are refused; None when they are served.
    """

    awaits_effect: bool
    no_connector_to_restart: str
    no_task_to_restart: str
    no_connector_to_stop: str
    stop_error: type[ConnectdError]
    refuses_task_configs: str | None = None
    refuses_fencing: str | None = None


DISTRIBUTED = Manners(
    awaits_effect=False,
    no_connector_to_restart="Unknown connector: {connector}",
    no_task_to_restart="Unknown task: {task}",
    no_connector_to_stop="Unknown connector {connector}",
    stop_error=NotFoundError,
)

STANDALONE = Manners(
    awaits_effect=True,
    no_connector_to_restart="Connector {connector} not found",
    no_task_to_restart="Task {task} not found",
    no_connector_to_stop="No connector `{connector}` configured",
    stop_error=RequestFailedError,
    refuses_task_configs=(
        "Kafka Connect in standalone mode does not support externally setting task configurations."
    ),
    refuses_fencing=(
        "Kafka Connect in standalone mode does not support exactly-once source connectors."
    ),
)
