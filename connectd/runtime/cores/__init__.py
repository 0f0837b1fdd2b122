"""Tasks in processes of their own (decision 15): the worker as parent, and children that run tasks.

    runtime.task_life ── RemoteTask ──┐ parent                    child ┌── TaskHost ── pipeline
                                      ├─ TaskProcesses ── messages ─────┤
    stores.offsets ◀── writes ────────┘                                 └── RemoteOffsets

``messages`` is all that goes between them, ``spreading`` says where a task goes, ``failures`` how
errors travel. The parent: ``processes`` keeps the children alive, ``remote_task`` is a task as the
worker sees it, ``spawning`` starts a child. The child: ``hosting`` runs tasks, ``remote_offsets``
is how they read and write positions. ``app.task_process`` wires a child together.
"""
