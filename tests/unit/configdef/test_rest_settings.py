"""Listeners, the advertised URL and response headers, with Kafka's syntax and words."""

from __future__ import annotations

import pytest

from connectd.configdef import rest_settings
from connectd.configdef.rest_settings import Advertised, Listener, ResponseHeader
from connectd.errors import ConfigError

NOTHING = Advertised(None, None, None)


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("http://:8083", Listener("http", "", 8083)),
        ("HTTP://localhost:0", Listener("http", "localhost", 0)),
        (" https://[::1]:8443 ", Listener("https", "::1", 8443)),
        ("http://connect-0.connect:8083", Listener("http", "connect-0.connect", 8083)),
    ],
)
def test_listeners_are_scheme_host_and_port(text: str, listener: Listener) -> None:
    assert rest_settings.parse_listener(text) == listener


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("localhost:8083", "Listener doesn't have the right format (protocol://hostname:port)."),
        ("http://localhost", "Listener doesn't have the right format (protocol://hostname:port)."),
        ("http://h:8083/x", "Listener doesn't have the right format (protocol://hostname:port)."),
        ("ftp://h:1", 'Listener protocol must be either "http" or "https".'),
        ("http://h:-1", "The port of a listener must be between 0 and 65535."),
        ("http://h:65536", "The port of a listener must be between 0 and 65535."),
    ],
)
def test_bad_listeners_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rest_settings.parse_listener(text)
    assert str(caught.value) == f"{message} Found: {text}"


def test_a_list_without_listeners_or_with_an_empty_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="Invalid value for listeners, at least one URL is exp"):
        rest_settings.check_listeners("listeners", ())
    with pytest.raises(ConfigError, match="Empty URL found when parsing listeners list"):
        rest_settings.check_listeners("listeners", ("http://:1", " "))
    with pytest.raises(ConfigError, match="right format"):
        rest_settings.check_listeners("listeners", ("http://:1", "x"))


def test_admin_listeners_may_be_unset_or_empty() -> None:
    rest_settings.check_listeners("admin.listeners", None)
    rest_settings.check_listeners("admin.listeners", ())
    with pytest.raises(ConfigError, match=r"Empty URL found when parsing admin\.listeners list"):
        rest_settings.check_listeners("admin.listeners", ("",))


HTTP = Listener("http", "", 8083)
HTTPS = Listener("https", "secure", 8443)


@pytest.mark.parametrize(
    ("advertised", "bound", "url"),
    [
        (NOTHING, [HTTP], "http://10.0.0.7:8083/"),
        (NOTHING, [HTTPS, HTTP], "http://10.0.0.7:8083/"),
        (NOTHING, [HTTPS], "https://secure:8443/"),
        (NOTHING, [Listener("http", "0.0.0.0", 1)], "http://10.0.0.7:1/"),
        (Advertised("https", None, None), [HTTP, HTTPS], "https://secure:8443/"),
        (Advertised(None, "connect", 80), [HTTP], "http://connect:80/"),
        (Advertised(None, None, 0), [HTTP], "http://10.0.0.7:0/"),
        (NOTHING, [Listener("http", "fe80::1", 1)], "http://[fe80::1]:1/"),
    ],
)
def test_the_advertised_url(advertised: Advertised, bound: list[Listener], url: str) -> None:
    assert advertised.url(bound, "10.0.0.7") == url


def test_advertising_a_scheme_without_listener_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"rest\.advertised\.listener is https, but listeners has"
    ):
        Advertised("https", None, None).url([HTTP], "h")


@pytest.mark.parametrize(
    ("url", "name"), [("http://h:8083/", "h:8083"), ("https://[::1]:1/", "[::1]:1")]
)
def test_the_worker_is_named_after_its_url(url: str, name: str) -> None:
    assert rest_settings.worker_id(url) == name


def test_response_headers_are_rules() -> None:
    text = 'set X-Frame-Options: DENY, "add Cache-Control: no-cache, no-store",SETDATE Expires:1'
    assert rest_settings.parse_response_headers(text) == (
        ResponseHeader("set", "X-Frame-Options", "DENY"),
        ResponseHeader("add", "Cache-Control", "no-cache, no-store"),
        ResponseHeader("setDate", "Expires", "1"),
    )
    assert rest_settings.parse_response_headers("  ") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "set",
            "Invalid format of header config 'set'. "
            "Expected: '[action] [header name]:[header value]'",
        ),
        (
            "put a:b",
            "Invalid header config action: 'put'. Expected one of [set, add, setDate, addDate]",
        ),
        (
            "set a",
            "Invalid format of header name and header value pair 'a'. "
            "Expected: '[header name]:[header value]'",
        ),
        (
            "set a:b:c",
            "Invalid format of header name and header value pair 'a:b:c'. "
            "Expected: '[header name]:[header value]'",
        ),
        (
            "set a b:c",
            "Invalid header name 'a b'. The '[header name]' cannot contain whitespace",
        ),
        ("set :c", "Invalid header name ''. The '[header name]' cannot contain whitespace"),
        (
            "set a:b\r\nSet-Cookie: x",
            "Invalid header config: found a control character, expected none",
        ),
    ],
)
def test_bad_response_headers_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rest_settings.check_response_headers("response.http.headers.config", text)
    assert str(caught.value) == message
