"""Tests of the harness that start real parts."""
