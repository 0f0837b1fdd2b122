"""The container images, as far as they can be checked without an engine that builds them."""
