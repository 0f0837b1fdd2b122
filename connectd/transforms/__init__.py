"""Single message transforms and predicates, under their Java names (spec kafka-connect F).

A transform takes a record and gives a record back, or None to drop it. Most come as a pair,
``…$Key`` and ``…$Value``: one class each, which differ in the ``side`` they work on. Settings are
parsed before a plugin is made, so that ``__init__`` only checks what no single key can know.

Every module holds one transform or a few that belong together; ``catalogue`` names them all,
``expected`` has the words of the usual complaints, ``declared`` the usual keys.
"""
