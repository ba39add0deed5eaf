"""Solvers: each returns numbers and a remark; neither is believed before it is certified."""
