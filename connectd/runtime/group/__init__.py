"""This worker as one of several: Kafka's Connect group protocol (spec kafka-connect C.5).

* ``shares``       what a member runs, as a value
* ``blobs``        subscriptions and allotments, to the byte as Java workers write them
* ``eager``        who gets what when everything is dealt anew (protocol ``default``)
* ``cooperative``  ... when only what has to move moves (``compatible``, ``sessioned``)
* ``leading``      what the leader makes of all subscriptions
* ``lease``        how long a member may trust that what it runs is its own
* ``phases``       the member's state machine, as a table
* ``telling``      what a member tells the group, and hears of it
* ``pulse``        heartbeats, and what becomes of the lease without them
* ``member``       the member: one job that follows the table, one that sends heartbeats

All but the last two are pure. What travels to the brokers, and how, is ``kafka.group``'s business.
"""
