"""The AWS adapter. Only this package imports boto3, botocore, aiohttp and httptools.

Two roads lead to AWS, signed with the same credentials (``credentials``):

* the *control plane* (DescribeStream, tagging, STS, exports) through boto3, in a bounded set
  of threads (``session``, ``blocking``);
* the *data plane* (Scan, GetRecords, GetShardIterator, and DescribeTable) through ``wire``: our own
  signer (``signing``), kept connections (``pooled_transport``), the bytes of the answer as they
  came.

``clients.AwsClients`` opens both for one ``settings.AwsSettings``; ``clients.AwsClientPool`` shares
them between connectors with equal settings. The rooms that callers visit are ``dynamodb``,
``streams`` and ``tagging``. Foreign exceptions and error answers become ours in ``errors`` only.

Nothing here waits and tries again for long: throttling and outages reach the caller at once, whose
policy it is (``connectd.aio.backoff``). Every call has a deadline, every pool a size.
"""
