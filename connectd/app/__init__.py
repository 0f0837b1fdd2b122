"""The composition root: the only place where objects are wired together.

``bundled`` lists the plugins, ``ground`` chooses the stores of a distributed or a standalone
worker, ``wiring`` builds the herder and everything below it, ``process`` is the life of a worker
process. Nothing is imported here: the command line explains itself without loading a worker.
"""
