"""What a worker of Apache Kafka answers about plugins and configs: recorded facts, and their use.

``cases`` says what was asked, ``record`` asks a running worker again, ``stand_ins`` has plugins
that declare the same keys, ``abridged`` brings answers into the form of the recordings.
"""
