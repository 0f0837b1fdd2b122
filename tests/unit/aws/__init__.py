"""The AWS adapter: signing, errors, credentials, transport, clients."""
