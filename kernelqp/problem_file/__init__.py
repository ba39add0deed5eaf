"""Problem files: a method, its data and what is known of the optimum, in TOML.

Read in this order: `table` (a checked TOML table and its errors), `sources` (where rows come from),
`data` ([data] as X and y), `expected` ([expected] and its tolerances), `problem` (the whole file).
"""

from kernelqp.problem_file.expected import Check
from kernelqp.problem_file.problem import Problem, library_folder, load_problem, problem_names

__all__ = ["Check", "Problem", "library_folder", "load_problem", "problem_names"]
