"""Secrets do not leave the process in text, whatever shape they come in."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.observe import redaction
from connectd.observe.redaction import HIDDEN, is_secret_name, redact_field, redact_text


@pytest.fixture(autouse=True)
def _forget_secrets() -> Iterator[None]:
    redaction.forget_secrets()
    yield
    redaction.forget_secrets()


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "aws.secret.key",
        "aws.access.key.id",
        "ssl.keystore.password",
        "ssl.keystore.key",
        "sasl.jaas.config",
        "AWS_SESSION_TOKEN",
        "api_key",
        "Authorization",
        "private-key",
        "basic.auth.passwd",
        "db.pwd",
        "my.credential",
        "foo.bearer",
        "fs.azure.account.key.x",
        "license.key",
    ],
)
def test_names_of_secrets_are_recognised(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "key.converter",
        "dynamodb.table.env.tag.key",
        "inter.worker.key.ttl.ms",
        "table",
        "event",
        "logger",
        "hash_key",
        "compass",
        "sasl.oauthbearer.scope",
        "aws.credentials.provider.class",
        "credentials_file",
    ],
)
def test_ordinary_names_are_not_secrets(name: str) -> None:
    assert not is_secret_name(name)


def test_the_value_of_a_secret_looking_field_is_hidden() -> None:
    assert redact_field("aws.secret.key", "x") == HIDDEN
    assert redact_field("config", {"aws.secret.key": "x", "table": "t"}) == {
        "aws.secret.key": HIDDEN,
        "table": "t",
    }
    assert redact_field("configs", [{"password": "x"}]) == [{"password": HIDDEN}]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=hunter2 next", "password=[hidden] next"),
        ('org.Login required username="u" password="hun ter2";',
         'org.Login required username="u" password=[hidden];'),
        ("{aws.secret.key=hunter2, table=t}", "{aws.secret.key=[hidden], table=t}"),
        ('{"aws.secret.key": "hunt\\"er2", "t": 1}', '{"aws.secret.key": [hidden], "t": 1}'),
        ("{'aws.secret.key': 'hunter2'}", "{'aws.secret.key': [hidden]}"),
        ("GET /?X-Amz-Security-Token=abc&x=1", "GET /?X-Amz-Security-Token=[hidden]&x=1"),
        ("ExpiredTokenException: the token in the request is old",
         "ExpiredTokenException: the token in the request is old"),
    ],
)  # fmt: skip
def test_pairs_inside_of_text_are_hidden(text: str, shown: str) -> None:
    assert redact_text(text) == shown


def test_a_registered_secret_is_hidden_in_every_spelling() -> None:
    secret = 'a"b\\c/d e'
    redaction.register_secret(secret)
    for text in (
        f"plain {secret}!",
        json.dumps({"x": secret}),
        repr([secret]),
        "https://h/a%22b%5Cc%2Fd%20e?x",
    ):
        assert HIDDEN in redact_text(text)
        assert "b\\c" not in redact_text(text)
        assert "c%2Fd" not in redact_text(text)


def test_a_registered_secret_is_hidden_in_keys_objects_and_exceptions() -> None:
    redaction.register_secret("hunter2")
    assert redact_field("x", ValueError("bad hunter2")) == f"ValueError: bad {HIDDEN}"

    class Holder:
        def __str__(self) -> str:
            return "holds hunter2"

    assert redact_field("x", [Holder(), ("hunter2",)]) == [f"holds {HIDDEN}", [HIDDEN]]


def test_the_longer_of_two_overlapping_secrets_is_hidden_whole() -> None:
    redaction.register_secret("abcd")
    redaction.register_secret("abcdefgh")
    assert redact_text("<abcdefgh>") == f"<{HIDDEN}>"


def test_the_password_inside_of_a_registered_login_is_hidden_by_itself() -> None:
    redaction.register_secret('x.PlainLoginModule required username="u" password="hunter2";')
    assert redact_text("login of u with hunter2 failed") == f"login of u with {HIDDEN} failed"


def test_a_short_string_is_no_secret() -> None:
    redaction.register_secret("e")
    assert redact_text("hello") == "hello"


def test_the_number_of_secrets_is_bounded() -> None:
    for number in range(redaction.SECRETS_MAX + 1):
        redaction.register_secret(f"secret-number-{number:06}")
    assert redact_text("secret-number-000000") == "secret-number-000000"
    assert redact_text(f"secret-number-{redaction.SECRETS_MAX:06}") == HIDDEN


def test_long_texts_keep_their_ends_and_containers_are_cut() -> None:
    text = redact_text("a" + "x" * (2 * redaction.TEXT_LENGTH_MAX) + "z")
    assert text.startswith("a")
    assert text.endswith("z")
    assert "characters left out" in text
    assert len(text) < redaction.TEXT_LENGTH_MAX + 100
    many = redact_field("x", list(range(1000)))
    assert isinstance(many, list)
    assert len(many) == redaction.ENTRIES_MAX + 1
    members = redact_field("x", {str(number): number for number in range(1000)})
    assert isinstance(members, dict)
    assert members["…"] == "800 more"


def test_nesting_is_cut() -> None:
    value: object = "leaf"
    for _ in range(50):
        value = [value]
    shown = json.dumps(redact_field("x", value))
    assert shown.startswith("[" * redaction.DEPTH_MAX + '"')


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=20,
    )
)
def test_whatever_comes_out_can_be_rendered_as_json(value: object) -> None:
    json.dumps(redact_field("field", value))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("POST http://u:p4ss@host:81/x", f"POST http://{HIDDEN}@host:81/x"),
        ("see https://token@host", f"see https://{HIDDEN}@host"),
        ("http://a:b@h,http://c:d@i", f"http://{HIDDEN}@h,http://{HIDDEN}@i"),
        ("mail x@y, see http://host/a@b?c=d@e", "mail x@y, see http://host/a@b?c=d@e"),
    ],
)
def test_a_login_in_a_url_is_hidden(text: str, shown: str) -> None:
    assert redact_text(text) == shown


def test_passwords_of_urls_are_found_as_they_are_spelt_and_meant() -> None:
    text = "http://u:p%40ss@h,http://host:80/path,https://v:w@i"
    assert redaction.url_passwords(text) == ["p%40ss", "p@ss", "w"]


def test_an_element_with_a_telling_name_is_hidden() -> None:
    """As STS gives keys, before anybody could register them."""
    text = "<Credentials><SecretAccessKey>abc</SecretAccessKey><Region>eu</Region></Credentials>"
    assert redact_text(text) == (
        f"<Credentials><SecretAccessKey>{HIDDEN}</SecretAccessKey><Region>eu</Region></Credentials>"
    )


def test_secrets_that_pass_are_hidden_for_two_sets_and_push_nothing_out() -> None:
    redaction.register_secret("stays-for-ever")
    passing = redaction.PassingSecrets()
    for number in range(redaction.SECRETS_MAX):
        passing.replace([f"token-{number}"])
        passing.replace([f"token-{number}"])
    last = redaction.SECRETS_MAX - 1
    assert redact_text(f"token-{last} token-{last - 1}") == f"{HIDDEN} {HIDDEN}"
    assert redact_text("token-7") == "token-7"
    assert redact_text("stays-for-ever") == HIDDEN


def test_a_secret_of_two_sets_stays_while_one_of_them_is_kept() -> None:
    passing = redaction.PassingSecrets()
    for secrets in (["same-key", "token-1"], ["same-key", "token-2"], ["same-key", "token-3"]):
        passing.replace(secrets)
    assert redact_text("same-key token-1 token-2") == f"{HIDDEN} token-1 {HIDDEN}"


def test_what_is_registered_in_a_passage_is_forgotten_behind_it() -> None:
    redaction.register_secret("stays-known")
    with redaction.forgetting():
        redaction.register_secret("passes-by")
        assert redaction.redact_text("stays-known passes-by") == "[hidden] [hidden]"
    assert redaction.redact_text("stays-known passes-by") == "[hidden] passes-by"
