"""The DynamoDB source connector: tables in, pages of records and their positions out.

Where to look:

* ``connector`` decides which tables there are (``discovery``) and which task serves which;
* ``task`` runs its tables, each as a ``table_job`` that owns the table's phase (``phases``), and
  merges their pages in one bounded ``emission_queue``;
* INIT_SYNC is ``scan`` paced by ``pacing``, SYNC is ``shard_reader`` driven by ``lineage`` (pure);
* what is remembered between two lives is in ``offsets``;
* records become messages in ``decode``, ``document``, ``keys``, ``item_texts``, ``envelope``,
  ``plan``, ``payload`` (no I/O; the Spark jobs use them too), or in the compiled
  ``page_scanner``, as ``tiers`` says;
* settings: ``config``, with their keys in ``config_keys`` and ``config_keys_stream``.
"""
