"""The demo (``make demo``): three tables flow into Kafka before your eyes, on real parts.

``story`` tells it in order; ``tables`` makes the tables and changes them; ``screen`` is all that a
person sees, and the curl commands that the demo runs as a person would. The parts (Kafka, the
DynamoDB endpoint, the worker) and the comparison behind the verdict come from ``tests.harness``.
"""
