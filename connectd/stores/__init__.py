"""Backing stores: the durable homes of configs, offsets and statuses.

* ``protocols``   what a store promises; one conformance suite holds all of them to it
* ``memory``      stores for a standalone worker and for tests
* ``kafka_config``, ``kafka_offset``, ``kafka_status``   stores on compacted topics, byte for byte
  those of Kafka Connect; ``topic_home`` creates and verifies the topics
* pure, and shared by both kinds: ``config_log``, ``offset_format``, ``offset_table``,
  ``status_log``, ``compact_json``
"""
