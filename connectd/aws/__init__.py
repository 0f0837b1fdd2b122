"""The AWS adapter. Only this package imports boto3, botocore and aiohttp."""
