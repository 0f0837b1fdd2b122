"""``make bench NAME=stream``: from the scripted stream into Kafka, against a boto3 loop."""

from __future__ import annotations

import sys

from benchmarks import copying

if __name__ == "__main__":
    copying.measure("stream", sys.argv[1:])
