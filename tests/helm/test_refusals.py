"""What cannot work is refused before anything is installed, with what to do instead."""

from __future__ import annotations

from typing import Any

import pytest

from connectd.configdef.worker import environment_properties
from connectd.observe.redaction import is_secret_name
from tests.harness.helm import RenderError
from tests.helm.value_sets import chart

SECRET = "hunter2hunter2"
CONNECTOR = {"connector.class": "connectd.DynamoDBSource"}
OTHER = {"connector.class": "org.example.Source"}

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"worker": {"config": {"listeners": "http://:1"}}}, "set rest.port and rest.scheme instead"),
    ({"connectors": {"unlisted": "delete"}}, "would delete every connector of the group"),
    ({"terminationGracePeriodSeconds": 34}, "expected at least 35"),
    (
        {"worker": {"config": {"connectd.shutdown.grace.ms": "${env::GRACE}"}}},
        "set terminationGracePeriodSeconds",
    ),
    ({"podAnnotations": {"checksum/config": "x"}}, "podAnnotations has checksum/config"),
    ({"connectors": {"annotations": {"helm.sh/hook": "x"}}}, "connectors.annotations has helm.sh"),
    ({"commonLabels": {"helm.sh/chart": "x"}}, "commonLabels has helm.sh/chart"),
    ({"podLabels": {"app.kubernetes.io/name": "x"}}, "podLabels has app.kubernetes.io/name"),
    (
        {"commonLabels": {"grafana_dashboard": "1"}},
        "metrics.dashboard.labels has grafana_dashboard, which commonLabels gives",
    ),
    (
        {"worker": {"config": {"my.number": 123456789012345678}}},
        "worker.config has a number in my.number that Helm would round",
    ),
    (
        {"connectors": {"items": {"o": {"config": {**CONNECTOR, "n": -123456789012345678}}}}},
        "connectors.items.o.config has a number in n",
    ),
    (
        {"connectors": {"items": {"o": {"config": {**CONNECTOR, "x": "x" * 1_048_576}}}}},
        "the most that a ConfigMap holds",
    ),
    (
        {"extraEnv": [{"name": "CONNECT_LISTENERS", "value": "http://:1"}]},
        "set rest.port and rest.scheme instead",
    ),
    (
        {"extraEnv": [{"name": "CONNECT_CONNECTD_SHUTDOWN_GRACE_MS", "value": "90000"}]},
        "set connectd.shutdown.grace.ms in worker.config",
    ),
    (
        {"lifecycle": {"preStop": {"sleep": {"seconds": 30}}}},
        "set terminationGracePeriodSeconds",
    ),
    *(
        (
            {
                "rest": {"scheme": "https"},
                "worker": {
                    "config": {
                        f"{prefix}ssl.keystore.location": "/x",
                        f"{prefix}ssl.client.auth": "required ",
                    }
                },
            },
            "the kubelet, whose probes decide about the pod, has no certificate",
        )
        for prefix in ("", "listeners.https.")
    ),
    ({"rest": {"scheme": "https"}}, "worker.config has no certificate for it"),
    (
        {
            "worker": {"config": {"connectd.rest.basic.auth.credentials.file": "/x"}},
            "metrics": {"serviceMonitor": {"enabled": True}},
        },
        "metrics.serviceMonitor.basicAuth gives Prometheus none",
    ),
    (
        {"connectors": {"items": {"a": {"config": {**CONNECTOR, "name": "b"}}}}},
        "connectors.items.a.config has the name b, expected a",
    ),
    ({"fullnameOverride": "Foo_Bar"}, "set fullnameOverride"),
    ({"fullnameOverride": "a.b"}, "set fullnameOverride"),
    ({"podDisruptionBudget": {"maxUnavailable": 0}}, "would forbid to drain the nodes"),
    ({"extraVolumes": [{"name": "tmp", "emptyDir": {}}]}, "is a volume of the chart"),
    ({"extraEnv": [{"name": "N", "value": 5}]}, "extraEnv has a value of N that is no text"),
    ({"service": {"nodePort": 30083}}, "service.type is ClusterIP"),
    (
        {"autoscaling": {"enabled": True, "minReplicas": 2, "maxReplicas": 1}},
        "autoscaling.minReplicas is 2, more than",
    ),
    ({"worker": {"config": {"ssl.key.password": SECRET}}}, "has a secret in ssl.key.password"),
    (
        {"worker": {"config": {"producer.sasl.jaas.config": f'x password="{SECRET}";'}}},
        "worker.config has a secret in producer.sasl.jaas.config",
    ),
    (
        {"connectors": {"items": {"o": {"config": {**CONNECTOR, "aws.secret.key": SECRET}}}}},
        "connectors.items.o.config has a secret in aws.secret.key",
    ),
]

REFERENCE = "${directory:/etc/connectd/secrets/s:f}"
PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"

SECRETS_IN_WORKER_CONFIG: dict[str, str] = {
    "sasl.jaas.config": f'{PLAIN_LOGIN} username="{REFERENCE}" password="{SECRET}";',
    "admin.sasl.jaas.config": f'{PLAIN_LOGIN} password="{REFERENCE}{SECRET}";',
    "consumer.sasl.jaas.config": f"{PLAIN_LOGIN} clientSecret='{SECRET}';",
    "producer.sasl.jaas.config": f'{PLAIN_LOGIN} password=" {SECRET} ;',
    "ssl.key.password": f"{SECRET}${{",
    "ssl.keystore.password": f"{REFERENCE}{SECRET}",
    "value.converter.schema.registry.url": f"http://u:{SECRET}@registry:8081",
    "key.converter.schema.registry.url": f"http://{REFERENCE}:{SECRET}@registry:8081",
    "producer.proxy": f"https://registry/?api.key={SECRET}",
    "value.converter.schema.registry.basic.auth.user.info": f"u:{SECRET}",
    "transforms.x.password": SECRET,
    "transforms.x.api.token": SECRET,
    "config.providers.v.param.token": SECRET,
    "my.secret.password": SECRET,
    "spark.conf.spark.hadoop.fs.s3a.secret.key": SECRET,
}

SECRETS_IN_SPARK_CONF: dict[str, str] = {
    "spark.hadoop.fs.s3a.secret.key": SECRET,
    "spark.authenticate.secret": SECRET,
    "spark.ssl.keyStorePassword": SECRET,
    "spark.driver.extraJavaOptions": f"-Xmx1g -Djavax.net.ssl.trustStorePassword={SECRET}",
}

SECRETS_IN_VARIABLES: dict[str, str] = {
    "CONNECT_SASL_JAAS_CONFIG": f'{PLAIN_LOGIN} password="{SECRET}";',
    "CONNECT_SSL_KEY_PASSWORD": SECRET,
    "CONNECT_VALUE_CONVERTER_SCHEMA_REGISTRY_URL": f"http://u:{SECRET}@r",
}

NO_SECRETS: dict[str, Any] = {
    "sasl.jaas.config": f'{PLAIN_LOGIN} username="connect" password="{REFERENCE}";',
    "admin.sasl.jaas.config": REFERENCE,
    "producer.sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
    "consumer.sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required "
    'useKeyTab=true storeKey=true keyTab="/etc/k.keytab" principal="connect@EXAMPLE.COM";',
    "ssl.key.password": REFERENCE,
    "ssl.keystore.password": "",
    "ssl.truststore.location": "/etc/connectd/trust.pem",
    "sasl.oauthbearer.token.endpoint.url": "https://issuer.example/token",
    "value.converter.schema.registry.url": f"http://u:{REFERENCE}@registry:8081",
    "key.converter.schema.registry.url": "http://registry:8081",
    "transforms.mask.fields": "password,token",
    "spark.conf.spark.kubernetes.executor.secretKeyRef.AWS_SECRET": "aws:key",
    "spark.conf.spark.authenticate": True,
}

NOT_IN_THE_SCHEMA: list[tuple[dict[str, Any], str]] = [
    ({"replicas": 1}, "replicas"),
    ({"image": {"tagg": "x"}}, "tagg"),
    ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    ({"rest": {"port": 0}}, "port"),
    ({"connectors": {"items": {"o": {"config": {}}}}}, "connector.class"),
    ({"connectors": {"items": {"o": {"config": CONNECTOR, "state": "x"}}}}, "state"),
    ({"connectors": {"items": {"o": {"config": {**OTHER, "tasks.max": "abc"}}}}}, "tasks.max"),
    ({"connectors": {"items": {"o": {"config": {**OTHER, "tasks.max": 0}}}}}, "tasks.max"),
    (
        {"connectors": {"items": {"o": {"config": {**CONNECTOR, "init.sync.skip": "perhaps"}}}}},
        "init.sync.skip",
    ),
    ({"secrets": ["a", "a"]}, "secrets"),
    ({"secrets": ["A B"]}, "secrets"),
    ({"secrets": ["x/y"]}, "secrets"),
    ({"readinessProbe": {"periodSeconds": "10"}}, "periodSeconds"),
    ({"livenessProbe": {"httpGet": {"path": "/"}}}, "httpGet"),
    ({"readinessProbe": {"path": "connectd/health"}}, "path"),
    ({"worker": {"config": {"offset.flush.interval.ms": 0}}}, "offset.flush.interval.ms"),
    ({"worker": {"config": {"connect.protocol": "lazy"}}}, "connect.protocol"),
    ({"worker": {"config": {"topic.creation.enable": "perhaps"}}}, "topic.creation.enable"),
    ({"worker": {"config": {"bootstrap.servers": ["a:1"]}}}, "bootstrap.servers"),
]


@pytest.mark.parametrize(("values", "words"), REFUSED)
def test_what_cannot_work_is_refused_with_a_way_out(values: dict[str, Any], words: str) -> None:
    with pytest.raises(RenderError) as refusal:
        chart.render(values)
    assert words in str(refusal.value)
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize(("values", "name"), NOT_IN_THE_SCHEMA)
def test_the_schema_names_what_it_does_not_know(values: dict[str, Any], name: str) -> None:
    with pytest.raises(RenderError) as refusal:
        chart.render(values)
    assert name in str(refusal.value)


def refusal_of(values: dict[str, Any]) -> str:
    with pytest.raises(RenderError) as refusal:
        chart.render(values)
    assert SECRET not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize("key", SECRETS_IN_WORKER_CONFIG)
def test_a_secret_that_is_not_wholly_a_reference_is_refused(key: str) -> None:
    config = {key: SECRETS_IN_WORKER_CONFIG[key]}
    connector = {"items": {"o": {"config": {**CONNECTOR, **config}}}}
    assert f"worker.config has a secret in {key}" in refusal_of({"worker": {"config": config}})
    assert f"items.o.config has a secret in {key}" in refusal_of({"connectors": connector})


@pytest.mark.parametrize("key", SECRETS_IN_SPARK_CONF)
def test_a_secret_among_settings_of_spark_is_refused(key: str) -> None:
    conf = {key: SECRETS_IN_SPARK_CONF[key]}
    assert f"spark.conf has a secret in {key}" in refusal_of({"spark": {"conf": conf}})


@pytest.mark.parametrize("name", SECRETS_IN_VARIABLES)
def test_a_secret_in_a_variable_is_refused(name: str) -> None:
    key = next(iter(environment_properties({name: ""})))
    variables = [{"name": name, "value": SECRETS_IN_VARIABLES[name]}]
    assert f"extraEnv has a secret in {key}" in refusal_of({"extraEnv": variables})


def test_a_variable_may_come_from_a_secret() -> None:
    ref = {"secretKeyRef": {"name": "kafka", "key": "password"}}
    login = f'{PLAIN_LOGIN} password="$(PASSWORD)";'
    chart.render({"extraEnv": [
        {"name": "PASSWORD", "valueFrom": ref},
        {"name": "CONNECT_SSL_KEY_PASSWORD", "valueFrom": ref},
        {"name": "CONNECT_SASL_JAAS_CONFIG", "value": login},
    ]})  # fmt: skip


@pytest.mark.parametrize("key", NO_SECRETS)
def test_what_is_no_secret_is_taken(key: str) -> None:
    config = {key: NO_SECRETS[key]}
    chart.render({"worker": {"config": config}})
    chart.render({"connectors": {"items": {"o": {"config": {**CONNECTOR, **config}}}}})


@pytest.mark.parametrize(
    "word",
    ["passwd", "passphrase", "jaas", "Authorization", "api_key", "access-key", "keystorekey"],
)
def test_names_tell_of_secrets_as_they_do_in_the_workers_logs(word: str) -> None:
    assert is_secret_name(f"my.{word}.x")
    assert "has a secret" in refusal_of({"worker": {"config": {f"my.{word}.x": SECRET}}})


def test_values_of_our_own_connector_are_not_asked_of_others() -> None:
    config = {**OTHER, "init.sync.skip": "perhaps", "tasks.max": "${env:TASKS}"}
    chart.render({"connectors": {"items": {"o": {"config": config}}}})


def test_a_preparing_hook_is_taken_with_a_grace_period() -> None:
    hook = {"lifecycle": {"preStop": {"sleep": {"seconds": 30}}}}
    chart.render({**hook, "terminationGracePeriodSeconds": 65})


def test_a_large_number_in_quotes_arrives_as_it_is() -> None:
    number = "123456789012345678"
    objects = chart.render({"worker": {"config": {"my.number": number}}})
    assert f"my.number={number}\n" in objects.one("ConfigMap")["data"]["worker.properties"]


def test_no_job_calls_a_worker_that_is_not_there() -> None:
    items = {"o": {"config": CONNECTOR}}
    assert chart.render({"replicaCount": 0, "connectors": {"items": items}}).of("Job") == []


def test_a_longer_grace_period_is_taken() -> None:
    chart.render({"terminationGracePeriodSeconds": 35})
