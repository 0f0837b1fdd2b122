"""``make bench NAME=scan``: from the scripted table into Kafka, against a boto3 loop."""

from __future__ import annotations

import sys

from benchmarks import copying

if __name__ == "__main__":
    copying.measure("scan", sys.argv[1:])
