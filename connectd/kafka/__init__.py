"""Kafka clients: settings, producer, compacted logs, topics, and the translation of their errors.

The only package that knows ``confluent_kafka``. Threads live here, one per producer and one per
compacted log, and hand batches to the event loop; nothing above this floor sees a thread.

* ``clientconf``  explicit librdkafka settings from Kafka's Java names (tables: ``clientkeys``)
* ``producer``    pages of records in, one answer per page out; its thread is ``sending``, its
  values are in ``page``, and ``pool`` shares producers among tasks
* ``log``         a compacted topic as a log: append, tail, read to the end; its thread is
  ``tailing``
* ``admin``       topics: create, describe; waiting for a broker
* ``errors``      ``KafkaError`` codes into the tree of ``connectd.errors``
* ``voice``       what the clients have to say, quietly
"""
