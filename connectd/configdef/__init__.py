"""Every configuration key, declared once: types, defaults, validators, documentation."""
