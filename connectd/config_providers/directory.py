"""``DirectoryConfigProvider``: the path is a directory, the keys are its files.

That is how Kubernetes mounts secrets. A value is the whole content of its file, a newline at the
end included.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import ClassVar, Final

import structlog

from connectd.config_providers.allowed_paths import AllowedPaths
from connectd.errors import ConfigError
from connectd.plugins.spi import ProvidedValues

FILE_BYTES_MAX: Final = 1_048_576  # what Kubernetes allows for a whole Secret

_NOTHING: Final = ProvidedValues({})
_log = structlog.get_logger(__name__)


class DirectoryConfigProvider:
    """Values that are whole files (``spi.ConfigProvider``).

    Anything but a regular file (or a link to one) is not seen, nor what is further below.
    """

    class_name: ClassVar = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"

    def __init__(self, allowed: AllowedPaths) -> None:
        self._allowed = allowed

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> DirectoryConfigProvider:
        """``allowed.paths``: comma-separated; not set: every directory of the machine.

        Raises:
            ConfigError: a path is not absolute or does not exist.
        """
        return cls(AllowedPaths(params))

    def get(self, path: str, keys: Collection[str]) -> ProvidedValues:
        """The contents of the files of that name, as UTF-8.

        Raises:
            ConfigError: the directory or a file cannot be read, in Kafka's words, or a file is
                larger than ``FILE_BYTES_MAX``.
        """
        allowed = self._allowed.resolve(path) if path else None
        if allowed is None:
            return _NOTHING
        directory = Path(allowed)
        try:
            if not directory.is_dir():
                _log.warning("config provider: the path is not a directory", path=path)
                return _NOTHING
            present = [key for key in keys if _is_plain(key) and (directory / key).is_file()]
        except OSError as error:
            raise ConfigError(f"Could not list directory {path}") from error
        return ProvidedValues({key: _content(directory / key) for key in present})


def _is_plain(name: str) -> bool:
    return name not in ("", ".", "..") and not {"/", "\0"} & set(name)


def _content(path: Path) -> str:
    could_not = f"Could not read file {path} for property {path.name}"
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigError(could_not) from error
    if len(raw) > FILE_BYTES_MAX:
        raise ConfigError(f"{could_not}: it is larger than {FILE_BYTES_MAX} bytes")
    return raw.decode("utf-8", errors="replace")
