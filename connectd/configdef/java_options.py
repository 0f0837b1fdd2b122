"""Options of the JVMs that Spark starts: what may be on a command line, and what goes by a file.

Every user of a machine reads the command lines of all. For the driver's JVM nothing of what the
user has set stands there: ``argument_files`` makes files of it that ``java`` reads itself (JDK's
"java Command-Line Argument Files"). Executors are started elsewhere, so what is meant for them is
refused where it looks like a secret (``exposure``). Pure.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence
from typing import Final

from connectd.observe.redaction import is_secret_name

DRIVER: Final = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
"""For the JVM on the worker's machine, in the order in which Spark puts them together."""

ELSEWHERE: Final = (
    "spark.executor.defaultJavaOptions",
    "spark.executor.extraJavaOptions",
    "spark.yarn.am.extraJavaOptions",
)
"""For JVMs that are started on other machines."""

_NAME: Final = re.compile(r"(?:-D)?([\w.\-]+)\s*[=:](?=\s*\S)")
"""A name that is given a value: of a -D, of an agent's option, of an -XX flag."""

_PART: Final = re.compile(
    r"(?:^|[._\-])(?:pwd?|pass|pin|auth(?=$)|bearer|license|licence|key|keys|cred|creds)(?=$|[._\-])"
    r"|credential|bearer|apikey|pwd",
    re.IGNORECASE,
)
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IN_URL: Final = re.compile(r"//[^/\s:@]+:[^/\s@]+@")


def problem(text: str) -> str:
    """Why Spark could not start a JVM with these options; "" when it could."""
    try:
        options = split(text)
    except ValueError:
        return "has a quote that is not closed"
    if any(option.startswith("-Xmx") for option in options):
        return (
            "sets -Xmx, which Spark does not allow there; set spark.driver.memory or "
            "spark.executor.memory"
        )
    return ""


def exposure(text: str) -> str:
    """The name of the first thing in options that looks like a secret; "": there is none.

    Looked at are all names that are given a value, by ``=`` or ``:``, wherever in an option, and
    addresses with a login.
    """
    if _IN_URL.search(text):
        return "an address with a password"
    return next(filter(_is_exposing, _NAME.findall(text)), "")


def split(text: str) -> list[str]:
    """The options of a text, as the launcher of Spark takes it apart.

    Raises:
        ValueError: a quote is not closed.
    """
    return shlex.split(text)


def argument_files(options: Sequence[str]) -> list[str]:
    """Each an ``@file`` that the options have themselves, or the content of one to be written.

    ``java`` does not look for ``@file`` inside of another one, and the last of two options wins, so
    they stay apart and in order. A content ends with an end of line, an ``@file`` does not.
    """
    made = []
    for is_file, group in itertools.groupby(options, _is_file):
        each = list(group)
        made += each if is_file else ["".join(f"{_quoted(option)}\n" for option in each)]
    return made


def _is_file(option: str) -> bool:
    return option.startswith("@") and not option.startswith("@@")


def _is_exposing(name: str) -> bool:
    return is_secret_name(name) or _PART.search(_CAPITAL.sub(".", name)) is not None


def _quoted(option: str) -> str:
    text = option.removeprefix("@") if option.startswith("@@") else option
    for character, spelling in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(character, spelling)
    return f'"{text}"'
