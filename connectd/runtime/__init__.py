"""The control plane: herder, worker, supervisor, assignment, restart."""
