"""Keeps secrets out of text that leaves the process (DESIGN promise 8).

Rules, applied to every log line: the value of a field with a secret-looking name is hidden; so are
a ``name=value`` pair or an XML element with such a name inside a text, and the login inside a URL;
and every string that was handed to ``register_secret`` is hidden wherever it occurs, exception
texts included.

State: the registered secrets of this process, owned by this module, at most ``SECRETS_MAX``. What a
line shows is bounded as well: length of texts, depth and size of containers.
"""

from __future__ import annotations

import functools
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote, unquote

HIDDEN: Final = "[hidden]"
"""What stands for a secret in every text."""

SECRETS_MAX: Final = 2_000  # spellings; a few per connector; beyond it the oldest is forgotten
SECRET_LENGTH_MIN: Final = 4  # a shorter one matches by chance and would shred every line
NAMES_MAX: Final = 4_096  # whose judgement is kept: the same few fields are asked about for ever
TEXT_LENGTH_MAX: Final = 32_768  # characters; a deep Python trace has about 10,000
ENTRIES_MAX: Final = 200
DEPTH_MAX: Final = 6

_SENSITIVE: Final = (
    r"pass(?:word|wd|phrase)|pwd|secret|token|jaas|authorization|(?<!oauth)bearer|"
    r"credentials?(?!s?[._-](?:provider|file|client))|"
    r"(?:api|access|private|session|keystore|account|licen[sc]e)[._-]?key"
)
_SECRET_NAME: Final = re.compile(_SENSITIVE, re.IGNORECASE)
_PAIR: Final = re.compile(
    rf"""(?P<name>(?:{_SENSITIVE})[\w.\-]{{0,64}})
    (?:
      (?P<assign>["']?\s*=\s*) (?: "[^"]*" | '[^']*' | [^\s,;&)}}\]]+ )
    | (?P<colon>["']?\s*:\s*) (?: "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_ELEMENT: Final = re.compile(rf"<(\w*(?:{_SENSITIVE})\w*)>[^<]{{1,8192}}</", re.IGNORECASE)
_PASSWORD_INSIDE: Final = re.compile(r"""\bpassword\s*=\s*["']?([^"';\s]+)""")

_URL_LOGIN: Final = re.compile(r"""(?<=://)[^\s/?\#@"'<>]{1,512}@""")
_URL_PASSWORD: Final = re.compile(r"""://[^\s/?\#@:"'<>]*:([^\s/?\#@"'<>]{1,512})@""")

_changing = threading.Lock()
_secrets: dict[str, None] = {}
_longest_first: tuple[str, ...] | None = ()


@functools.lru_cache(NAMES_MAX)
def is_secret_name(name: str) -> bool:
    """Whether a key or field of that name is likely to hold a secret."""
    return _SECRET_NAME.search(name) is not None


def url_passwords(text: str) -> list[str]:
    """The passwords of URLs in a text, as they are spelt and as they are meant (``p%40ss``)."""
    found = _URL_PASSWORD.findall(text) if "://" in text else []
    return [spelling for each in found for spelling in dict.fromkeys((each, unquote(each)))]


def without_url_logins(text: str) -> str:
    """The text, users and passwords of its URLs hidden."""
    return _URL_LOGIN.sub(f"{HIDDEN}@", text) if "://" in text else text


def register_secret(text: str) -> None:
    """Hide this string in every line from now on, as it is and as JSON and URLs spell it.

    So are passwords inside of it, as in the text of a JAAS login. Strings shorter than
    ``SECRET_LENGTH_MIN`` are not registered.
    """
    with _changing:
        for secret in (text, *_PASSWORD_INSIDE.findall(text)):
            if len(secret) < SECRET_LENGTH_MIN:
                continue
            for spelling in _spellings(secret):
                _secrets.pop(spelling, None)
                _secrets[spelling] = None
        while len(_secrets) > SECRETS_MAX:
            del _secrets[next(iter(_secrets))]
        _order_anew()


class PassingSecrets:
    """Secrets that come again and again, as the keys of a role do: the newest sets are hidden.

    Registered one by one they would push those that stay out of the list. Safe in any thread.
    """

    _SETS_KEPT: Final = 2  # what is under way may still speak of the set before

    def __init__(self) -> None:
        self._sets: list[tuple[str, ...]] = []

    def replace(self, secrets: Iterable[str]) -> None:
        """Hide these from now on, and forget the set before the last."""
        newest = tuple(secrets)
        if self._sets and self._sets[-1] == newest:
            return
        for secret in newest:
            register_secret(secret)
        self._sets.append(newest)
        with _changing:
            while len(self._sets) > self._SETS_KEPT:
                gone = set(self._sets.pop(0)).difference(*self._sets)
                for spelling in (each for secret in gone for each in _spellings(secret)):
                    _secrets.pop(spelling, None)
            _order_anew()


def _spellings(secret: str) -> set[str]:
    plain = json.dumps(secret)[1:-1]
    return {secret, plain, repr(secret)[1:-1], quote(secret, safe="")}


def secrets_in(texts: Iterable[str]) -> list[str]:
    """The registered strings that occur in any of these texts: for another process to register."""
    everything = "\n".join(texts)
    return [secret for secret in _secrets_longest_first() if secret in everything]


def forget_secrets() -> None:
    """Forget every registered string: the end of a process, or of a test."""
    _secrets.clear()
    _order_anew()


@contextmanager
def forgetting() -> Iterator[None]:
    """Forget at the end what was registered within; what was known before stays known."""
    with _changing:
        before = _secrets.copy()
    try:
        yield
    finally:
        with _changing:
            _secrets.clear()
            _secrets.update(before)
            _order_anew()


def redact_text(text: str) -> str:
    """The text without secrets; a longer one than ``TEXT_LENGTH_MAX`` keeps its two ends."""
    for secret in _secrets_longest_first():
        if secret in text:
            text = text.replace(secret, HIDDEN)
    text = without_url_logins(_PAIR.sub(_hide_pair, text))
    if "</" in text:
        text = _ELEMENT.sub(rf"<\1>{HIDDEN}</", text)
    if len(text) > TEXT_LENGTH_MAX:
        head, tail = TEXT_LENGTH_MAX // 4, TEXT_LENGTH_MAX * 3 // 4  # a trace says most at its end
        text = f"{text[:head]}… ({len(text) - head - tail} characters left out) …{text[-tail:]}"
    return text


def redact_field(name: str, value: object) -> object:
    """A field's value, ready to be rendered: JSON types only, without secrets."""
    if value is not None and not isinstance(value, bool) and is_secret_name(name):
        return HIDDEN
    return _redact(value, DEPTH_MAX)


def _redact(value: object, depth: int) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return redact_text(str(value))
    if isinstance(value, Mapping) and depth > 0:
        members = {
            str(key): HIDDEN if is_secret_name(str(key)) else _redact(member, depth - 1)
            for key, member in list(value.items())[:ENTRIES_MAX]
        }
        if len(value) > ENTRIES_MAX:
            members["…"] = f"{len(value) - ENTRIES_MAX} more"
        return members
    if isinstance(value, list | tuple | set | frozenset) and depth > 0:
        entries = [_redact(entry, depth - 1) for entry in list(value)[:ENTRIES_MAX]]
        if len(value) > ENTRIES_MAX:
            entries.append(f"… {len(value) - ENTRIES_MAX} more")
        return entries
    if isinstance(value, BaseException):
        return redact_text(f"{type(value).__name__}: {value}")
    return redact_text(str(value))


def _hide_pair(match: re.Match[str]) -> str:
    return f"{match['name']}{match['assign'] or match['colon']}{HIDDEN}"


def _order_anew() -> None:
    global _longest_first
    _longest_first = None


def _secrets_longest_first() -> tuple[str, ...]:
    """A secret that contains another one goes first, or its rest would stay."""
    global _longest_first
    if _longest_first is None:
        _longest_first = tuple(sorted(_secrets.copy(), key=len, reverse=True))
    return _longest_first
