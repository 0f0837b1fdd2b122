"""Connect data to bytes. Each module is one converter; none knows the others."""
