"""Checking the settings of Kafka clients that a connector's config overrides.

Each client is looked at only by those connectors that use it (spec kafka-connect A.8.8): the
producer by every source, the admin client when topics are to be created, consumer and admin client
with an offsets topic of one's own. A value that its setting cannot take is a problem at its key;
Kafka answers such a config with a bare 500.
"""

from __future__ import annotations

from collections.abc import Iterator

from connectd.configdef import connector as framework
from connectd.configdef import parsing, validation
from connectd.configdef.client_keys import CLIENT_DEFS
from connectd.configdef.definition import ConfigKey
from connectd.configdef.hash_order import hash_ordered
from connectd.configdef.overrides import OverridePolicy
from connectd.configdef.plugin_keys import Submitted
from connectd.configdef.validation import ConfigValue, Entry, Part
from connectd.configdef.values import trim, value_text
from connectd.errors import ConfigError
from connectd.observe.redaction import HIDDEN, is_secret_name


def override_parts(config: Submitted, policy: OverridePolicy) -> Iterator[Part]:
    """The overrides of each client that the connector uses, in Kafka's order."""
    has_own_topic = bool(trim(config.get("offsets.storage.topic") or ""))
    creates_topics = any(name.startswith(framework.TOPIC_CREATION_PREFIX) for name in config)
    uses = {
        "producer": True,
        "consumer": has_own_topic,
        "admin": has_own_topic or creates_topics,
    }
    for client, is_used in uses.items():
        if is_used:
            yield _part(client, config, policy)


def _part(client: str, config: Submitted, policy: OverridePolicy) -> Part:
    prefix, known = f"{client}.override.", CLIENT_DEFS[client]
    settings = [
        name.removeprefix(prefix) for name in hash_ordered(config) if name.startswith(prefix)
    ]
    return validation.settings_part(
        [
            _entry(prefix, name, known.key(name) if name in known else None, config, policy)
            for name in hash_ordered(settings)
        ]
    )


def _entry(
    prefix: str, name: str, key: ConfigKey | None, config: Submitted, policy: OverridePolicy
) -> Entry:
    text = config[prefix + name]
    errors = policy.errors(name, text, client=prefix.partition(".")[0])
    shown = text
    if key is not None:
        try:
            shown = value_text(parsing.parse_value(name, text, key.type), key.type)
        except ConfigError as error:
            errors.append(str(error))
            shown = None
    if shown is not None and is_secret_name(name):
        shown = HIDDEN
    return validation.entry(key, ConfigValue(name, shown, tuple(errors)), prefix=prefix)
