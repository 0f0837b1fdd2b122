"""Tokens for the group's client: asked for, kept, shown, and never told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from connectd.aio.clock import LoopClock
from connectd.errors import AccessDeniedError, ConfigError, TransientNetworkError
from connectd.kafka.group import bearer
from connectd.kafka.group.bearer import BearerLogin
from tests.harness.processes import free_ports
from tests.kit.token_issuer import SECRET, TokenIssuer


@pytest.fixture
def issuer() -> Iterator[TokenIssuer]:
    with TokenIssuer() as found:
        yield found


class Hours(LoopClock):
    """A clock that is set by hand."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


def login_of(issuer: TokenIssuer, **settings: str) -> BearerLogin:
    named = {key.replace("_", "."): value for key, value in settings.items()}
    return bearer.read({**issuer.settings(), **named})


def first(login: BearerLogin) -> bytes:
    return asyncio.run(login.first())


def test_a_token_is_shown_with_its_extensions(issuer: TokenIssuer) -> None:
    login = login_of(issuer, sasl_oauthbearer_extensions="logicalCluster=lkc-1, pool=p=1")
    said = first(login).decode().split("\x01")
    assert said[0] == "n,,"
    assert said[1].startswith("auth=Bearer ey")
    assert said[2:] == ["logicalCluster=lkc-1", "pool=p=1", "", ""]
    assert issuer.asked == [{"grant_type": "client_credentials", "scope": "kafka"}]


@pytest.mark.parametrize("says_life", [True, False])
def test_a_token_is_kept_for_most_of_its_life_and_not_when_it_was_refused(
    issuer: TokenIssuer, says_life: bool
) -> None:
    if not says_life:  # then it stands in the token
        issuer.answer = (200, {"access_token": issuer.token()})
    clock = Hours()
    login = BearerLogin(login_of(issuer).issuer, {}, clock)

    async def show() -> list[int]:
        counts = []
        for clock.now_s in (0.0, 239.0, 241.0, 242.0):
            await login.first()
            counts.append(len(issuer.asked))
        login.forget()
        await login.first()
        return [*counts, len(issuer.asked)]

    assert asyncio.run(show()) == [1, 1, 2, 2, 3]


def test_a_token_whose_life_nobody_tells_is_for_one_login(issuer: TokenIssuer) -> None:
    issuer.answer = (200, {"access_token": "opaque"})
    login = login_of(issuer)
    assert b"Bearer opaque\x01" in first(login)
    first(login)
    assert len(issuer.asked) == 2


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ((401, {"error": "invalid_client"}), AccessDeniedError, "401: invalid_client; check"),
        ((400, ["x"]), AccessDeniedError, "status 400: no reason"),
        ((302, {}), AccessDeniedError, "status 302"),
        ((503, {}), TransientNetworkError, "status 503"),
        ((429, {}), TransientNetworkError, "status 429"),
        ((200, {}), AccessDeniedError, "no access_token"),
        ((200, {"access_token": "a\x01b"}), AccessDeniedError, "no access_token"),
        ((200, []), AccessDeniedError, "no access_token"),
    ],
)
def test_what_is_no_token_is_told_without_the_secret(
    issuer: TokenIssuer, answer: tuple[int, Any], kind: type[Exception], words: str
) -> None:
    issuer.answer = answer
    with pytest.raises(kind, match=words) as caught:
        first(login_of(issuer))
    assert SECRET not in str(caught.value)
    assert len(issuer.asked) == 1, "nothing is followed"


def test_an_issuer_that_is_away_is_asked_again_later(issuer: TokenIssuer) -> None:
    nowhere = f"http://127.0.0.1:{free_ports(1)[0]}/token"
    login = login_of(issuer, sasl_oauthbearer_token_endpoint_url=nowhere)
    with pytest.raises(TransientNetworkError, match="Connection refused"):
        first(login)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sasl.oauthbearer.method": "default"}, "method=default"),
        ({"sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}, "oidc"),
        ({"sasl.oauthbearer.token.endpoint.url": "file:///etc/passwd"}, "begins with https"),
        ({"sasl.oauthbearer.client.id": ""}, r"client\.id: found nothing"),
        ({"sasl.oauthbearer.client.secret": ""}, r"client\.secret: found nothing"),
        ({"sasl.oauthbearer.extensions": "auth=x"}, "extensions: expected"),
        ({"sasl.oauthbearer.extensions": "a b=x"}, "extensions: expected"),
        ({"https.ca.location": "/nowhere.pem"}, r"https\.ca\.location: cannot be used"),
        ({"https.ca.pem": "no pem"}, r"https\.ca\.location: cannot be used"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    issuer: TokenIssuer, settings: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        bearer.read({**issuer.settings(), **settings})


def test_neither_secret_nor_token_can_be_printed(issuer: TokenIssuer) -> None:
    login = login_of(issuer)
    shown = first(login)
    assert SECRET not in repr(login.issuer)
    token = json.dumps(shown.decode().split("Bearer ")[1][:40])
    assert token not in repr(login)
