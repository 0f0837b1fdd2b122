"""Builds a target of the Dockerfile without an engine: its instructions, below a directory.

``/opt``, ``/etc``, ``/src`` and ``/wheels`` of the image are directories below ``root``, also where
commands name them; ``python`` is the Python of these tests, with nothing but its standard library.
What comes from a base image (a Java) is not there. All stages share the root, so a COPY from one to
another has nothing to do, which is asserted.

For people: ``python -m tests.image.building spark`` builds a target in a temporary directory, and
says how long that took; ``--sbom FILE`` keeps its bill of materials.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.harness.client_env import environment
from tests.image import dockerfile
from tests.image.dockerfile import Dockerfile, Instruction
from tests.image.locks import ROOT

RUN_DEADLINE_S: Final = 600.0

_PLACES: Final = re.compile(r"(?<![\w.$}/])/(?=(?:opt|etc|src|wheels(?:-spark)?)(?:/|\b))")
_LEFT_OUT: Final = ("PIP_NO_CACHE_DIR", "PYTHONDONTWRITEBYTECODE")
"""Variables of the image: here, what is fetched and compiled is kept for the next time."""

_ADDED: Final = {"PIP_NO_COMPILE": "0"}  # pip reads it as the value of "compile"
"""Modules are compiled when they are loaded; all of them would take as long as all the rest."""

BASE_PYTHON: Final = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"

SBOM: Final = "opt/connectd/sbom.cdx.json"

BASE_FILES: Final = {"etc/passwd": "root:x:0:0:root:/root:/bin/bash\n", "etc/group": "root:x:0:\n"}


class Build:
    """One root, and the targets that were built in it."""

    def __init__(self, root: Path, file: Dockerfile) -> None:
        self.root = root
        self._file = file
        self._done: set[str] = set()
        self.ran: list[str] = []
        python = root / "usr" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to(BASE_PYTHON)
        for name, text in BASE_FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)

    def place(self, text: str) -> str:
        """A path of the image, or a command with some, as it is here."""
        return _PLACES.sub(f"{self.root}/", text)

    def environ(self, target: str) -> dict[str, str]:
        """The variables that a process of the target has."""
        found = {**environment(), "PATH": f"{self.root}/usr/bin:/usr/bin:/bin"}
        for each in self._file.instructions(target):
            if each.word == "ENV":
                for name, text in each.pairs.items():
                    found[name] = self.place(text).replace("$PATH", found["PATH"])
        return {name: text for name, text in found.items() if name not in _LEFT_OUT} | _ADDED

    def make(self, target: str) -> None:
        """Carry out what makes a target, and first what it copies from."""
        for stage in self._file.line_of(target):
            if stage.name in self._done:
                continue
            self._done.add(stage.name)
            directory = self.root / "start"
            directory.mkdir(exist_ok=True)
            for each in self._file.line_of(stage.name):
                for instruction in each.instructions:
                    if instruction.word == "WORKDIR":
                        directory = Path(self.place(instruction.text))
                        directory.mkdir(parents=True, exist_ok=True)
                    elif each is stage:
                        self._carry_out(instruction, directory, stage.name)

    def run(self, target: str, *command: str) -> subprocess.CompletedProcess[str]:
        """A program of the target, to its end."""
        environ = self.environ(target)
        program = shutil.which(command[0], path=environ["PATH"]) or command[0]
        return subprocess.run(
            [program, *command[1:]],
            env=environ,
            cwd=self.root,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=RUN_DEADLINE_S,
        )

    def _carry_out(self, instruction: Instruction, directory: Path, stage: str) -> None:
        if instruction.word == "RUN":
            self._run_line(instruction.text, directory, stage)
        elif instruction.word == "COPY":
            self._copy(instruction, directory)

    def _run_line(self, text: str, directory: Path, stage: str) -> None:
        ended = subprocess.run(
            ["/bin/sh", "-c", self.place(text)],
            cwd=directory,
            env=self.environ(stage),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=RUN_DEADLINE_S,
        )
        if ended.returncode != 0:
            raise RuntimeError(f"RUN {text}\nends with {ended.returncode}:\n{ended.stdout[-4000:]}")
        self.ran.append(text)

    def _copy(self, instruction: Instruction, directory: Path) -> None:
        stage, sources, destination = instruction.copied
        if stage is not None:
            assert sources == [destination], "stages share a root here"
            if _is_built_here(self._file, stage):
                self.make(stage)
            return
        for source in sources:
            to = directory / self.place(destination)
            if destination.endswith("/"):
                to /= Path(source).name
            for file in _files(source):
                place = to / file.relative_to(ROOT / source)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)


def _is_built_here(file: Dockerfile, stage: str) -> bool:
    return bool(file.instructions(stage))  # one without any only names a base image


def _files(source: str) -> Iterator[Path]:
    """The files of a source of COPY that are part of the context."""
    path = ROOT / source
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        if file.is_file() and dockerfile.is_sent(file.relative_to(ROOT).as_posix()):
            yield file


def main() -> int:
    """Build targets."""
    parser = argparse.ArgumentParser(prog="python -m tests.image.building")
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--sbom", type=Path, help="where to keep the bill of materials")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="connectd-image-") as directory:
        build = Build(Path(directory), dockerfile.read())
        for target in options.targets:
            started = time.monotonic()
            build.make(target)
            print(f"{target}: {time.monotonic() - started:.0f} s")
            print(build.run(target, "connectd", "--version").stdout, end="")
        if options.sbom is not None:
            shutil.copyfile(build.root / SBOM, options.sbom)
    return 0


if __name__ == "__main__":
    sys.exit(main())
