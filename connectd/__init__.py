"""connectd: a Kafka Connect worker that copies DynamoDB tables into Kafka, complete and in order.

The packages form a tower; imports point down only, and the test command checks it:

    __main__ · cli · app     entry; ``app`` is the only place where objects are wired together
    rest                     HTTP in and out (fastapi, uvicorn)
    runtime                  control plane: herder, worker, supervisor, assignment, membership
    pipeline                 data plane: poll -> transform -> convert -> send -> ack -> commit
    connectors · converters  plugins; siblings never import each other
    transforms · config_providers
    plugins                  the interfaces that plugins implement, and the registry
    stores                   config, offset and status backing stores
    kafka · aws              adapters (confluent_kafka | boto3, botocore, aiohttp)
    configdef                every configuration key, declared once
    observe                  logs and metrics
    aio                      clock, jobs, backoff, threads, scheduler (no domain words)
    model                    pure values and transition tables
    errors                   the exception tree
"""

__version__ = "0.1.0"
