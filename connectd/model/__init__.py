"""Pure values and transition tables: no I/O, no asyncio. Every package above speaks in these."""
