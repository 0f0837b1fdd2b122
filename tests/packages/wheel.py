"""Builds a wheel from a few files, without a build backend, and installs it with pip.

A wheel is an archive of the modules and of a directory that describes them; pip needs no network
for one that lies here. So tests install a real package in a second, wherever they run.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_INSTALL_DEADLINE_S = 120.0


def install(files: Mapping[str, str], *, into: Path, work: Path) -> None:
    """Install the package of these files (paths to texts) into a directory for ``PYTHONPATH``.

    ``pyproject.toml`` among them says its name, version and entry points; ``work`` is a directory
    for what is made on the way.
    """
    project = tomllib.loads(files["pyproject.toml"])["project"]
    wheel = work / f"{project['name'].replace('-', '_')}-{project['version']}-py3-none-any.whl"
    _write(wheel, project, {name: text for name, text in files.items() if name.endswith(".py")})
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "--no-deps", "--no-index", "--target", str(into), str(wheel)],
        check=True,
        timeout=_INSTALL_DEADLINE_S,
        stdin=subprocess.DEVNULL,
    )


def _write(wheel: Path, project: Mapping[str, Any], modules: Mapping[str, str]) -> None:
    info = wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"
    entry_points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project.get("entry-points", {}).items()
    )
    members = {
        **modules,
        **{f"{package}/__init__.py": "" for package in _packages(modules)},
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        ),
        f"{info}/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: connectd-tests\nRoot-Is-Purelib: true\n"
            "Tag: py3-none-any\n"
        ),
        f"{info}/entry_points.txt": entry_points,
    }
    record = "".join(f"{name},,\n" for name in (*members, f"{info}/RECORD"))
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**members, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)


def _packages(modules: Mapping[str, str]) -> set[str]:
    return {name.rpartition("/")[0] for name in modules if "/" in name}
