"""Tests, by level: unit, component, conformance, simulation, integration; fakes, kit and harness serve them."""
