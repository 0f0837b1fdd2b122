"""Packages of plugins for tests: built from files, and installed as a user would."""
