"""Tests of the harness that start nothing bigger than a Python process."""
