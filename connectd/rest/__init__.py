"""HTTP in and out: Kafka Connect's REST API, shapes and codes to the byte.

``api`` assembles the application, ``resource`` is the frame of every endpoint (methods, media
types, errors), ``bodies`` reads what clients send, ``schemas`` shows what the herder answers.
``server`` listens. Nothing here decides anything: the herder does.
"""
