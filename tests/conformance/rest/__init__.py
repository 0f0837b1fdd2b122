"""The differential suite: the same requests at a real Connect worker and at connectd.

``script`` holds the requests as data, ``driving`` plays a scenario at a worker, ``normalisation``
takes out what two correct workers may differ in (ports, times, versions), ``transcripts`` keeps
what the real worker answered, ``comparison`` finds what differs, and ``differences`` lists the
differences that are meant, each with its reason. An unlisted difference fails; so does a listed one
that no longer occurs.

``make conformance`` runs everything; ``ARGS=--record`` records the real worker's transcripts anew,
``ARGS=--live`` runs the real worker side by side instead of reading them.
"""
