"""Seeded crashes and faults against a whole worker process; ``make soak`` runs them at length."""
