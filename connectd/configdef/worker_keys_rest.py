"""The keys of the REST server (spec kafka-connect A.1, B.1); ``worker_keys`` puts them in place."""

from __future__ import annotations

from connectd.configdef import rest_login, rest_settings, validators
from connectd.configdef.definition import ConfigKey, ConfigType, Importance
from connectd.configdef.key_group import KeyGroup

_LOW = Importance.LOW
_STRING, _INT = ConfigType.STRING, ConfigType.INT
_LIST, _BOOLEAN = ConfigType.LIST, ConfigType.BOOLEAN

# The declarations below read as tables.
# fmt: off


def rest_keys() -> list[ConfigKey]:
    """Declarations, in the order of the reference."""
    group = KeyGroup("REST")
    key = group.key
    key("listeners", _LIST, "http://:8083", _LOW,
        "Where the REST API listens, as scheme://host:port. No host is every interface, port 0 "
        "one that is free. An https listener takes its certificate and all else about TLS from "
        "ssl. keys: those under listeners.https. if there is any, else the worker's own.",
        rest_settings.check_listeners)
    key("rest.advertised.host.name", _STRING, None, _LOW,
        "Host that others use to reach this worker; not set: that of the listener.")
    key("rest.advertised.port", _INT, None, _LOW,
        "Port that others use to reach this worker; not set: that of the listener.",
        validators.optional(validators.between(0, rest_settings.PORT_MAX)))
    key("rest.advertised.listener", _STRING, None, _LOW,
        "Scheme that others use to reach this worker; not set: http where there is a choice.",
        validators.optional(validators.one_of("http", "https", ignore_case=True)))
    key("admin.listeners", _LIST, None, _LOW,
        'Where the resources under /admin listen; not set: with all others, "": nowhere. '
        "Listeners of their own serve these, /metrics and the probes, and ask for no login: bind "
        "them where only operators can reach them. Their TLS keys stand under "
        "admin.listeners.https.",
        validators.all_of(
            validators.distinct(is_null_allowed=True), rest_settings.check_listeners))
    key("access.control.allow.origin", _STRING, "", _LOW,
        'Origins that browsers may call the API from, comma-separated, each as it is or as a '
        'regular expression ("*" is every one); "" is none.')
    key("access.control.allow.methods", _STRING, "", _LOW,
        'Methods that browsers may use from there; "" is GET,POST,HEAD.')
    key("response.http.headers.config", _STRING, "", _LOW,
        "Headers for every response: [action] [name]:[value], comma-separated; the actions are "
        "set, add, setDate, addDate.", rest_settings.check_response_headers)
    key("rest.extension.classes", _LIST, (), _LOW,
        "Java classes that extend the REST API. One is understood: "
        "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension makes "
        "callers log in.", validators.distinct())
    key(rest_login.JAAS_FILE, _STRING, None, _LOW,
        "JAAS file whose entry KafkaConnect names the file of users, for Basic authentication. "
        "Not set: what -Djava.security.auth.login.config in KAFKA_OPTS says.")
    key(rest_login.CREDENTIALS_FILE, _STRING, None, _LOW,
        "File with lines of user=password: who may use the REST API. Setting it is enough to "
        "make callers log in. It is read once, at the start.")
    key(rest_login.PUBLIC_PATHS, _LIST, (), _LOW,
        "Paths that are answered without login: /health or /metrics, for example. Kafka Connect "
        "has none; the probes under /connectd/health/ always are.", validators.distinct())
    key("connectd.ui.enable", _BOOLEAN, True, _LOW,
        "Whether /ui is a dashboard: what connectors, tasks and tables do, and buttons to pause, "
        "resume, restart, stop and reset them. It shows and does what the REST API does, no more.")
    return group.keys


# fmt: on
