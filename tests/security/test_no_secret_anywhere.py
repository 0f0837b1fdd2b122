"""Secrets planted wherever one can be, a lively evening, and a search of all that is left.

As in Apache Kafka Connect, a literal secret is what the user wrote into a config: it is in the
config topic and in the answers that show a config, and nowhere else. What a config provider knows
is not even there: the references stand for it. Everything else that leaves the process is searched:
answers of every path, logs at the finest level, topics, metrics, pages, files, command lines.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.harness.kafka_secured import PLAIN_PASSWORD, SCRAM_PASSWORD, SecuredBroker
from tests.harness.probe_worker import TELLING_TRANSFORM, ProbeWorkerProcess
from tests.harness.worker import ROOT
from tests.integration.worker_rig import Rig
from tests.kit import certificates
from tests.kit.scripted_registry import ScriptedRegistry
from tests.security.client_keys import plain, prefixed, scram, trust

pytestmark = pytest.mark.kafka("exact", "control")

_JAVA = "org.apache.kafka.common.config.provider."
_KEY_PASSWORD = "0verride-key-password"
_WORKER_KEY = certificates.identity("worker")
_CONNECTOR_KEY = certificates.identity("connector")
_OVERRIDE_KEY = _CONNECTOR_KEY.key_pem(_KEY_PASSWORD)
_REST_LOGIN = "rest-user:rest-s3cret"
_COMMAND_DEADLINE_S = 60.0

LITERAL = {
    "access key": "AKIAPLANTEDLITERAL01",
    "session token": "sess10n+token/literal==",
    "external id": "external-1d-literal",
    "override password": PLAIN_PASSWORD,
    "wrong password": "wr0ng-literal-password",
    "override key password": _KEY_PASSWORD,
    "override key": _OVERRIDE_KEY.splitlines()[1],
    "registry user": "registry-us3r-literal",
    "registry url": "registry-ur1-literal",
    "bearer token": "bearer.t0ken.literal",
    "pin of a transform": "p1n-of-a-transform",
    "misspelt": "m1sspelt-literal",
    "invalid json": "inval1d-json-literal",
}
"""Written into configs as they are, by what they are."""

PROVIDED = {
    "provided aws secret": "prov1ded/aws+secret",
    "provided password": "prov1ded-kafka-password",
}
"""Known to a config provider; configs hold references."""

OF_WORKER = {
    "worker password": SCRAM_PASSWORD,
    "worker key password": "w0rker-key-password",
    "worker key": _WORKER_KEY.key_pem().splitlines()[1],
    "rest password": _REST_LOGIN.partition(":")[2],
    "rest login": base64.b64encode(_REST_LOGIN.encode()).decode(),
    "environment": "env1ronment-secret",
}
"""In the worker's own file and environment."""


def found_in(text: str, secrets: dict[str, str]) -> list[str]:
    """Which secrets a text holds: plain, as JSON spells them, or inside of base64."""
    spellings = {
        name: {secret, json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode()[:-4]}
        for name, secret in secrets.items()
    }
    return [name for name, each in spellings.items() if any(one in text for one in each)]


@dataclass
class Evening:
    """The rig and everything that was heard of it."""

    rig: Rig
    folder: Path
    registry: ScriptedRegistry
    heard: dict[str, str] = field(default_factory=dict)

    def call(self, method: str, path: str, body: object = None, *, raw: bytes | None = None) -> int:
        """A request as it is sent; the answer is kept, headers included."""
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        login = f"Basic {base64.b64encode(_REST_LOGIN.encode()).decode()}"
        request = urllib.request.Request(
            f"{self.rig.worker.rest_url}{path}",
            data=content,
            method=method,
            headers={"Authorization": login, "Content-Type": "application/json"},
        )
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            text = f"{answer.headers}\n{answer.read().decode('utf-8', 'replace')}"
            self.heard[f"{method} {path} #{len(self.heard)}"] = text
            return int(answer.status)

    def config(self, **keys: str) -> dict[str, str]:
        """A connector with a secret in every key that takes one."""
        secrets = self.folder / "secrets"
        return {
            **self.rig.config(),
            "aws.access.key.id": LITERAL["access key"],
            "aws.secret.key": f"${{file:{secrets}/all.properties:aws}}",
            "aws.session.token": LITERAL["session token"],
            "aws.assume.role.external.id": LITERAL["external id"],
            "aws.secret.kye": LITERAL["misspelt"],
            **prefixed(
                "producer.override.", plain(PLAIN_PASSWORD, str(self.folder / "authority.pem"))
            ),
            "producer.override.ssl.keystore.type": "PEM",
            "producer.override.ssl.keystore.key": _OVERRIDE_KEY,
            "producer.override.ssl.keystore.certificate.chain": _CONNECTOR_KEY.certificate_pem(),
            "producer.override.ssl.key.password": _KEY_PASSWORD,
            "producer.override.debug": "security,broker",
            "note": f"${{file:{secrets}/all.properties:kafka}}",
            **{name.replace("__", "."): value for name, value in keys.items()},
        }

    def fails(self, words: str, **keys: str) -> None:
        """A connector whose task must fail with these words in its trace; it is deleted then."""
        rig, name = self.rig, self.rig.name
        rig.name = f"{name}-{len(self.heard)}"
        assert self.call("PUT", f"{rig.path}/config", self.config(**keys)) == 201
        rig.wait(lambda: words in self.trace(), f"a failure with {words!r}")
        self.call("GET", f"{rig.path}/status")
        self.call("GET", f"{rig.path}/tasks/0/status")
        assert self.call("DELETE", rig.path) == 204
        rig.name = name

    def trace(self) -> str:
        """Of the first task; empty while there is none."""
        tasks = (self.rig.status() or {}).get("tasks") or [{}]
        return str(tasks[0].get("trace", ""))


@pytest.fixture
def evening(
    secured_broker: SecuredBroker,
    kafka_prefix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Evening]:
    monkeypatch.setenv("CONNECT_SASL_JAAS_EXTRA_PASSWORD", OF_WORKER["environment"])
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "all.properties").write_text(
        f"aws={PROVIDED['provided aws secret']}\nkafka={PROVIDED['provided password']}\n"
    )
    (secrets / "users").write_text(_REST_LOGIN.replace(":", "=") + "\n")
    authority = tmp_path / "authority.pem"
    authority.write_text(certificates.authority().certificate_pem())
    properties = {
        "bootstrap.servers": secured_broker.sasl,
        **scram(SCRAM_PASSWORD, str(authority)),
        **prefixed("producer.", trust(str(authority))),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": _WORKER_KEY.key_pem().replace("\n", "\\n"),
        "ssl.keystore.certificate.chain": _WORKER_KEY.certificate_pem().replace("\n", "\\n"),
        "ssl.key.password": OF_WORKER["worker key password"],
        "connectd.rest.basic.auth.credentials.file": str(secrets / "users"),
        "config.providers": "file",
        "config.providers.file.class": f"{_JAVA}FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(secrets),
        "connectd.log.level": "TRACE",
        "connectd.restart.attempts.max": "0",
        "offset.flush.timeout.ms": "500",  # what records that cannot be sent are waited for
    }
    login = base64.b64encode(_REST_LOGIN.encode()).decode()
    with (
        ScriptedRegistry(login="somebody:else") as registry,
        Rig(
            secured_broker,
            kafka_prefix,
            tmp_path / "worker",
            properties=properties,
            headers={"Authorization": f"Basic {login}"},
            worker_class=ProbeWorkerProcess,
        ) as rig,
    ):
        yield Evening(rig, tmp_path, registry)


def fail_in_every_way(evening: Evening) -> None:
    """One after the other, each with its words: denied, refused, wrong, told by a plugin."""
    rig = evening.rig
    known = ("access key", "session token", "external id", "override password", "misspelt")
    repeats = " ".join([*(LITERAL[each] for each in known), *PROVIDED.values()])
    for error in ("ValidationException", "AccessDeniedException"):
        rig.control.inject(operation="Scan", error=error, message=f"{error} of {repeats}")
        evening.fails(f"{error} of [hidden] [hidden]")
        rig.control.clear_faults()
    url = evening.registry.url
    avro = {"value__converter": "io.confluent.connect.avro.AvroConverter"}
    evening.fails(
        "Unauthorized",
        **avro,
        value__converter__schema__registry__url=url,
        value__converter__basic__auth__credentials__source="USER_INFO",
        value__converter__basic__auth__user__info=f"u:{LITERAL['registry user']}",
    )
    login = f"http://u:{LITERAL['registry url']}@"
    evening.fails(
        "Unauthorized",
        **avro,
        value__converter__schema__registry__url=url.replace("http://", login),
    )
    evening.fails(
        "Unauthorized",
        **avro,
        value__converter__schema__registry__url=url,
        value__converter__bearer__auth__credentials__source="STATIC_TOKEN",
        value__converter__bearer__auth__token=LITERAL["bearer token"],
    )
    evening.fails(
        "the door does not open with [hidden]",
        transforms="t",
        transforms__t__type=TELLING_TRANSFORM,
        transforms__t__pin=LITERAL["pin of a transform"],
    )


def wait_with_a_wrong_password(evening: Evening) -> None:
    """It runs, waits, and says what for."""
    rig = evening.rig
    wrong = scram(LITERAL["wrong password"], str(evening.folder / "authority.pem"))
    config = {**evening.config(), **prefixed("producer.override.", wrong)}
    assert evening.call("PUT", f"{rig.path}/config", config) == 201
    rig.wait(lambda: "SASL authentication error" in str(rig.row("t")), "the reason")


def wait_with_a_denial_that_repeats_secrets(evening: Evening) -> None:
    """It runs, and a table says why it does not get on: in the words of AWS."""
    rig = evening.rig
    repeats = f"{LITERAL['session token']} {PROVIDED['provided aws secret']}"
    rig.control.inject(
        operation="GetRecords", error="AccessDeniedException", message=f"credential {repeats}"
    )
    rig.wait(lambda: "credential [hidden] [hidden]" in str(rig.row("t")), "the reason")
    look_everywhere(evening)
    rig.control.clear_faults()


def ask_wrongly(evening: Evening) -> None:
    """Requests that are refused, of which none may be repeated in the answer."""
    path = evening.rig.path
    config = {**evening.config(), "name": evening.rig.name}
    validate = "/connector-plugins/connectd.DynamoDBSource/config/validate"
    wrong = [
        {**config, "tasks.max": "many"},
        {**config, "aws.region": "", "aws.session.token": f" {LITERAL['session token']}\n"},
        {**config, "producer.override.sasl.jaas.config": f"x {LITERAL['override password']}"},
        {**config, "producer.override.ssl.truststore.type": "JKS"},
        {**config, "producer.override.acks": "0"},
        {**config, "transforms": "t", "transforms.t.type": "Unknown"},
        {**config, "value.converter": "Unknown"},
        {key: value for key, value in config.items() if key != "connector.class"},
    ]
    for each in wrong:
        evening.call("PUT", validate, each)
        evening.call("PUT", f"{path}/config", each)
        evening.call("POST", "/connectors", {"name": "other", "config": each})
    broken = json.dumps({**config, "x": LITERAL["invalid json"]}).encode()[:-1]
    evening.call("PUT", f"{path}/config", raw=broken)
    evening.call("POST", "/connectors", raw=broken)
    evening.call("PATCH", f"{path}/offsets", config)
    evening.call("PUT", "/admin/loggers/root", {"level": "LOUD"})


def look_everywhere(evening: Evening) -> None:
    """Every path that shows something and no config."""
    path = evening.rig.path
    for each in (
        *("/", "/health", "/connectors", "/connectors?expand=status", "/admin/loggers", "/metrics"),
        *(f"{path}/status", f"{path}/tasks/0/status", f"{path}/offsets", f"{path}/topics"),
        *(f"/connectd{path}/tables", "/connectd/openapi.json", "/ui/"),
        *("/connector-plugins?connectorsOnly=false", "/connectd/health/live"),
        *("/connectd/health/ready", "/connector-plugins/connectd.DynamoDBSource/config"),
    ):
        assert evening.call("GET", each) == 200, each
    evening.call("GET", "/nothing/here")
    evening.heard["command lines"] = command_lines(evening.rig.worker.pid)


def command_lines(pid: int) -> str:
    """What ``ps`` shows of a process and those that it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return "\n".join(Path(f"/proc/{each}/cmdline").read_text() for each in (pid, *children))


def use_the_command_line(evening: Evening) -> None:
    """``connectd validate`` of a config with everything wrong in it, and the help."""
    config = {**evening.config(), "name": "c", "tasks.max": "many"}
    file = evening.folder / "connector.json"
    file.write_text(json.dumps({"name": "c", "config": config}))
    broken = evening.folder / "broken.json"
    broken.write_text(json.dumps(config)[:-1])
    worker = evening.folder / "worker" / "worker.properties"
    for arguments in (
        ["validate", "-w", str(worker), str(file)],
        ["validate", "-w", str(worker), "--json", str(file)],
        ["validate", str(broken)],
        ["--help"],
    ):
        answer = subprocess.run(
            [sys.executable, "-m", "connectd", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=_COMMAND_DEADLINE_S,
        )
        evening.heard[f"connectd {' '.join(arguments)}"] = answer.stdout + answer.stderr


@pytest.mark.timeout(400)  # seven lives of a connector, one after the other, and a broker's start
def test_planted_secrets_are_in_configs_and_nowhere_else(evening: Evening) -> None:
    rig, everything = evening.rig, {**LITERAL, **PROVIDED, **OF_WORKER}
    rig.create_table("t", items=3)
    for library in ("botocore", "httpx2", "aiohttp", "confluent_kafka"):
        evening.call("PUT", f"/admin/loggers/{library}", {"level": "TRACE"})

    fail_in_every_way(evening)
    wait_with_a_wrong_password(evening)
    ask_wrongly(evening)
    look_everywhere(evening)
    configs = {
        each: json.dumps(rig.expect(200, "GET", each).body, ensure_ascii=False)
        for each in (rig.path, f"{rig.path}/config", f"{rig.path}/tasks", "/connectors?expand=info")
    }
    assert evening.call("PUT", f"{rig.path}/config", evening.config()) == 200
    rig.wait_equal("t")
    look_everywhere(evening)
    wait_with_a_denial_that_repeats_secrets(evening)
    assert rig.worker.sigterm() == 0
    use_the_command_line(evening)

    # The answer of PUT …/config is the config, as the user wrote it.
    shown = {name: text for name, text in evening.heard.items() if _shows_a_config(name, text)}
    for name, text in {**configs, **shown}.items():
        assert found_in(text, {**PROVIDED, **OF_WORKER}) == [], name
    leaks = {
        name: leaked
        for name, text in evening.heard.items()
        if name not in shown and (leaked := found_in(text, everything))
    }
    for kind, secrets in (
        ("configs", {**PROVIDED, **OF_WORKER}),
        ("offsets", everything),
        ("status", everything),
    ):
        records = rig.internal(kind)
        assert records
        text = "".join(f"{each.key!r}{each.value!r}{each.headers!r}" for each in records)
        leaks[f"topic {kind}"] = found_in(text, secrets)
    given = {"worker.properties"}
    for file in (evening.folder / "worker").rglob("*"):
        if file.is_file() and file.name not in given:
            text = file.read_text(encoding="utf-8", errors="replace")
            leaks[str(file.relative_to(evening.folder))] = found_in(text, everything)
    assert {name: found for name, found in leaks.items() if found} == {}
    talkers = {line["logger"] for line in rig.log_lines() if line["level"] == "debug"}
    assert {"botocore.auth", "connectd.kafka.voice"} <= talkers


def _shows_a_config(name: str, text: str) -> bool:
    is_write = name.startswith(("PUT /connectors/", "POST /connectors "))
    return is_write and '"connector.class"' in text and '"error_code"' not in text
