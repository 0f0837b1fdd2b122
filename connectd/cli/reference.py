"""``connectd reference``: every configuration key, and every metric."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from connectd.app.exit_code import ExitCode
from connectd.cli import screen

if TYPE_CHECKING:
    from connectd.cli.screen import Commands

_HELP = """
Prints every configuration key with type, default, accepted values and meaning, generated from the
declarations that the worker itself reads.

  connectd reference | less
  connectd reference > config/REFERENCE.md
  connectd reference --metrics > docs/metrics.md
  connectd reference --spans > docs/tracing.md
  connectd reference --kafka-clients > docs/kafka-clients.md
  connectd reference --format json | jq -r '.sections[0].keys[].name'
  connectd reference --format schema > worker.schema.json

With --metrics it prints every metric of GET /metrics instead, from their catalogue; with --spans
every span of tracing; with --kafka-clients what becomes of every setting of a Kafka client.

The JSON form has sections with a title and keys; a key looks as in
GET /connector-plugins/<plugin>/config. The schema is a JSON Schema of a worker's properties, for
editors and for values of the Helm chart.

Exit codes:
  0  printed, or as much of it as anybody has read
  1  it cannot be written
  2  interrupted
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = screen.add_command(commands, "reference", "print every configuration key", _HELP)
    parser.add_argument(
        "--format",
        choices=("md", "json", "schema"),
        default="md",
        help="Markdown (default), JSON, or the JSON Schema of a worker's properties",
    )
    parser.add_argument(
        "--metrics", action="store_true", help="every metric of GET /metrics instead (Markdown)"
    )
    parser.add_argument("--spans", action="store_true", help="every span instead (Markdown)")
    parser.add_argument(
        "--kafka-clients",
        action="store_true",
        help="every setting of Kafka clients, and what becomes of it, instead (Markdown)",
    )
    parser.set_defaults(command=_reference)


def reference_text() -> str:
    """``config/REFERENCE.md``: the worker's keys, then those of every plugin."""
    from connectd.app import bundled
    from connectd.configdef.reference import render_reference
    from connectd.configdef.worker_keys import WORKER_DEF

    return render_reference(WORKER_DEF, _sections_after_worker(bundled.documented_plugins()))


def metrics_text() -> str:
    """``docs/metrics.md``: every metric."""
    from connectd.observe import metrics_page

    return metrics_page.render()


def spans_text() -> str:
    """``docs/tracing.md``: every span."""
    from connectd.observe import spans_page

    return spans_page.render()


def kafka_clients_text() -> str:
    """``docs/kafka-clients.md``: what becomes of every setting of a Kafka client."""
    from connectd.kafka import clientkeys_page

    return clientkeys_page.render()


def _reference(options: argparse.Namespace) -> int:
    with screen.telling():
        if options.metrics:
            print(metrics_text(), end="")
        elif options.spans:
            print(spans_text(), end="")
        elif options.kafka_clients:
            print(kafka_clients_text(), end="")
        elif options.format == "md":
            print(reference_text(), end="")
        else:
            screen.print_json(_document() if options.format == "json" else worker_schema())
    return ExitCode.CLEAN


def worker_schema() -> dict[str, Any]:
    """The JSON Schema of a worker's properties."""
    from connectd.configdef import json_schema
    from connectd.configdef.worker import PREFIXES
    from connectd.configdef.worker_keys import WORKER_DEF

    schema = json_schema.properties_schema(
        WORKER_DEF, title="Properties of a worker", prefixes=PREFIXES
    )
    return {"$schema": json_schema.DIALECT, **schema}


def _document() -> dict[str, Any]:
    from connectd.app import bundled
    from connectd.configdef import validation
    from connectd.configdef.worker_keys import WORKER_DEF

    sections = [("Worker", WORKER_DEF), *_sections_after_worker(bundled.documented_plugins())]
    return {
        "sections": [
            {"title": title, "keys": [validation.key_info(key) for key in definition]}
            for title, definition in sections
        ]
    }


def _sections_after_worker(plugins: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    from connectd.configdef.worker_keys import STANDALONE_KEYS

    return [("Standalone worker", STANDALONE_KEYS), *plugins]
