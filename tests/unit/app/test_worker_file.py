"""A worker's properties: the file, the environment, and the values of config providers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from connectd.app import worker_file
from connectd.errors import ConfigError
from connectd.observe import redaction

JAVA = "org.apache.kafka.common.config.provider."


@pytest.fixture(autouse=True)
def _no_secrets_left() -> Iterator[None]:
    yield
    redaction.forget_secrets()


def _write(tmp_path: Path, *lines: str) -> Path:
    (tmp_path / "secrets.properties").write_text("pw=worker-secret\nbrokers=kafka:9092\n")
    path = tmp_path / "worker.properties"
    path.write_text(
        "\n".join(
            [
                "config.providers=file",
                f"config.providers.file.class={JAVA}FileConfigProvider",
                *lines,
            ]
        )
    )
    return path


def test_values_may_come_from_the_providers_of_the_same_file(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.properties"
    path = _write(
        tmp_path,
        f"bootstrap.servers=${{file:{secrets}:brokers}}",
        f'sasl.jaas.config=Plain required password="${{file:{secrets}:pw}}";',
        "group.id=${env:GROUP}",
        "config.providers.file.param.x=${file:a:b}",
    )
    found = worker_file.read(path, {"CONNECT_CLIENT_ID": f"me-${{file:{secrets}:pw}}"})
    assert found["bootstrap.servers"] == "kafka:9092"
    assert found["sasl.jaas.config"] == 'Plain required password="worker-secret";'
    assert found["group.id"] == "${env:GROUP}"
    assert found["client.id"] == "me-worker-secret"
    assert found["config.providers.file.param.x"] == "${file:a:b}"
    assert redaction.redact_text("a worker-secret") == "a [hidden]"


def test_the_environment_may_declare_a_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROBE_GROUP", "cx-from-env")
    path = tmp_path / "worker.properties"
    path.write_text("group.id=${env:PROBE_GROUP}\n")
    environ = {
        "CONNECT_CONFIG_PROVIDERS": "env",
        "CONNECT_CONFIG_PROVIDERS_ENV_CLASS": "EnvVarConfigProvider",
    }
    assert worker_file.read(path, environ)["group.id"] == "cx-from-env"
    assert worker_file.read(path, {})["group.id"] == "${env:PROBE_GROUP}"


def test_a_value_that_cannot_be_read_ends_the_start_with_a_reason(tmp_path: Path) -> None:
    path = _write(tmp_path, "group.id=${file:/no/such/file:k}")
    with pytest.raises(ConfigError) as caught:
        worker_file.read(path, {})
    assert str(caught.value) == (
        f"resolving what {path} refers to: Could not read properties from file /no/such/file"
    )
