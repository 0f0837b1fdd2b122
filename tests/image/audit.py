"""What can be said of the dependencies without a database of vulnerabilities.

``python -m tests.image.audit sbom.cdx.json`` reads a bill of materials of an image
(``tests.image.building --sbom``) and lists distributions, versions and licences; it ends with 1
where one is not pinned by the lock, is not of the pinned version, or has a licence that nobody has
agreed to. Known vulnerabilities are the business of pip-audit (docs/kubernetes.md), which needs the
network.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.image.locks import LOCKED

AGREED: Final = frozenset(
    {
        "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CNRI-Python", "MIT", "MIT-0", "MPL-2.0",
        "PSF-2.0", "Python-2.0",
    }
)  # fmt: skip
"""Licences that let everybody use, change and pass on what we ship, by SPDX's names."""

CLASSIFIERS: Final[Mapping[str, str]] = {
    # Names that stand for more than one licence of SPDX, all of which are agreed to.
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}

SAID_ELSEWHERE: Final[Mapping[str, str]] = {
    "protobuf": "BSD-3-Clause",  # "3-Clause BSD License" in words of its own
}
"""Licences of distributions whose metadata say none that can be read by a program."""

_HASHED: Final = re.compile(r"--hash=sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Component:
    """One distribution of an image."""

    name: str
    version: str
    licences: frozenset[str]


def components(sbom: Mapping[str, Any]) -> list[Component]:
    """The distributions of a bill of materials."""
    return [
        Component(
            canonicalize_name(each["name"]),
            each["version"],
            frozenset(_licences(each.get("licenses") or [])),
        )
        for each in sbom["components"]
    ]


def pins(lock: Path) -> dict[str, str]:
    """The versions of a lock that count on this machine.

    Raises:
        ValueError: an entry is not pinned to one version, or has no hashes.
    """
    found: dict[str, str] = {}
    for entry in lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if not entry or entry.startswith("#"):
            continue
        requirement = Requirement(entry.partition("--hash")[0])
        exact = [each.version for each in requirement.specifier if each.operator == "=="]
        if len(exact) != 1 or not _HASHED.search(entry):
            raise ValueError(f"{lock.name}: {requirement} is not pinned to one version with hashes")
        if requirement.marker is None or requirement.marker.evaluate():
            found[canonicalize_name(requirement.name)] = exact[0]
    return found


def problems(sbom: Mapping[str, Any], lock: Path) -> list[str]:
    """What is wrong with an image that was built from a lock."""
    pinned = pins(lock)
    there = components(sbom)
    versions = {each.name: each.version for each in there}
    found = [
        f"{name}: the lock says {pinned.get(name)}, the image has {versions.get(name)}"
        for name in sorted(pinned.keys() | versions.keys())
        if pinned.get(name) != versions.get(name)
    ]
    for each in there:
        licences = each.licences or {SAID_ELSEWHERE.get(each.name, "none that is known")}
        found += [f"{each.name}: the licence is {one}" for one in sorted(licences - AGREED)]
    return found


def _licences(entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        if "expression" in entry:
            yield from re.findall(
                r"[\w.+-]+", re.sub(r"\b(AND|OR|WITH)\b", " ", entry["expression"])
            )
        else:
            said = entry["license"].get("id") or entry["license"].get("name", "")
            yield CLASSIFIERS.get(said, said)


def main(arguments: list[str]) -> int:
    """Print what is in a bill of materials, and what is wrong with it."""
    if len(arguments) != 1:
        print("usage: python -m tests.image.audit sbom.cdx.json", file=sys.stderr)
        return 2
    sbom = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    there = components(sbom)
    for each in there:
        licences = each.licences or {SAID_ELSEWHERE.get(each.name, "?")}
        print(f"{each.name:45} {each.version:18} {', '.join(sorted(licences))}")
    has_spark = any(each.name == "pyspark" for each in there)
    found = problems(sbom, LOCKED / ("spark.txt" if has_spark else "worker.txt"))
    for problem in found:
        print(problem, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
