"""The two workers of the suite, set up alike: the real one and connectd."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Final

import connectd
from tests.conformance.rest import internal_topics
from tests.conformance.rest.driving import WAIT_S, Driver
from tests.conformance.rest.steps import Worker
from tests.harness import jars
from tests.harness.connect import RealConnectWorker
from tests.harness.worker import WorkerProcess

JAVA: Final = "org.apache.kafka.common.config.provider"

PROVIDERS: Final = {
    "config.providers": "file,env,directory",
    "config.providers.file.class": f"{JAVA}.FileConfigProvider",
    "config.providers.env.class": f"{JAVA}.EnvVarConfigProvider",
    "config.providers.directory.class": f"{JAVA}.DirectoryConfigProvider",
}

PROPERTIES: Final = {
    Worker.PLAIN: PROVIDERS,
    Worker.STRICT: {
        "topic.tracking.enable": "false",
        "connector.client.config.override.policy": "None",
        "access.control.allow.origin": "https://ui.example",
        "access.control.allow.methods": "GET,PUT,OPTIONS",
        "response.http.headers.config": '"add X-Frame-Options: DENY",set Cache-Control: no-cache',
    },
    Worker.GUARDED: {
        "topic.tracking.allow.reset": "false",
        "connector.client.config.override.policy": "Principal",
        "admin.listeners": "",
        "rest.extension.classes": (
            "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
        ),
    },
}


USERS: Final = "admin=secret\ncolon=a:b\n"
LOGIN: Final = {"Authorization": "Basic " + base64.b64encode(b"admin:secret").decode()}


class Side(Enum):
    """Whose worker."""

    REAL = "Apache Kafka Connect"
    OURS = "connectd"


@contextmanager
def running(
    side: Side,
    worker: Worker,
    bootstrap: str,
    run: str,
    directory: Path,
    *,
    patience_s: float = WAIT_S,
) -> Iterator[Driver]:
    """A worker of this side, ready for scenarios; it ends with the block.

    ``run`` names its group and its topics, so it must be new for every worker; ``directory`` is
    where scenarios put their files.
    """
    prefix = f"{run}-{side.name.lower()}-"
    kind = RealConnectWorker if side is Side.REAL else WorkerProcess
    version = jars.CONNECT.version() if side is Side.REAL else connectd.__version__
    headers = LOGIN if worker is Worker.GUARDED else {}
    with tempfile.TemporaryDirectory(prefix="connectd-conformance-") as home:
        started = kind(
            bootstrap,
            group_id=f"{prefix}group",
            topics_prefix=prefix,
            properties=PROPERTIES[worker],
            env={"CONFORMANCE_TOPIC": f"{run}-environment", **_login_module(Path(home))},
            headers=headers,
            home=Path(home),
        )
        with started, internal_topics.of_worker(bootstrap, prefix) as topics:
            started.wait_healthy()
            yield Driver(
                address=f"127.0.0.1:{started.rest_port}",
                run=run,
                directory=directory,
                topics=topics,
                versions=(version,),
                headers=headers,
                patience_s=patience_s,
            )


def _login_module(home: Path) -> dict[str, str]:
    """The environment that tells a worker which file has its users; it is read by both sides."""
    users = home / "users.properties"
    users.write_text(USERS, encoding="utf-8")
    module = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"
    jaas = home / "jaas.conf"
    jaas.write_text(f'KafkaConnect {{ {module} required file="{users}"; }};\n', encoding="utf-8")
    return {"JAVA_TOOL_OPTIONS": f"-Djava.security.auth.login.config={jaas}"}
