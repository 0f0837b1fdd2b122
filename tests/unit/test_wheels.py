"""What ``pip install`` makes of the repository: with a C compiler, and without one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_DEADLINE_S = 180.0
_EXTENSION = re.compile(r"connectd/connectors/dynamodb/page_scanner\..*\.(so|pyd)")


def _wheel(into: Path, environ: Mapping[str, str]) -> tuple[str, list[str]]:
    """Name and content of the wheel that is built with these further variables."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", str(into), str(ROOT)],
        check=True,
        env={**os.environ, **environ},
        timeout=_DEADLINE_S,
        stdin=subprocess.DEVNULL,
    )
    (wheel,) = into.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return wheel.name, archive.namelist()


def _extensions(names: list[str]) -> list[str]:
    return [name for name in names if name.endswith((".so", ".pyd"))]


def test_without_a_compiler_the_wheel_is_pure(tmp_path: Path) -> None:
    name, content = _wheel(tmp_path, {"CC": str(tmp_path / "no-such-compiler")})
    assert name.endswith("-py3-none-any.whl")
    assert _extensions(content) == []
    assert "connectd/connectors/dynamodb/tiers.py" in content


if shutil.which("gcc"):

    def test_with_a_compiler_the_wheel_has_the_extension_and_says_for_whom(
        tmp_path: Path,
    ) -> None:
        name, content = _wheel(tmp_path, {})
        version = f"cp{sys.version_info.major}{sys.version_info.minor}"
        assert f"-{version}-{version}-" in name
        (extension,) = _extensions(content)
        assert _EXTENSION.fullmatch(extension)
        assert "connectd/connectors/dynamodb/page_scanner.pyi" in content
