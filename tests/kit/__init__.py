"""What many tests share: virtual time, samples, probes."""
