"""Task configs between connector and config topic: pure functions (spec kafka-connect B.9, D.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connectd.errors import ConfigError
from connectd.model.cluster import ClusterConfigState, Config
from connectd.plugins import resolving

TASK_CLASS = "task.class"

_LARGEST_INT = 2**31 - 1


def tasks_max(config: Config) -> int:
    """``tasks.max`` of a resolved connector config.

    Raises:
        ConfigError: it is not a positive number; validation has let it pass only as a placeholder.
    """
    text = config.get("tasks.max", "1").strip()
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= _LARGEST_INT:
        raise ConfigError(f"tasks.max is {text!r}, expected a whole number of at least 1")
    return number


def check_task_count(connector: str, count: int, config: Config) -> None:
    """Hold a task set against ``tasks.max`` of the resolved connector config.

    Raises:
        ConfigError: it has more tasks, and ``tasks.max.enforce`` is on; with Kafka's words.
    """
    limit = tasks_max(config)
    enforces = config.get("tasks.max.enforce", "true").strip().lower() != "false"
    if count > limit and enforces:
        raise ConfigError(
            f"The connector {connector} has generated {count} tasks, which is greater than "
            f"{limit}, the maximum number of tasks it is configured to create. This behaviour "
            "should be considered a bug and is disallowed. If necessary, it can be permitted by "
            "reconfiguring the connector with 'tasks.max.enforce' set to false; however, this "
            "option will be removed in a future release of Kafka Connect."
        )


def prepared(configs: Sequence[Config], *, task_class: str, raw: Config) -> list[dict[str, str]]:
    """What is published of a connector's task configs.

    ``task.class`` is added, and where the connector's own raw config refers to a config provider
    for a key, that text stands in for its resolved value: secrets stay out of the config topic.
    """
    references = {key: value for key, value in raw.items() if resolving.has_reference(value)}
    result = []
    for config in configs:
        kept = {key: value for key, value in references.items() if key in config}
        result.append({**config, TASK_CLASS: task_class, **kept})
    return result


def is_applied(snapshot: ClusterConfigState, connector: str) -> bool:
    """Whether the committed task set is whole and was made from the connector's current config."""
    if connector in snapshot.inconsistent:
        return False
    return snapshot.applied.get(connector) == snapshot.connectors.get(connector)


def needs_publishing(
    snapshot: ClusterConfigState, connector: str, configs: Sequence[Mapping[str, str]]
) -> bool:
    """Whether the number of tasks, any task config, or the applied connector config differs."""
    current = [snapshot.task_configs.get(task) for task in snapshot.tasks(connector)]
    return not is_applied(snapshot, connector) or current != [dict(each) for each in configs]
