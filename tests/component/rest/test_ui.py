"""The dashboard as files: who gets them, with which headers, and from which archive."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from connectd.configdef import rest_login
from connectd.configdef.worker import WorkerConfig
from connectd.rest.api import create_api
from tests.kit.asgi_client import AsgiClient
from tests.kit.control_plane import WORKER_PROPERTIES, Plane, control_plane
from tests.kit.virtual import virtual

ROOT = Path(__file__).resolve().parents[3]
STATIC = ROOT / "connectd" / "rest" / "static"
ASSETS = sorted(path.name for path in STATIC.iterdir() if path.name != "index.html")

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/*,*/*;q=0.8"}


def client_of(plane: Plane, **properties: str) -> AsgiClient:
    more = {name.replace("_", "."): text for name, text in properties.items()}
    config = WorkerConfig.from_properties({**WORKER_PROPERTIES, **more})
    return AsgiClient(create_api(plane.herder, config.rest))


@virtual
async def test_the_page_may_load_files_of_this_worker_only() -> None:
    async with control_plane() as plane:
        page = await client_of(plane).get("/ui", headers=BROWSER)
        assert page.status == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert page.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ASSETS)
@virtual
async def test_every_asset_is_served_as_what_it_is(name: str) -> None:
    kinds = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
    async with control_plane() as plane:
        asset = await client_of(plane).get(f"/ui/{name}")
        assert asset.status == 200
        assert asset.body == (STATIC / name).read_bytes()
        kind = kinds.get(name.rpartition(".")[2], "image/svg+xml")
        assert asset.headers["content-type"] == kind
        assert "content-security-policy" in asset.headers


@virtual
async def test_what_the_browser_has_already_is_not_sent_again() -> None:
    async with control_plane() as plane:
        client = client_of(plane)
        etag = (await client.get("/ui/dashboard.js")).headers["etag"]
        again = await client.get("/ui/dashboard.js", headers={"if-none-match": etag})
        assert (again.status, again.body) == (304, b"")
        other = await client.get("/ui/dashboard.css", headers={"if-none-match": etag})
        assert other.status == 200


@virtual
async def test_a_slash_too_many_leads_to_the_page_also_below_a_path_of_a_proxy() -> None:
    async with control_plane() as plane:
        client = client_of(plane)
        moved = await client.get("/ui/")
        assert (moved.status, moved.headers["location"]) == (308, "../ui")


@pytest.mark.parametrize("target", ["/ui/none.js", "/ui/index.html", "/ui/../api.py", "/ui/%2e%2e"])
@virtual
async def test_there_is_nothing_else(target: str) -> None:
    async with control_plane() as plane:
        assert (await client_of(plane).get(target)).status == 404


@virtual
async def test_it_is_read_only_and_errors_have_the_usual_body() -> None:
    async with control_plane() as plane:
        client = client_of(plane)
        answer = await client.post("/ui")
        assert (answer.status, answer.headers["allow"]) == (405, "HEAD,GET,OPTIONS")
        assert answer.message == "HTTP 405 Method Not Allowed"
        refused = await client.get("/ui", headers={"accept": "application/json"})
        assert (refused.status, refused.message) == (406, "HTTP 406 Not Acceptable")


@virtual
async def test_one_key_turns_it_off() -> None:
    async with control_plane() as plane:
        client = client_of(plane, connectd_ui_enable="false")
        for target in ("/ui", "/ui/dashboard.js"):
            assert (await client.get(target)).status == 404
        assert (await client.get("/connectors")).status == 200


@virtual
async def test_where_people_log_in_the_browser_is_told_to_ask_them(tmp_path: Path) -> None:
    users = tmp_path / "users.properties"
    users.write_text("admin=s3cret\n")
    async with control_plane() as plane:
        client = client_of(plane, **{rest_login.CREDENTIALS_FILE: str(users)})
        for target in ("/ui", "/ui/dashboard.js"):
            answer = await client.get(target, headers=BROWSER)
            assert answer.status == 401
            assert answer.headers["www-authenticate"].startswith("Basic ")
            login = f"Basic {base64.b64encode(b'admin:s3cret').decode()}"
            assert (await client.get(target, headers={"authorization": login})).status == 200


def test_no_file_of_the_page_names_another_host_or_parses_html() -> None:
    """The standards body's name of SVG is not an address that is asked."""
    namespace = "http://www.w3.org/2000/svg"
    parsing = re.compile(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|\sstyle=")
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8").replace(namespace, "")
        assert re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text) == [], path.name
        assert parsing.findall(text) == [], path.name


def test_the_wheel_has_the_page(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(ROOT)],
        check=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {Path(name).name for name in archive.namelist() if "/rest/static/" in name}
    assert packed == {"index.html", *ASSETS}
