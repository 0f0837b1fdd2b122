"""Builds the compiled tier of the direct path into wheels, where that can be done.

Hatchling calls this for every wheel. With Cython and a C compiler at hand the wheel gets the
extension, and the tag of its platform; without, it is the pure wheel that it would be anyway, and a
warning says what was missing. An editable install gets the extension beside its source.

``python hatch_build.py .`` builds it there by hand; any other directory gets it below its package's
directories, and further arguments are flags for the compiler.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT: Final = Path(__file__).resolve().parent
EXTENSION: Final = "connectd.connectors.dynamodb.page_scanner"
SOURCE: Final = ROOT / (EXTENSION.replace(".", "/") + ".pyx")


def build_extension(directory: Path, flags: Sequence[str] = ()) -> Path:
    """Compile for a directory of packages, with further flags for compiler and linker.

    Returns the file; raises whatever Cython, the compiler or their absence raise.
    """
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory(prefix="connectd-build-") as work:
        extension = Extension(
            EXTENSION,
            [str(SOURCE)],
            extra_compile_args=["-O3", "-g0", *flags],
            extra_link_args=list(flags),
        )
        modules = cythonize(  # type: ignore[no-untyped-call]
            [extension], build_dir=work, quiet=True
        )
        command = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
        command.build_lib = str(directory)
        command.build_temp = work
        command.ensure_finalized()
        command.run()
        return Path(command.get_outputs()[0])


class ExtensionHook(BuildHookInterface[Any]):
    """See the module's docstring."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is put together; ``version`` is "standard" or "editable"."""
        self._work = tempfile.TemporaryDirectory(prefix="connectd-wheel-")
        is_editable = version == "editable"
        try:
            built = build_extension(ROOT if is_editable else Path(self._work.name))
        except Exception as error:  # optional, whatever is missing or wrong here
            self.app.display_warning(
                f"the compiled tier is left out, the portable one does its work: {error}"
            )
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if not is_editable:
            place = SOURCE.relative_to(ROOT).with_name(built.name)
            build_data["force_include"][str(built)] = place.as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is there."""
        self._work.cleanup()


if __name__ == "__main__":
    build_extension(Path(sys.argv[1]), sys.argv[2:])
