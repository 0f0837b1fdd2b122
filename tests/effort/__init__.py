"""What a record costs, counted and not timed; see ``tests.effort.__main__``."""
