"""Model files: LIBSVM's text format and skops, from Python and from the command line."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from typer.testing import CliRunner

import kernelqp as kq
from kernelqp.cli import app
from kernelqp.foreign import LibsvmModel


def standardised(load, rows):
    X, y = load(return_X_y=True)
    return np.round(StandardScaler().fit_transform(X)[:rows], 6), y[:rows]


def model_text(model, X, y):
    """Write a fitted SVC or SVR as svm-train does: the first row's label is the positive one."""
    classifier = hasattr(model, "classes_")
    flip = -1.0 if classifier and y[0] == model.classes_[0] else 1.0
    kernel = {"rbf": "rbf", "linear": "linear", "poly": "polynomial"}[model.kernel]
    lines = [f"svm_type {'c_svc' if classifier else 'epsilon_svr'}", f"kernel_type {kernel}"]
    if kernel == "polynomial":
        lines.append(f"degree {model.degree}")
    if kernel != "linear":
        lines.append(f"gamma {model._gamma:.17g}")
    if kernel == "polynomial":
        lines.append(f"coef0 {model.coef0:.17g}")
    lines += [
        "nr_class 2",
        f"total_sv {len(model.support_)}",
        f"rho {-flip * model.intercept_[0]:.17g}",
    ]
    if classifier:
        order = model.classes_ if flip < 0 else model.classes_[::-1]
        lines.append("label " + " ".join(str(c) for c in order))
    lines.append("SV")
    for coefficient, row in zip(np.ravel(model.dual_coef_), X[model.support_], strict=True):
        cells = " ".join(f"{k + 1}:{v:.8g}" for k, v in enumerate(row) if v)
        lines.append(f"{flip * coefficient:.17g} {cells}")
    return "\n".join(lines) + "\n"


GOOD = (
    "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 2\nrho 2 2 2\nlabel 1 -1 0\n"
    "nr_sv 1 1 0\nSV\n0.5 0 1:3\n-0.5 0 1:1\n"
)


@pytest.fixture(params=["rbf", "linear", "poly"])
def trained(request, tmp_path):
    X, y = standardised(load_breast_cancer, 200)
    model = SVC(kernel=request.param, C=0.7, tol=1e-6).fit(X, y)
    files = tmp_path / "a.model", tmp_path / "a.svm"
    files[0].write_text(model_text(model, X, y))
    dump_svmlight_file(X, y, str(files[1]), zero_based=False)
    return model, X, y, files


def test_a_model_file_is_the_model(trained):
    model, X, y, (path, _) = trained
    direct = kq.certify(model, X, y)
    read = kq.certify(LibsvmModel.load(path), X, y)
    assert read.certified
    assert read.primal_value == pytest.approx(direct.primal_value, rel=1e-9)
    assert read.dual_value == pytest.approx(direct.dual_value, rel=1e-9)
    given = kq.certify(LibsvmModel.load(path, C=0.7), X, y)
    assert given.primal_value == pytest.approx(read.primal_value, rel=1e-12)


def several_text(model, X):
    """Write a fitted RBF SVC of several classes as svm-train does."""
    k = len(model.classes_)
    lines = [
        "svm_type c_svc",
        "kernel_type rbf",
        f"gamma {model._gamma:.17g}",
        f"nr_class {k}",
        f"total_sv {len(model.support_)}",
        "rho " + " ".join(f"{-b:.17g}" for b in model.intercept_),
        "label " + " ".join(str(c) for c in model.classes_),
        "nr_sv " + " ".join(str(n) for n in model.n_support_),
        "SV",
    ]
    for coefficients, row in zip(model.dual_coef_.T, X[model.support_], strict=True):
        cells = [f"{k + 1}:{v:.8g}" for k, v in enumerate(row) if v]
        lines.append(" ".join([*(f"{c:.17g}" for c in coefficients), *cells]))
    return "\n".join(lines) + "\n"


def test_a_file_of_several_classes_is_a_problem_a_pair(tmp_path):
    X, y = load_iris(return_X_y=True)  # two of its rows coincide
    model, path = SVC(C=2.0, tol=1e-6).fit(X, y), tmp_path / "m.model"
    path.write_text(several_text(model, X))
    direct, read = kq.certify(model, X, y), kq.certify(LibsvmModel.load(path, C=2.0), X, y)
    assert read.certified
    assert [p.name for p in read.problems] == [f"LIBSVM: {p.name[5:]}" for p in direct.problems]
    for one, other in zip(read.problems, direct.problems, strict=True):
        assert one.primal_value == pytest.approx(other.primal_value, rel=1e-9)
        assert one.dual_value == pytest.approx(other.dual_value, rel=1e-6)


def test_labels_that_y_lacks_are_refused(tmp_path):
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "m.model"
    path.write_text(several_text(SVC(C=2.0).fit(X, y), X))
    for present in (y != 2, y == 0):
        with pytest.raises(kq.InputError, match=r"y lacks the label . of the model file"):
            kq.certify(LibsvmModel.load(path, C=2.0), X[present], y[present])


def test_svm_train_itself(tmp_path):
    """The program's own file of three classes, where the program is installed."""
    program = shutil.which("svm-train")
    if program is None:
        pytest.skip("svm-train is not installed")
    X, y = load_iris(return_X_y=True)
    data, path = tmp_path / "iris.svm", tmp_path / "iris.model"
    dump_svmlight_file(X, y, str(data), zero_based=False)
    subprocess.run([program, "-q", "-g", "0.5", "-e", "1e-6", data, path], check=True)
    read, model = LibsvmModel.load(path, C=1.0), SVC(gamma=0.5, tol=1e-6).fit(X, y)
    assert kq.certify(read, X, y).certified
    assert kq.certify(read, X, y).problems[0].primal_value == pytest.approx(
        kq.certify(model, X, y).problems[0].primal_value, rel=1e-6
    )


def weighted_text(tmp_path, first=5.0, second=0.5):
    """A model of two classes with C of its own in each."""
    X, y = standardised(load_breast_cancer, 200)
    model = SVC(C=1.0, class_weight={y[0]: first, 1 - y[0]: second}, tol=1e-6).fit(X, y)
    path = tmp_path / "w.model"
    path.write_text(model_text(model, X, y))
    return model, X, y, path


def test_class_weights_are_read_off_the_coefficients(tmp_path):
    model, X, y, path = weighted_text(tmp_path)
    read = kq.certify(LibsvmModel.load(path), X, y)
    assert read.certified
    assert "0.5 and 5 sum" in read.objective
    assert "read off" in read.objective
    assert read.primal_value == pytest.approx(kq.certify(model, X, y).primal_value, rel=1e-9)
    with pytest.raises(kq.InputError, match="beyond C = 1"):
        kq.certify(LibsvmModel.load(path, C=1.0), X, y)


def test_two_coefficients_that_agree_by_balance_show_no_bound(tmp_path):
    X, y = np.array([[-4.0], [-5.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    path = tmp_path / "s.model"
    path.write_text(model_text(SVC(kernel="linear", C=1000).fit(X, y), X, y))
    with pytest.raises(kq.InputError, match="pass C"):
        kq.certify(LibsvmModel.load(path), X, y)
    assert kq.certify(LibsvmModel.load(path, C=1000), X, y).certified


def test_labels_of_other_data_are_refused(trained):
    _, X, y, (path, _) = trained
    with pytest.raises(kq.InputError, match="the labels of the model file"):
        kq.certify(LibsvmModel.load(path), X, np.where(np.arange(len(y)) == 0, 5, y))


def test_features_counted_from_0(tmp_path):
    X, y = standardised(load_breast_cancer, 200)
    model = SVC(kernel="linear", C=0.7, tol=1e-6).fit(X, y)
    text = model_text(model, X, y)
    head, _, body = text.partition("SV\n")
    for k in range(1, X.shape[1] + 1):
        body = body.replace(f" {k}:", f" {k - 1}:")
    path = tmp_path / "z.model"
    path.write_text(head + "SV\n" + body)
    assert kq.certify(LibsvmModel.load(path), X, y).certified


def test_a_regression_needs_its_tube(tmp_path):
    X, y = standardised(load_diabetes, 150)
    model = SVR(C=2.0, epsilon=0.5, tol=1e-6).fit(X, y)
    path = tmp_path / "r.model"
    path.write_text(model_text(model, X, y))
    with pytest.raises(kq.InputError, match="does not hold epsilon"):
        kq.certify(LibsvmModel.load(path, C=2.0), X, y)
    read = kq.certify(LibsvmModel.load(path, C=2.0, epsilon=0.5), X, y)
    assert read.primal_value == pytest.approx(kq.certify(model, X, y).primal_value, rel=1e-9)
    assert read.certified


def test_the_command_says_how_far_off_a_file_is(trained):
    *_, (path, data) = trained
    runner = CliRunner()
    shown = runner.invoke(app, ["certify", str(path), str(data)])
    assert shown.exit_code == 0
    assert "Converged" in shown.stdout
    found = json.loads(runner.invoke(app, ["certify", str(path), str(data), "--json"]).stdout)
    assert found["certified"]
    assert 0.0 <= found["gap"] == found["primal_value"] - found["dual_value"]
    wrong = runner.invoke(app, ["certify", str(path), str(data), "-c", "50"])
    assert wrong.exit_code == 1
    assert "Not converged" in wrong.stdout


def test_data_that_the_model_was_not_trained_on_are_refused(trained, tmp_path):
    _, X, y, (path, _) = trained
    with pytest.raises(kq.InputError, match="no row of X"):
        kq.certify(LibsvmModel.load(path), X + 0.25, y)
    other = tmp_path / "b.svm"
    dump_svmlight_file(X[::-1] * 2, y[::-1], str(other), zero_based=False)
    result = CliRunner().invoke(app, ["certify", str(path), str(other)])
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "svm_type"),
        ("svm_type precomputed\nkernel_type linear\nSV\n", "svm_type 'precomputed'"),
        ("svm_type nu_svc\nkernel_type linear\nrho 1\nSV\n1 1:1\n", "label holds 0 numbers"),
        ("svm_type c_svc\nkernel_type linear\nnr_class 3\nSV\n", "rho holds 0 numbers"),
        ("svm_type c_svc\nkernel_type linear\nSV\nx 1:2\n", "no model file"),
        ("nonsense\n", "has no svm_type"),
        (GOOD.replace("nr_sv 1 1 0", "nr_sv 3 1 0"), "nr_sv"),
        (GOOD.replace("label 1 -1 0", "label a b c"), "no model file"),
        (GOOD.replace("rho 2 2", "rho nan 2"), "not finite"),
        (GOOD.replace("-0.5 0", "inf 0"), "not finite"),
        (GOOD.replace("kernel_type linear\n", ""), "no model file"),
        (GOOD.replace("1:3", "2000000000:3"), "numbered"),
    ],
)
def test_what_is_no_model_file_is_refused(text, match, tmp_path):
    path = tmp_path / "x.model"
    path.write_text(text)
    with pytest.raises(kq.InputError, match=match):
        LibsvmModel.load(path)


@pytest.mark.parametrize(
    ("model", "data", "match"),
    [
        ("none.model", "none.svm", "no data file"),
        ("a.pkl", "a.svm", "not opened"),
        ("none.model", "a.svm", "no model file"),
        ("none.skops", "a.svm", "skops"),
        ("none.model", "a.csv", "--target"),
    ],
)
def test_bad_files_end_with_one_message(model, data, match, tmp_path):
    (tmp_path / "a.pkl").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    (tmp_path / "a.svm").write_text("1 1:0.5\n-1 1:2\n")
    (tmp_path / "a.csv").write_text("u,v\n1,2\n3,4\n")
    result = CliRunner().invoke(app, ["certify", str(tmp_path / model), str(tmp_path / data)])
    assert result.exit_code == 2
    assert match in result.stderr
    assert result.stdout == ""


def test_a_csv_and_a_skops_model(tmp_path):
    sio = pytest.importorskip("skops.io", reason="models of skops need it")
    X, y = standardised(load_breast_cancer, 120)
    X = X[:, :4]
    path, data = tmp_path / "m.skops", tmp_path / "d.csv"
    sio.dump(SVC(tol=1e-6).fit(X, y), path)
    rows = [
        ",".join(map(repr, [*map(float, row), int(label)])) for row, label in zip(X, y, strict=True)
    ]
    data.write_text("\n".join(["a,b,c,d,label", *rows]) + "\n")
    result = CliRunner().invoke(app, ["certify", str(path), str(data), "--target", "label"])
    assert result.exit_code == 0, result.output
    assert "Converged" in result.stdout
    result = CliRunner().invoke(app, ["certify", str(path), str(data), "--target", "e"])
    assert result.exit_code == 2
    assert "the columns a, b, c, d, label, not e: name one with" in " ".join(result.stderr.split())


@pytest.mark.parametrize("option", ["-c", "-p", "-n"])
def test_numbers_that_a_skops_model_holds_are_not_taken_from_the_command_line(option, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:0.5\n-1 1:2\n")
    named = ["certify", str(tmp_path / "m.skops"), str(tmp_path / "a.svm"), option, "3"]
    result = CliRunner().invoke(app, named)
    assert result.exit_code == 2
    assert "leave them out" in result.stderr


def test_scikit_learns_models_are_imported_only_when_one_is_asked_for():
    code = "import sys, kernelqp; sys.exit('sklearn.svm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
