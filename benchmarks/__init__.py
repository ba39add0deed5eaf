"""Benchmarks: ratios in one run, stored with versions and machine."""
