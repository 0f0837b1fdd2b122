"""What connectd makes of a pattern of Java, in the form of ``Vectors.java``."""

from __future__ import annotations

import functools
from typing import Any

from connectd.errors import TransformError
from connectd.model import java_regex

Json = Any

_compiled = functools.lru_cache(maxsize=2)(java_regex.compiled)  # its cases come one by one


def answer(case: Json) -> Json:
    """Where it matches, or what its groups hold; ``message`` says why it can differ."""
    try:
        pattern = _compiled(case["pattern"])
    except java_regex.UnsupportedPatternError as error:
        return {"error": "UnsupportedPatternError", "message": str(error)}
    except java_regex.InvalidPatternError:
        return {"error": "InvalidPatternError", "message": "no pattern"}
    if case["kind"] == "pattern.matches":
        return {"answers": [_place(pattern, text) for text in case["texts"]]}
    answers = [_groups(pattern, case["replacement"], text) for text in case["texts"]]
    if pattern.uncertain_groups:
        return {"answers": answers, "message": "groups of which Java may keep something else"}
    return {"answers": answers}


def _place(pattern: java_regex.Pattern, text: str) -> Json:
    whole = java_regex.fullmatch(pattern, text) is not None
    found = java_regex.search(pattern, text)
    if found is None:
        return {"whole": whole}
    return {"whole": whole, "before": text[: found.start()], "found": found[0]}


def _groups(pattern: java_regex.Pattern, replacement: str, text: str) -> Json:
    made: Json = {}
    whole = java_regex.fullmatch(pattern, text)
    if whole is not None:
        made["groups"] = list(whole.groups())
    try:
        made["replaced"] = java_regex.with_first_replaced(pattern, replacement, text)
    except TransformError as error:
        made["failed"] = str(error)
    return made
