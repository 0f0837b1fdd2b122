"""Who may use the REST API: Basic authentication as the Java worker configures it (A.1.7).

The worker's file names an extension, and the file with users and passwords stands in a JAAS file
that a JVM option points to. Both are understood; ``connectd.rest.basic.auth.credentials.file``
names the file of users directly. Values only: ``rest.basic_auth`` reads the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from connectd.configdef.parsing import ParsedConfig
from connectd.errors import ConfigError

EXTENSION: Final = (
    "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
)
CREDENTIALS_FILE: Final = "connectd.rest.basic.auth.credentials.file"
PUBLIC_PATHS: Final = "connectd.rest.basic.auth.public.paths"
JAAS_FILE: Final = "java.security.auth.login.config"
JAAS_ENTRY: Final = "KafkaConnect"
_LOGIN_MODULE: Final = "PropertyFileLoginModule"

_JVM_OPTION: Final = re.compile(rf"-D{re.escape(JAAS_FILE)}=(?:\"([^\"]*)\"|'([^']*)'|(\S+))")
JVM_OPTION_VARIABLES: Final = ("KAFKA_OPTS", "JAVA_TOOL_OPTIONS")
"""Variables of the environment in which users of the Java worker name their JAAS file."""
_TOKEN: Final = re.compile(
    r"""(?P<gap> \s+ | //[^\n]* | \#[^\n]* | /\*.*?\*/ )
      | "(?P<text> (?:[^"\\]|\\.)* )"
      | (?P<sign> [{};=] )
      | (?P<word> [^\s{};="]+ )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class BasicAuthSettings:
    """Where users and passwords stand: in one of two files.

    ``public_paths`` are answered to everybody, for probes.
    """

    credentials_file: str | None
    jaas_file: str | None
    public_paths: frozenset[str]


def read(parsed: ParsedConfig, environ: Mapping[str, str]) -> BasicAuthSettings | None:
    """The settings of a worker; None: it asks nobody who they are.

    Raises:
        ConfigError: another extension is wanted, or nothing says who may come in.
    """
    extensions = parsed.strings("rest.extension.classes")
    others = [each for each in extensions if each not in (EXTENSION, EXTENSION.rpartition(".")[2])]
    if others:
        raise ConfigError(
            f"rest.extension.classes names {', '.join(others)}, but Java classes cannot be loaded "
            f"here. {EXTENSION} is understood and means Basic authentication; for anything else "
            "put a proxy in front of the worker and remove the class"
        )
    if not is_wanted(parsed):
        return None
    credentials_file = parsed.optional_string(CREDENTIALS_FILE) or None
    jaas_file = parsed.optional_string(JAAS_FILE) or _jvm_option(environ)
    if credentials_file is None and jaas_file is None:
        raise ConfigError(
            "rest.extension.classes asks for Basic authentication, but nothing says who may come "
            f"in; set {CREDENTIALS_FILE} to a file with lines of user=password, or {JAAS_FILE} "
            f"(also as -D{JAAS_FILE} in KAFKA_OPTS) to a JAAS file with an entry {JAAS_ENTRY}"
        )
    return BasicAuthSettings(
        credentials_file,
        None if credentials_file else jaas_file,
        frozenset(parsed.strings(PUBLIC_PATHS)),
    )


def is_wanted(parsed: ParsedConfig) -> bool:
    """Whether the worker is to ask who comes in."""
    return bool(
        parsed.strings("rest.extension.classes") or parsed.optional_string(CREDENTIALS_FILE)
    )


def _jvm_option(environ: Mapping[str, str]) -> str | None:
    for variable in JVM_OPTION_VARIABLES:
        found = _JVM_OPTION.search(environ.get(variable, ""))
        if found is not None:
            return next(each for each in found.groups() if each is not None)
    return None


def credentials_file_of(jaas_text: str, *, source: str) -> str:
    """The file of users that the entry ``KafkaConnect`` of a JAAS file names.

    Raises:
        ConfigError: it names none, or asks for another kind of login.
    """
    tokens = _tokens(jaas_text, source)
    for name in tokens:
        module, options = _entry(tokens, source)
        if name != JAAS_ENTRY:
            continue
        if not module.endswith(_LOGIN_MODULE):
            raise ConfigError(
                f"{source}: entry {JAAS_ENTRY} asks for {module}, which cannot be loaded here; "
                f"expected {_LOGIN_MODULE} with an option file"
            )
        if "file" not in options:
            raise ConfigError(
                f'{source}: entry {JAAS_ENTRY} has no option file, expected file="<path>" with '
                "lines of user=password in it"
            )
        return options["file"]
    raise ConfigError(f"{source} has no entry {JAAS_ENTRY}, expected one with {_LOGIN_MODULE}")


def _tokens(text: str, source: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            line = text.count("\n", 0, at) + 1
            raise ConfigError(f"{source}, line {line}: a quotation mark that is never closed")
        at = found.end()
        if found["gap"] is None:
            plain = found["sign"] or found["word"]
            yield re.sub(r"\\(.)", r"\1", found["text"]) if plain is None else plain


def _entry(tokens: Iterator[str], source: str) -> tuple[str, dict[str, str]]:
    """Module and options of the first login of an entry, which is read to its end."""
    words: list[str] = []
    for word in tokens:
        if word == "}":
            break
        words.append(word)
    else:
        raise ConfigError(f"{source} ends inside of an entry, expected a closing brace")
    if next(tokens, ";") != ";" or len(words) < 2 or words[0] != "{":
        raise ConfigError(f"{source} is no JAAS file, expected: {JAAS_ENTRY} {{ <module> … ; }};")
    module = words[1]
    login = words[2 : words.index(";")] if ";" in words else words[2:]
    options = {
        login[at - 1]: login[at + 1]
        for at, word in enumerate(login)
        if word == "=" and 0 < at < len(login) - 1
    }
    return module, options
