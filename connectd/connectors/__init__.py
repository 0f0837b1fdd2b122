"""Source connectors. Each sub-package is one; none knows the others."""
