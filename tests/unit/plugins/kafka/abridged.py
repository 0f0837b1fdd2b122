"""Answers in the form of the recordings: without documentation, and only what is special.

The answer to the good config is kept whole; of the others, the names in their order, and those
entries that are not as in the good one, without what they share with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

_LIST_MAX: Final = 3


def without_documentation(key: Mapping[str, Any]) -> dict[str, Any]:
    """A ConfigKeyInfo without its text, which is in our own words here."""
    return {name: member for name, member in key.items() if name != "documentation"}


def plain(infos: Mapping[str, Any]) -> dict[str, Any]:
    """ConfigInfos without documentation."""
    return {
        **infos,
        "configs": [
            {
                "definition": each["definition"] and without_documentation(each["definition"]),
                "value": each["value"],
            }
            for each in infos["configs"]
        ],
    }


def abridged(infos: Mapping[str, Any], good: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a case, as it is recorded; both answers are ``plain``."""
    usual = {each["value"]["name"]: each for each in good["configs"]}
    return {
        "name": infos["name"],
        "error_count": infos["error_count"],
        "groups": infos["groups"],
        "names": _runs([each["value"]["name"] for each in infos["configs"]], list(usual)),
        "special": [
            _shortened(each, usual.get(each["value"]["name"]))
            for each in infos["configs"]
            if each != usual.get(each["value"]["name"])
        ],
    }


def _runs(names: list[str], usual: list[str]) -> list[str]:
    """Names that follow one another as they usually do are written as ``first .. last``."""
    follows = dict(pairwise(usual))
    runs: list[list[str]] = []
    for name in names:
        if runs and follows.get(runs[-1][-1]) == name:
            runs[-1].append(name)
        else:
            runs.append([name])
    return [run[0] if len(run) == 1 else f"{run[0]} .. {run[-1]}" for run in runs]


def _shortened(entry: Mapping[str, Any], usual: Mapping[str, Any] | None) -> dict[str, Any]:
    value = dict(entry["value"])
    recommended = value["recommended_values"]
    if len(recommended) > _LIST_MAX:
        value["recommended_values"] = [recommended[0], f"{len(recommended)} in all"]
    if usual is not None and entry["definition"] == usual["definition"]:
        return {"value": value}
    return {"definition": entry["definition"], "value": value}
