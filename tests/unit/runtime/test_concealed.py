"""What comes from config providers is in no answer, wherever it would stand (field case X01)."""

from __future__ import annotations

import json

from connectd.plugins.resolving import Resolution
from connectd.runtime.validation import concealed

REFERENCE = "${file:/s:alias}"
SECRET = "hunter2-alias"


def test_an_alias_from_a_provider_is_shown_as_its_reference() -> None:
    raw = {"connector.class": "X", "transforms": REFERENCE}
    resolution = Resolution(
        raw, {**raw, "transforms": SECRET}, values={REFERENCE: SECRET}, ttls_ms={}
    )
    infos = {
        "name": "X",
        "error_count": 1,
        "groups": ["Common", f"Transforms: {SECRET}"],
        "configs": [
            {
                "definition": {
                    "name": f"transforms.{SECRET}.type",
                    "documentation": f"Class of the transformation '{SECRET}'.",
                    "order_in_group": 0,
                },
                "value": {
                    "name": f"transforms.{SECRET}.type",
                    "value": None,
                    "errors": [f"Missing transforms.{SECRET}.type"],
                    "visible": True,
                },
            }
        ],
    }
    shown = concealed(infos, resolution)
    assert SECRET not in json.dumps(shown)
    assert shown["groups"] == ["Common", f"Transforms: {REFERENCE}"]
    assert shown["error_count"] == 1
    assert concealed(infos, Resolution(raw, raw)) is infos
