"""``connectd validate``: the check of the REST API, without a worker."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectd.app.exit_code import ExitCode
from connectd.cli import screen
from connectd.cli.screen import Colour

if TYPE_CHECKING:
    from connectd.cli.screen import Commands
    from connectd.configdef.connector_file import ConnectorFile
    from connectd.configdef.worker import WorkerConfig

_HELP = """
Checks a connector's config as PUT /connector-plugins/<plugin>/config/validate does, and as every
POST /connectors does before it accepts one. Nothing is started, and neither Kafka nor AWS is asked.

  connectd validate connector.json
  connectd validate -w config/worker.properties connector.properties
  connectd validate --json connector.json | jq .error_count

The file is a properties file, a flat JSON object, or {"name": …, "config": {…}}. With -w, the
worker's converters, override policy and config providers (${file:…}) count; without it, those of a
worker that sets nothing. Hints, such as misspelt keys, go to standard error; they are no errors.

Exit codes:
  0  the config is valid
  1  it is not; each problem is listed with its key
  2  a file cannot be read, or is no config; interrupted
"""

_PLAIN_WORKER = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "offset.storage.file.filename": "offsets",
}


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = screen.add_command(commands, "validate", "check a connector's config", _HELP)
    parser.add_argument("-w", "--worker", type=Path, help="properties file of the worker")
    parser.add_argument("--json", action="store_true", help="print the REST API's answer")
    parser.add_argument("connector", type=Path, help="the connector's file")
    parser.set_defaults(command=_validate)


def _validate(options: argparse.Namespace) -> int:
    from connectd.configdef import connector_file
    from connectd.observe import logs

    logs.configure(logs.LogFormat.CONSOLE, "WARN", sys.stderr)
    file = connector_file.load(options.connector)
    infos = asyncio.run(_check(file, _worker_config(options.worker)))
    with screen.telling():
        if options.json:
            screen.print_json(infos)
        else:
            _print(options.connector, infos)
    return ExitCode.FAILED if infos["error_count"] else ExitCode.CLEAN


def _worker_config(path: Path | None) -> WorkerConfig:
    from connectd.app import worker_file
    from connectd.configdef.worker import Mode, WorkerConfig

    if path is None:
        return WorkerConfig.from_properties(_PLAIN_WORKER, mode=Mode.STANDALONE)
    found = worker_file.read(path, os.environ)
    is_standalone = "group.id" not in found and "offset.storage.file.filename" in found
    mode = Mode.STANDALONE if is_standalone else Mode.DISTRIBUTED
    return WorkerConfig.from_properties(found, mode=mode)


async def _check(file: ConnectorFile, config: WorkerConfig) -> Mapping[str, Any]:
    from connectd.aio.clock import LoopClock
    from connectd.app import bundled
    from connectd.config_providers import declared
    from connectd.plugins.directory import PluginDirectory
    from connectd.plugins.lookups import Lookups
    from connectd.plugins.resolving import ConfigResolver
    from connectd.runtime.requests import RequestGate
    from connectd.runtime.validation import Validation, ValidationThreads

    registry = bundled.plugin_registry()
    classes = {**declared.built_in_classes(), **registry.provider_classes}
    gate = RequestGate(LoopClock())
    gate.open()
    validation = Validation(
        gate,
        PluginDirectory(registry, config),
        run_blocking=ValidationThreads(),
        resolve=ConfigResolver(Lookups(declared.make_providers(config.properties, classes))),
    )
    return await validation.validate(file.config.get("connector.class") or "", file.config)


def _print(path: Path, infos: Mapping[str, Any]) -> None:
    count = infos["error_count"]
    if not count:
        print(f"{path}: {screen.coloured('valid', Colour.GREEN)}")
        return
    word = "error" if count == 1 else "errors"
    print(f"{path}: {screen.coloured(f'{count} {word}', Colour.RED)}\n")
    rows = []
    for value in (entry["value"] for entry in infos["configs"]):
        for number, text in enumerate(value["errors"]):
            given = "" if value["value"] is None else str(value["value"])
            rows.append((value["name"], given, text) if number == 0 else ("", "", text))
    screen.print_table(("KEY", "VALUE", "PROBLEM"), rows)
