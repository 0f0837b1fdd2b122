"""Config providers: where ``${provider:path:key}`` in configs gets its values from."""
