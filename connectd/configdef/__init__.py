"""Every configuration key, declared once: types, defaults, validators, documentation.

``definition`` says what a key is; ``values``, ``parsing`` and ``validators`` hold Kafka's rules;
``worker_keys`` and ``connector`` declare the keys; ``worker`` is the typed view of a worker's file
(``properties``); ``validation`` and ``connector_validation`` give the answers of the REST API;
``reference`` writes the document for people. Pure: nothing here opens a socket or knows a plugin.
"""
