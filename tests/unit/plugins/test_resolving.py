"""References to config providers: how they are read, resolved, and hidden again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectd.errors import ConfigError
from connectd.observe import redaction
from connectd.plugins import resolving
from connectd.plugins.resolving import Reference, Resolution
from tests.kit import providers
from tests.kit.providers import ProbeProvider
from tests.kit.virtual import virtual

SECRETS = {
    ("/s", "pw"): "hunter2",
    ("/s", "empty"): "",
    ("/s", "again"): "${file:/s:pw}",
    ("", "pw"): "pathless",
    ("/s", "a:b"): "colons",
    ("/t", "pw"): "other-path",
}


@pytest.fixture(autouse=True)
def _no_secrets_left() -> Iterator[None]:
    yield
    redaction.forget_secrets()


@pytest.mark.parametrize(
    ("value", "provider", "path", "key"),
    [
        ("${file:/a:b}", "file", "/a", "b"),
        ("${env:HOME}", "env", "", "HOME"),
        ("${file::k}", "file", "", "k"),
        ("${file:/a:b:c}", "file", "/a", "b:c"),
        ("${:k}", "", "", "k"),
        ("${file:/a:}", "file", "/a", ""),
        ("${a${b:c}", "a${b", "", "c"),
        ("${file:/a\n/b:k}", "file", "/a\n/b", "k"),
    ],
)
def test_a_reference_has_two_or_three_parts(value: str, provider: str, path: str, key: str) -> None:
    assert list(resolving.references(value)) == [Reference(value, provider, path, key)]
    assert resolving.has_reference(f"x{value}y")


@pytest.mark.parametrize("value", ["", "${nothing}", "$file:/a:b", "${file:/a", "$ {a:b}", None])
def test_anything_else_is_plain_text(value: str | None) -> None:
    assert not resolving.has_reference(value)
    assert list(resolving.references(value or "")) == []


@virtual
async def test_each_reference_is_replaced_once() -> None:
    resolve = providers.resolver(file=ProbeProvider(SECRETS))
    resolution = await resolve(
        {
            "plain": "as it is",
            "one": "${file:/s:pw}",
            "many": "<${file:/s:pw}|${file:pw}|${file:/t:pw}|${file:/s:a:b}>",
            "nothing": "${file:/s:empty}",
            "nested": "${file:/s:again}",
        }
    )
    assert resolution.config == {
        "plain": "as it is",
        "one": "hunter2",
        "many": "<hunter2|pathless|other-path|colons>",
        "nothing": "",
        "nested": "${file:/s:pw}",
    }
    assert {name for name in resolution.raw if resolution.is_replaced(name)} == {
        "one",
        "many",
        "nothing",
        "nested",
    }


@virtual
async def test_what_nobody_knows_stays_as_it_is() -> None:
    resolve = providers.resolver(file=ProbeProvider(SECRETS))
    raw = {"a": "${vault:x:pw}", "b": "${file:/s:missing} ${file:/nowhere:pw}", "c": "${x}"}
    resolution = await resolve(raw)
    assert resolution.config == raw
    assert not any(map(resolution.is_replaced, raw))


@virtual
async def test_a_path_is_asked_for_once_and_an_unknown_provider_never() -> None:
    probe, other = ProbeProvider(SECRETS), ProbeProvider()
    resolve = providers.resolver(file=probe, other=other)
    await resolve({"a": "${file:/s:pw} ${file:/s:empty}", "b": "${file:/s:pw}", "c": "${x:/s:pw}"})
    assert probe.calls == ["/s"]
    assert other.calls == []


@virtual
async def test_a_value_is_hidden_from_then_on() -> None:
    resolve = providers.resolver(
        file=ProbeProvider({("", "k"): "  a-secret\n", ("", "t"): "true", ("", "i"): "json-value"})
    )
    await resolve({"a": "x${file:k}", "b": "${file:t}"})
    assert redaction.redact_text("a-secret, true, json-value") == "[hidden], true, json-value"


@virtual
async def test_the_life_time_of_values_is_told() -> None:
    resolve = providers.resolver(
        a=ProbeProvider(SECRETS, ttl_ms=5_000),
        b=ProbeProvider(SECRETS),
        c=ProbeProvider(SECRETS, ttl_ms=-1),
        d=ProbeProvider(SECRETS, ttl_ms=0),
    )
    config = {each: f"${{{each}:/s:pw}}" for each in "abcd"} | {"a2": "${a:pw}"}
    assert (await resolve(config)).ttls_ms == {("a", "/s"): 5_000, ("a", ""): 5_000, ("d", "/s"): 0}


@virtual
async def test_an_error_of_a_provider_is_that_of_the_config() -> None:
    resolve = providers.resolver(file=ProbeProvider(errors={"/s": ConfigError("no such file")}))
    with pytest.raises(ConfigError, match="no such file"):
        await resolve({"a": "${file:/s:pw}"})
    assert (await resolve({"a": "${file:/t:pw}"})).config == {"a": "${file:/t:pw}"}


# --- hiding again -------------------------------------------------------------------------------


def _resolution(**values: str) -> Resolution:
    return Resolution({}, {}, {f"${{p:{key}}}": value for key, value in values.items()})


def test_values_in_a_text_become_references_again() -> None:
    resolution = _resolution(long="hunter2-and-more", short="hunter2", list="red, green ,blue")
    assert resolution.conceal("hunter2-and-more hunter2 [red, green, blue] green") == (
        "${p:long} ${p:short} [${p:list}] ${p:list}"
    )


def test_a_value_with_blanks_around_is_met_trimmed_too() -> None:
    assert _resolution(k=" token\n").conceal("<token> < token\n>") == "<${p:k}> <${p:k}>"


def test_a_short_value_is_replaced_where_it_is_named_as_one() -> None:
    resolution = _resolution(n="0", empty="")
    text = "Invalid value 0 for configuration tasks.max: Value must be at least 1, not 0"
    assert resolution.conceal(text) == (
        "Invalid value ${p:n} for configuration tasks.max: Value must be at least 1, not 0"
    )


def test_a_reference_is_not_looked_at_again() -> None:
    resolution = Resolution({}, {}, {"${file:/etc/secret:k}": "value-1", "${x:y}": "file"})
    assert resolution.conceal("value-1") == "${file:/etc/secret:k}"


@given(
    st.dictionaries(st.text("abc", min_size=1), st.text("xyz ,\n", min_size=4), max_size=4),
    st.text("wxyz ,\n"),
)
def test_no_value_survives(values: dict[str, str], around: str) -> None:
    resolution = _resolution(**values)
    for value in values.values():
        shown = resolution.conceal(f"{around}{value}{around}")
        assert value.strip() not in shown or len(value.strip()) < 4 or value.strip() in around
