"""The reference has every key, with all that its declaration says."""

from __future__ import annotations

import re

from connectd.configdef import connector, reference, validators, worker_keys
from connectd.configdef.definition import ConfigDef, ConfigKey, ConfigType, Importance


def test_every_key_has_a_row() -> None:
    text = reference.render_reference(
        worker_keys.WORKER_DEF, [("Source connectors", connector.SOURCE_DEF)]
    )
    rows = re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)
    assert sorted(rows) == sorted([*worker_keys.WORKER_DEF.names(), *connector.SOURCE_DEF.names()])
    assert "## Source connectors" in text
    assert "### Internal topics" in text


def test_a_row_says_what_the_declaration_says() -> None:
    definition = ConfigDef(
        [
            ConfigKey(
                "k",
                ConfigType.INT,
                "Either | or,\nfor <name>.",
                Importance.HIGH,
                3,
                validator=validators.at_least(1),
                aliases=("old",),
            ),
            ConfigKey("r", ConfigType.STRING, "R.", Importance.LOW),
            ConfigKey("n", ConfigType.STRING, "N.", Importance.LOW, None),
            ConfigKey("e", ConfigType.LIST, "E.", Importance.LOW, ()),
            ConfigKey("p", ConfigType.PASSWORD, "P.", Importance.LOW, "hunter2"),
        ]
    )
    text = reference.render_reference(ConfigDef([]), [("Own", definition)])
    assert (
        "| `k` (also `old`) | int | `3` | [1,...] | high | Either \\| or, for &lt;name>. |" in text
    )
    assert "| `r` | string | **required** |  | low | R. |" in text
    assert "| `n` | string | not set |" in text
    assert "| `e` | list | empty |" in text
    assert "| `p` | password | `[hidden]` |" in text


def test_equal_declarations_give_equal_text() -> None:
    one = reference.render_reference(worker_keys.WORKER_DEF, [])
    assert one == reference.render_reference(worker_keys.WORKER_DEF, [])
    assert one.endswith("|\n")
    assert not any(line.endswith(" ") for line in one.splitlines())
