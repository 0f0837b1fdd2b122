"""Source connectors for tests, under the names that Kafka's own test tools have.

* ``mock``: does nothing, or fails on request;
* ``schema_source``: a fixed number of structs with every primitive type, in two versions;
* ``verifiable_source``: consecutive numbers without end.

They declare no keys, as Kafka's do not: what they read is written in each module, and checked when
the connector or task starts. Their sinks are no part of this product yet. Kafka's print every
record to standard output for a test driver to read; here that belongs to the log of the worker, and
the topic tells the same.
"""
