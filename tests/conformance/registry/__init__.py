"""Our converters and a real schema registry: what it takes, refuses and judges as it stands."""
