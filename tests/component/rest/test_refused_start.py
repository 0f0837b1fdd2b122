"""A worker whose REST settings cannot be used ends with code 2 and says why, without a secret."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from connectd.configdef import rest_login
from tests.harness.worker import ROOT, properties_text
from tests.kit.certificates import identity
from tests.kit.control_plane import WORKER_PROPERTIES

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {
                "listeners": "https://127.0.0.1:0",
                "listeners.https.ssl.keystore.location": "STORE",
                "listeners.https.ssl.keystore.password": "hunter3",
            },
            "cannot be opened as PKCS12; check listeners.https.ssl.keystore.password",
        ),
        (
            {
                "admin.listeners": "https://127.0.0.1:0",
                "admin.listeners.https.ssl.keystore.location": "STORE.none",
                "admin.listeners.https.ssl.keystore.password": "hunter3",
            },
            "admin.listeners.https.ssl.keystore.location: cannot read ",
        ),
        ({"listeners": "https://127.0.0.1:0"}, "which needs a certificate"),
        ({rest_login.CREDENTIALS_FILE: "STORE.none"}, "cannot read the file "),
        ({"rest.extension.classes": "org.example.Audit"}, "names org.example.Audit, but Java"),
        ({"access.control.allow.origin": "http://(a"}, "access.control.allow.origin has http://(a"),
    ],
)
def test_settings_that_cannot_be_used_end_the_start(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    store = tmp_path / "store.p12"
    store.write_bytes(identity("worker").pkcs12("hunter2"))
    properties = {
        **WORKER_PROPERTIES,
        "bootstrap.servers": "127.0.0.1:1",
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "listeners": "http://127.0.0.1:0",
        **{name: value.replace("STORE", str(store)) for name, value in changes.items()},
    }
    file = tmp_path / "worker.properties"
    file.write_text(properties_text(properties))
    command = [sys.executable, "-m", "connectd", "run", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 2, said
    assert message in said
    assert "hunter" not in said
