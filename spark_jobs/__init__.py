"""PySpark applications: what a table needs once, and one process is too slow for.

* ``initial_scan`` copies a table into its topic; started by the daemon (``scan_job``). Its driver
  decides (``chunk_schedule``, ``chunk_runner``), its Python workers do the work (``segment_scan``).
* ``data_source`` shows a table to Spark as a DataFrame.
* ``reconcile*`` compares tables with topics.

They run from the wheel, beside the daemon's own record code: same item, same bytes. connectd never
imports this package.
"""
