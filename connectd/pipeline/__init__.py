"""The data plane: poll, convert, send, acknowledge, commit."""
