"""PySpark applications for large initial scans; none is here yet (the daemon scans by itself)."""
