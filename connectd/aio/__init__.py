"""Concurrency without domain words: clock, jobs, backoff, threads, poll scheduler."""
