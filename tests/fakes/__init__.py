"""Scripted stand-ins that do what no emulator does, verified against the real thing where they overlap."""
