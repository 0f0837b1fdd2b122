"""How Basic authentication is asked for (spec kafka-connect A.1.7)."""

from __future__ import annotations

import pytest

from connectd.configdef import rest_login
from connectd.configdef.rest_login import BasicAuthSettings
from connectd.configdef.worker import WorkerConfig
from connectd.errors import ConfigError
from tests.kit.control_plane import WORKER_PROPERTIES

EXTENSION = {"rest.extension.classes": rest_login.EXTENSION}
FILE_KEY = "connectd.rest.basic.auth.credentials.file"


def _settings(
    properties: dict[str, str], environ: dict[str, str] | None = None
) -> BasicAuthSettings | None:
    config = WorkerConfig.from_properties({**WORKER_PROPERTIES, **properties}, environ or {})
    return config.rest.basic_auth


def test_nobody_is_asked_unless_it_is_wanted() -> None:
    environ = {"KAFKA_OPTS": "-Djava.security.auth.login.config=/etc/jaas.conf"}
    assert _settings({}, environ) is None
    assert _settings({"rest.extension.classes": ""}) is None


def test_a_file_of_users_is_enough() -> None:
    expected = BasicAuthSettings("/etc/users", None, frozenset())
    assert _settings({FILE_KEY: "/etc/users"}) == expected
    assert _settings({**EXTENSION, FILE_KEY: "/etc/users"}) == expected
    short = {"rest.extension.classes": "BasicAuthSecurityRestExtension", FILE_KEY: "/etc/users"}
    assert _settings(short) == expected


@pytest.mark.parametrize(
    ("properties", "environ", "path"),
    [
        ({"java.security.auth.login.config": "/a/jaas"}, {}, "/a/jaas"),
        ({}, {"KAFKA_OPTS": "-Xmx1g -Djava.security.auth.login.config=/b -Dc=d"}, "/b"),
        (
            {},
            {"KAFKA_OPTS": '-Djava.security.auth.login.config="/with blank" -Dc=d'},
            "/with blank",
        ),
        ({}, {"JAVA_TOOL_OPTIONS": "-Djava.security.auth.login.config=/c"}, "/c"),
        (
            {"java.security.auth.login.config": "/a"},
            {"KAFKA_OPTS": "-Djava.security.auth.login.config=/b"},
            "/a",
        ),
    ],
)
def test_a_jaas_file_is_found_where_java_operators_put_it(
    properties: dict[str, str], environ: dict[str, str], path: str
) -> None:
    assert _settings({**EXTENSION, **properties}, environ) == BasicAuthSettings(
        None, path, frozenset()
    )


def test_a_login_without_users_is_refused_with_what_to_set() -> None:
    with pytest.raises(ConfigError, match=r"set connectd\.rest\.basic\.auth\.credentials\.file"):
        _settings(EXTENSION)


def test_paths_for_probes_are_named() -> None:
    settings = _settings(
        {FILE_KEY: "/etc/users", "connectd.rest.basic.auth.public.paths": "/health, /"}
    )
    assert settings is not None
    assert settings.public_paths == {"/health", "/"}


JAAS = """
// of the broker
KafkaClient { org.apache.kafka.common.security.plain.PlainLoginModule required username="a;}"; };
/* of this
   worker */
KafkaConnect {
  org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule required
  debug=true
  file="/etc/connect \\"users\\".properties";
};
"""


def test_the_entry_of_the_worker_names_the_file() -> None:
    path = rest_login.credentials_file_of(JAAS, source="jaas")
    assert path == '/etc/connect "users".properties'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "jaas has no entry KafkaConnect"),
        ("Other { a.PropertyFileLoginModule required file=x; };", "jaas has no entry KafkaConnect"),
        ("KafkaConnect { com.sun.LdapLoginModule required; };", "asks for com.sun.LdapLoginModule"),
        ("KafkaConnect { PropertyFileLoginModule required; };", "has no option file"),
        ("KafkaConnect { PropertyFileLoginModule required file=x;", "ends inside of an entry"),
        (
            'KafkaConnect { PropertyFileLoginModule required\nfile="x; };',
            "jaas, line 2: a quotation",
        ),
        ("user=password", "jaas ends inside of an entry"),
        ("{};", "jaas is no JAAS file|jaas ends inside"),
    ],
)
def test_other_jaas_files_are_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rest_login.credentials_file_of(text, source="jaas")
