"""The DynamoDB source: discovery by tag, parallel scan, streams, one job per table."""
