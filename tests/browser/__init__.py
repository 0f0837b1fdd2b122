"""The dashboard in a real browser: on a real worker, and on answers that a test makes up."""
