"""Which paths are legal, and what is routed. Texts as real workers of Kafka 4.3 answer them."""

from __future__ import annotations

import pytest

from connectd.rest.errors import RestError
from connectd.rest.paths import routed_path


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("/", "/"),
        ("/connectors/", "/connectors"),
        ("/connectors/a%2Fb", "/connectors/a%2Fb"),
        ("/connectors/a%252Fb", "/connectors/a%252Fb"),
        ("/connectors/a%5Cb", "/connectors/a%5Cb"),
        ("/connectors/%2e%2e", "/connectors/%2e%2e"),
        ("/connectors/%C3%A9", "/connectors/%C3%A9"),
        ("/connectors;x=1", "/connectors"),
        ("/connectors/a;x=1;y/status", "/connectors/a/status"),
        ("/connectors/a%3Bb", "/connectors/a%3Bb"),
        ("/connectors/%20", "/connectors/%20"),
        ("/../connectors", "/../connectors"),
    ],
)
def test_paths_are_routed_as_they_were_sent(raw: str, path: str) -> None:
    assert routed_path(raw.encode()) == path


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"//connectors", "Ambiguous URI empty segment"),
        (b"/connectors//", "Ambiguous URI empty segment"),
        (b"/connectors//status", "Ambiguous URI empty segment"),
        (b"/;x/connectors", "Ambiguous URI empty segment"),
        (b"/connectors/%", "Bad percent-encoding in the path"),
        (b"/connectors/%zz", "Bad percent-encoding in the path"),
        (b"/connectors/%ff", "Bad UTF-8 encoding"),
        (b"/connectors/%00", "Suspicious Path Character"),
        (b"/connectors/a%0Ab", "Suspicious Path Character"),
        (b"/connectors/a%7fb", "Suspicious Path Character"),
        ("/connectors/é".encode(), "Illegal Path Character"),
    ],
)
def test_what_has_two_meanings_or_none_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(RestError, match=message) as caught:
        routed_path(raw)
    assert caught.value.status == 400
