"""Requests between workers: signatures, and what they do (spec kafka-connect A.1.6, A.9, H80-81).

The order of checks and the texts are those of a real worker of Kafka 4.3.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import pytest

from connectd.configdef.session_key_settings import SessionKeySettings
from connectd.runtime.herder import HerderSettings
from tests.kit.asgi_client import Answer
from tests.kit.control_plane import Plane, control_plane
from tests.kit.virtual import virtual

SETTINGS = SessionKeySettings("HmacSHA256", 32, 3_600_000, "HmacSHA256", ("HmacSHA256",))
SIGNED = HerderSettings(session_keys=SETTINGS)
TASKS = "/connectors/s/tasks"
FENCE = "/connectors/s/fence"


async def send(
    plane: Plane,
    method: str,
    target: str,
    body: bytes = b"",
    **changes: str | None,
) -> Answer:
    """A request with a valid signature, unless ``changes`` says otherwise."""
    key = plane.configs.snapshot().session_key
    assert key is not None
    mac = base64.b64encode(hmac.new(key.key, body, hashlib.sha256).digest()).decode()
    headers = {
        "X-Connect-Request-Signature-Algorithm": changes.get("algorithm", "HmacSHA256"),
        "X-Connect-Authorization": changes.get("signature", mac),
        "Content-Type": changes.get("kind"),
    }
    return await plane.client.request(method, target, body or None, headers)


@virtual
async def test_a_task_set_of_another_worker_is_committed() -> None:
    async with control_plane(settings=SIGNED) as plane:
        await plane.create("s")
        body = b'[{"a":1,"b":null,"probe.topic":"t"},{"a":"2"}]'
        answer = await send(plane, "POST", TASKS, body, kind="text/plain")
        assert (answer.status, answer.body) == (204, b"")
        shown: Any = (await plane.client.get(TASKS)).json()
        assert [each["config"] for each in shown] == [{"a": "1", "probe.topic": "t"}, {"a": "2"}]
        assert (await send(plane, "POST", f"{TASKS}/", b"[]")).status == 204
        assert (await plane.client.get(TASKS)).json() == []


@virtual
async def test_in_a_group_that_does_not_sign_what_is_signed_is_checked_all_the_same() -> None:
    async with control_plane(settings=SIGNED) as plane:
        await plane.create("s")
        plane.herder._membership.signs_requests = False  # type: ignore[misc]
        assert (await plane.client.request("POST", TASKS, b"[]")).status == 204
        assert (await send(plane, "POST", TASKS, b"[]")).status == 204
        assert (await send(plane, "POST", TASKS, b"[]", signature="AAAA")).status == 403


@virtual
async def test_a_stopped_connector_takes_no_tasks() -> None:
    async with control_plane(settings=SIGNED) as plane:
        await plane.create("s")
        await plane.client.put("/connectors/s/stop")
        assert (await send(plane, "POST", TASKS, b"[]")).status == 204
        answer = await send(plane, "POST", TASKS, b"[{}]")
        assert answer.status == 400
        assert answer.message == (
            "Cannot submit non-empty set of task configs for stopped connector s"
        )


@virtual
async def test_fencing_a_source_has_nothing_to_do() -> None:
    async with control_plane(settings=SIGNED) as plane:
        await plane.create("s")
        for body in (b"", b"abc"):
            answer = await send(plane, "PUT", FENCE, body)
            assert (answer.status, answer.body) == (204, b"")


@pytest.mark.parametrize(
    ("method", "target", "body"), [("POST", TASKS, b"[]"), ("PUT", FENCE, b"")]
)
@virtual
async def test_the_signature_is_checked_before_the_connector_is_looked_for(
    method: str, target: str, body: bytes
) -> None:
    async with control_plane(settings=SIGNED) as plane:
        answer = await send(plane, method, target, body)
        assert (answer.status, answer.message) == (404, "Connector s not found")
        answer = await send(plane, method, target, body, signature="AAAA")
        assert (answer.status, answer.message) == (
            403,
            "Internal request contained invalid signature.",
        )


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"signature": None}, 400, "Internal request missing required signature"),
        ({"algorithm": None}, 400, "Internal request missing required signature"),
        ({"algorithm": "foo"}, 400, "Algorithm foo not available"),
        ({"signature": "!!!"}, 400, "Illegal base64 character 21"),
        ({"signature": "AAA"}, 400, "The signature of the internal request is not Base64"),
        ({"signature": ""}, 403, "Internal request contained invalid signature."),
        (
            {"algorithm": "HmacSHA1"},
            400,
            "This worker does not support the 'HmacSHA1' key signing algorithm used by other "
            "workers. This worker is currently configured to use: [HmacSHA256]. Check that all "
            "workers' configuration files permit the same set of signature algorithms, and "
            "correct any misconfigured worker and restart it.",
        ),
        (
            {"algorithm": "hmacsha256"},
            400,
            "This worker does not support the 'hmacsha256' key signing algorithm used by other "
            "workers. This worker is currently configured to use: [HmacSHA256]. Check that all "
            "workers' configuration files permit the same set of signature algorithms, and "
            "correct any misconfigured worker and restart it.",
        ),
    ],
)
@virtual
async def test_other_signatures_are_refused(
    changes: dict[str, str | None], status: int, message: str
) -> None:
    async with control_plane(settings=SIGNED) as plane:
        answer = await send(plane, "POST", TASKS, b"[]", **changes)
        assert (answer.status, answer.message) == (status, message)


@pytest.mark.parametrize("body", [b"", b"{", b"{}", b"null", b"[1]", b"[null]", b'[{"a":{}}]'])
@virtual
async def test_what_is_no_task_set_is_refused_first(body: bytes) -> None:
    async with control_plane(settings=SIGNED) as plane:
        answer = await send(plane, "POST", TASKS, body, signature="!!!")
        assert answer.status == 400
        assert "signature" not in answer.message


@virtual
async def test_without_a_protocol_that_signs_nothing_is_checked() -> None:
    async with control_plane() as plane:
        await plane.create("s")
        assert plane.configs.snapshot().session_key is None
        assert (await plane.client.post(TASKS, [])).status == 204
        assert (await plane.client.put(FENCE)).status == 204
