"""Basic authentication (spec kafka-connect A.1.7, X09). Facts: the extension of Kafka 4.3."""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path

import pytest

from connectd.configdef import rest_login
from connectd.configdef.session_key_settings import SessionKeySettings
from connectd.configdef.worker import WorkerConfig
from connectd.errors import ConfigError
from connectd.observe import redaction
from connectd.rest.api import create_admin_api, create_api
from connectd.runtime.herder import HerderSettings
from tests.kit.asgi_client import AsgiClient
from tests.kit.control_plane import WORKER_PROPERTIES, Plane, control_plane
from tests.kit.virtual import virtual

KEYS = SessionKeySettings("HmacSHA256", 32, 0, "HmacSHA256", ("HmacSHA256",))


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users.properties"
    path.write_text("admin=s3cret\nbob = p:w\n# nobody=x\nempty=\n")
    return path


def _client(plane: Plane, users: Path, **properties: str) -> AsgiClient:
    more = {name.replace("_", "."): text for name, text in properties.items()}
    config = WorkerConfig.from_properties(
        {**WORKER_PROPERTIES, rest_login.CREDENTIALS_FILE: str(users), **more}
    )
    return AsgiClient(create_api(plane.herder, config.rest))


def _login(text: str) -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


@pytest.mark.parametrize(
    "headers",
    [
        _login("admin:s3cret"),
        _login("bob:p:w"),
        {"authorization": _login("admin:s3cret")["authorization"].replace("Basic", "bAsIc")},
    ],
)
@virtual
async def test_who_knows_a_password_comes_in(users: Path, headers: dict[str, str]) -> None:
    async with control_plane() as plane:
        client = _client(plane, users)
        for target in ("/", "/connectors", "/health", "/admin/loggers/root"):
            assert (await client.get(target, headers=headers)).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        _login("admin:S3cret"),
        _login("admin:s3cre"),
        _login("admin:s3cret "),
        _login("admin:"),
        _login("admin"),
        _login("nobody:x"),
        _login("nobody:"),
        _login(":"),
        _login("bob: p:w"),
        {"authorization": "Basic"},
        {"authorization": "Basic !!!"},
        {"authorization": "Basic /w=="},
        {"authorization": "Bearer s3cret"},
    ],
)
@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/"),
        ("GET", "/health"),
        ("GET", "/connectors/s/tasks"),
        ("POST", "/connectors/s/restart"),
        ("OPTIONS", "/connectors"),
        ("GET", "/connectd/connectors/s/tables"),
        ("GET", "/admin/loggers"),
    ],
)
@virtual
async def test_others_do_not(
    users: Path, headers: dict[str, str], method: str, target: str
) -> None:
    async with control_plane() as plane:
        answer = await _client(plane, users).request(method, target, headers=headers)
        assert (answer.status, answer.message) == (401, "User cannot access the resource.")
        assert answer.headers["www-authenticate"].startswith("Basic ")


@virtual
async def test_what_is_refused_to_everybody_is_refused_before_the_login(users: Path) -> None:
    async with control_plane() as plane:
        client = _client(plane, users)
        assert (await client.get("/nope")).status == 404
        assert (await client.delete("/connectors")).status == 405
        answer = await client.get("/connectors", headers={"accept": "text/html"})
        assert answer.status == 406
        answer = await client.put("/connectors/s/config", headers={"content-type": "text/plain"})
        assert answer.status == 415
        assert (await client.get("//connectors")).status == 400


@virtual
async def test_workers_show_a_signature_instead(users: Path) -> None:
    async with control_plane(settings=HerderSettings(session_keys=KEYS)) as plane:
        client = _client(plane, users)
        await plane.create("s")
        for method, target in (("POST", "/connectors/s/tasks/"), ("PUT", "/connectors/s/fence")):
            body = b"[]" if method == "POST" else b""
            answer = await client.request(method, target, body or None)
            assert answer.message == "Internal request missing required signature"
            key = plane.configs.snapshot().session_key
            assert key is not None
            mac = hmac.new(key.key, body, hashlib.sha256).digest()
            signed = {
                "x-connect-request-signature-algorithm": "HmacSHA256",
                "x-connect-authorization": base64.b64encode(mac).decode(),
            }
            assert (await client.request(method, target, body or None, signed)).status == 204


@virtual
async def test_unsigned_requests_of_workers_need_a_login_in_a_group_that_does_not_sign(
    users: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with control_plane(settings=HerderSettings(session_keys=KEYS)) as plane:
        client = _client(plane, users)
        await plane.create("s")
        member = plane.herder._membership
        member.signs_requests = False  # type: ignore[misc]  # as with one member that is eager
        for method, target in (("POST", "/connectors/s/tasks"), ("PUT", "/connectors/s/fence")):
            body = b"[]" if method == "POST" else None
            for headers in ({}, _login("admin:nonsense")):
                answer = await client.request(method, target, body, headers)
                assert (answer.status, answer.message) == (401, "User cannot access the resource.")
            answer = await client.request(method, target, body, _login("admin:s3cret"))
            assert answer.status == 204
            forged = {
                "x-connect-request-signature-algorithm": "HmacSHA256",
                "x-connect-authorization": "AAAA",
            }
            assert (await client.request(method, target, body, forged)).status == 403
            signature = plane.herder.session_keys.sign(body or b"")
            assert signature is not None
            signed = {
                "x-connect-request-signature-algorithm": signature.algorithm,
                "x-connect-authorization": signature.text,
            }
            assert (await client.request(method, target, body, signed)).status == 204
        assert capsys.readouterr().out.count("refused an unsigned request of another worker") == 1


@pytest.mark.parametrize("protocol", ["compatible", "eager"])
def test_a_protocol_that_never_signs_is_refused_beside_it(users: Path, protocol: str) -> None:
    properties = {**WORKER_PROPERTIES, "connect.protocol": protocol}
    WorkerConfig.from_properties(properties)  # without a login, as in Java
    for key, text in (
        (rest_login.CREDENTIALS_FILE, str(users)),
        ("rest.extension.classes", rest_login.EXTENSION),
    ):
        with pytest.raises(ConfigError, match=f"^connect.protocol is {protocol}, .* sessioned"):
            WorkerConfig.from_properties({**properties, key: text})


@virtual
async def test_probes_can_be_let_in(users: Path) -> None:
    async with control_plane() as plane:
        paths = {rest_login.PUBLIC_PATHS: "/health, /"}
        client = _client(plane, users, **paths)
        assert (await client.get("/health")).status == 200
        assert (await client.get("/health/")).status == 200
        assert (await client.get("/")).status == 200
        assert (await client.get("/connectors")).status == 401


@virtual
async def test_a_preflight_needs_no_login_but_the_request_does(users: Path) -> None:
    origin = {"origin": "http://ui.example"}
    async with control_plane() as plane:
        client = _client(plane, users, access_control_allow_origin="http://ui.example")
        preflight = {**origin, "access-control-request-method": "GET"}
        answer = await client.request("OPTIONS", "/connectors", headers=preflight)
        assert answer.status == 200
        answer = await client.get("/connectors", headers=origin)
        assert answer.status == 401
        assert answer.headers["access-control-allow-origin"] == "http://ui.example"


@virtual
async def test_admin_listeners_of_their_own_serve_admin_to_everybody_and_nothing_else(
    users: Path,
) -> None:
    async with control_plane() as plane:
        admin = AsgiClient(create_admin_api(plane.herder))
        assert (await admin.get("/admin/loggers/root")).status == 200
        for target in ("/", "/health", "/connectors", "/openapi.json", "/nope"):
            answer = await admin.get(target)
            assert (answer.status, answer.message) == (404, "HTTP 404 Not Found")
        for listeners in ("http://:8084", ""):
            main = _client(plane, users, admin_listeners=listeners)
            answer = await main.get("/admin/loggers/root", headers=_login("admin:s3cret"))
            assert (answer.status, answer.message) == (404, "HTTP 404 Not Found")


@virtual
async def test_the_file_is_found_through_jaas(tmp_path: Path, users: Path) -> None:
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(f'KafkaConnect {{ a.PropertyFileLoginModule required file="{users}"; }};')
    properties = {
        **WORKER_PROPERTIES,
        "rest.extension.classes": rest_login.EXTENSION,
        rest_login.JAAS_FILE: str(jaas),
    }
    async with control_plane() as plane:
        client = AsgiClient(create_api(plane.herder, WorkerConfig.from_properties(properties).rest))
        assert (await client.get("/")).status == 401
        assert (await client.get("/", headers=_login("admin:s3cret"))).status == 200


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the file"),
        ("", "names no user"),
        ("# user=password\n", "names no user"),
    ],
)
@virtual
async def test_a_file_that_lets_nobody_in_is_refused(
    tmp_path: Path, content: str | None, message: str
) -> None:
    path = tmp_path / "users"
    if content is not None:
        path.write_text(content)
    async with control_plane() as plane:
        with pytest.raises(ConfigError, match=message):
            _client(plane, path)


@virtual
async def test_passwords_stay_out_of_logs(users: Path) -> None:
    async with control_plane() as plane:
        _client(plane, users)
        assert redaction.redact_text("it was s3cret") == "it was [hidden]"
    redaction.forget_secrets()
