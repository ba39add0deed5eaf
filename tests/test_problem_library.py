"""How the library is found."""

import subprocess
import sys

import pytest

from kernelqp.errors import ProblemFileError
from kernelqp.problem_file import load_problem, problem_names

DATA = "[data]\nX = [[0, 0], [2, 2], [2, 0], [3, 0]]\ny = [-1, -1, 1, 1]\n"
METHOD = '[method]\nname = "HardMarginSVM"\n'


# --- the library ----------------------------------------------------------------------------------


def test_the_library_has_the_fixed_names():
    assert {"xor", "iris_hard", "breast_cancer", "digits"} <= set(problem_names())


@pytest.mark.parametrize("name", ["xor", "xor.toml", "problems/xor.toml", "./xor"])
def test_a_name_that_is_no_file_is_looked_up_in_the_library(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_problem(name).name == "xor"


def test_a_file_goes_before_the_library(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "xor.toml").write_text('title = "mine"\n' + DATA + METHOD)
    assert load_problem("xor.toml").title == "mine"


@pytest.mark.parametrize("name", ["other/xor.toml", "xor.csv", "/xor"])
def test_other_paths_are_not(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProblemFileError, match=r"no such file.*did you mean 'xor"):
        load_problem(name)


def test_a_missing_file_lists_the_library():
    with pytest.raises(ProblemFileError, match=r"digts\.toml.*did you mean 'digits'.*iris_hard"):
        load_problem("digts.toml")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ProblemFileError, match="is a folder"):
        load_problem(tmp_path)


def test_reading_files_imports_neither_typer_nor_rich_nor_solvers():
    code = (
        "import sys, kernelqp, kernelqp.problem_file as p; p.load_problem('xor');"
        "sys.exit(bool({'typer', 'rich'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
