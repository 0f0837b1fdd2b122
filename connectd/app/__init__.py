"""The composition root: the only place where objects are wired together.

``bundled`` lists the plugins, ``wiring`` builds the herder and everything below it, ``process``
is the life of a worker process.
"""

from connectd.app.bundled import documented_plugins, plugin_registry
from connectd.app.process import ExitCode, run_worker

__all__ = ["ExitCode", "documented_plugins", "plugin_registry", "run_worker"]
