"""Scripted stand-ins that do what no emulator does, verified against emulators where they overlap.

The room's map, for the DynamoDB fake (one HTTP port that serves DynamoDB, DynamoDB Streams, the
Resource Groups Tagging API and STS, and another one for TLS where asked):

* ``fake.FakeAws``          the whole fake as one object without sockets: ``handle`` and ``call``
* ``control.Control``       the script: clock, lineage, faults, bulk data, oracles, journal
* ``server``                ``running_fake()`` in this event loop; ``python -m tests.fakes.server``
* ``process.FakeProcess``   the same in a process of its own; ``RemoteControl`` scripts it over HTTP
* ``account``, ``tables``, ``items``, ``scan``    the tables of the account and what they hold
* ``streams``, ``shards``, ``listing``, ``iterators``   lineage, records, and the views of them
* ``bulk``                  items and records by the million, made when they are read
* ``service_*``, ``requests``   the API operations, one module per AWS service
* ``attributes``, ``keys``, ``expressions``, ``records``, ``wire``   the data formats
* ``faults``, ``throttles``, ``identity``, ``signature``, ``journal``, ``clock``   troubles and time
* ``script_*``              the commands by theme: lineage, faults, data
* ``behaviours*``           what fake and emulators share, run by the conformance tests
* ``asking``                a fake for tests that need no socket
* ``measure``               how fast it serves

Facts: spec streams-and-leases 4.5, 4.6, 5 and 6.4. What the fake does not implement it refuses
with HTTP 501 and the name of the parameter; it never ignores a request in silence.
"""
