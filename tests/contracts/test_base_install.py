"""What is not installed without extras is not needed: the commands of every day run without it."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import soundfile
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from contracts.source_tree import MODULES as SOURCES
from contracts.source_tree import dotted_name, outside_libraries
from nearsong.errors import NearsongError
from nearsong.executor import run_tasks
from nearsong.experiment.report import drawing
from nearsong.library import Library
from nearsong.library.files.storage import root_address
from nearsong.library.neighbours.index import NO_GRAPH
from nearsong.listens import open_listens
from nearsong.model.encoders.pretrained.onnx import install_onnx
from nearsong.model.encoders.pretrained.vector_table import read_vector_table
from onnx_file import absolute_network
from written_runs import pick, write_run

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# distribution of an extra -> what is imported of it
MODULES = {
    "distributed": ("distributed", "dask"),
    "fsspec": ("fsspec",),
    "matplotlib": ("matplotlib",),
    "onnxruntime": ("onnxruntime",),
    "psycopg": ("psycopg",),
    "pyarrow": ("pyarrow",),
    "s3fs": ("s3fs",),
    "scikit-learn": ("sklearn", "joblib", "narwhals"),
    "usearch": ("usearch", "numkong"),
}
FOR_USERS = ("cluster", "large", "onnx", "paper", "parquet", "postgres", "s3", "sklearn")
NEVER = ("pandas", "polars")

# distribution -> what is imported of it, where that is another name
IMPORTED_AS = {
    "pillow": {"PIL"},
    "python-multipart": {"python_multipart"},
    "prometheus-client": {"prometheus_client"},
    "numba": {"numba", "llvmlite"},  # a numba needs one llvmlite
}

HIDING = """
import sys
from importlib.machinery import PathFinder

class Hiding:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.split(".")[0] in {blocked} else PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [Hiding if finder is PathFinder else finder for finder in sys.meta_path]
"""


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", text).group().lower() for text in requirements}


@pytest.fixture
def python(tmp_path):
    """Return a function that runs a Python that has no extras, its worker processes included."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(HIDING.format(blocked=sum(MODULES.values(), ())))
    path = os.pathsep.join([str(tmp_path / "site"), str(ROOT / "src")])

    def run(*arguments):
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
        )

    return run


@pytest.fixture
def nearsong(python):
    """Return a function that runs a command in a Python that has no extras."""
    return lambda *arguments: python("-m", "nearsong", *arguments)


def test_the_blocked_modules_are_those_of_the_extras():
    extras = PROJECT["optional-dependencies"]
    assert names([text for extra in FOR_USERS for text in extras[extra]]) == set(MODULES)
    assert names(PROJECT["dependencies"]) & {*MODULES, *NEVER} == set()


def imports_when_loaded(path: Path) -> set[str]:
    """Return the outside libraries that a module needs to be imported at all."""
    roots = set()
    pending: list[ast.AST] = list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            roots |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.ClassDef):
            pending += node.body
        # what is within a function, `if TYPE_CHECKING` or `try` is needed later or by some
    return (roots & outside_libraries(path)) - {"nearsong"}


def test_every_library_that_is_imported_is_a_declared_dependency():
    base = names(PROJECT["dependencies"])
    of_base = set().union(*(IMPORTED_AS.get(name, {name}) for name in base))
    of_extras = set(sum(MODULES.values(), ()))
    undeclared = {
        f"{dotted_name(path)} imports {library}"
        for path in SOURCES
        for library in (outside_libraries(path) - of_extras) | imports_when_loaded(path)
        if library not in of_base
    }
    assert undeclared == set()


def test_help_scan_import_and_similar_need_no_extra(nearsong, tmp_path):
    random = np.random.default_rng(0)
    for i in range(4):
        folder = tmp_path / "music" / f"Band {i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        sound = 0.1 * np.cumsum(random.normal(size=44_100)) / (20 * i + 20)
        soundfile.write(folder / f"Song {i}.wav", sound, 22_050)
    plays = tmp_path / "plays.csv"
    plays.write_text("user,artist,title,time\n" + "".join(f"u{i},Band {i % 2},Song {i},{i + 1}\n" for i in range(4)))
    assert " scan " in nearsong("--help").stdout
    for command in (
        ("scan", tmp_path / "music", "--library", "l.sqlite"),
        ("listens", "import", plays, "--library", "l.sqlite"),
        ("similar", "Band 1 - Song 1", "--library", "l.sqlite"),
    ):
        done = nearsong(*command)
        assert done.returncode == 0, done.stderr
    assert "Song 0" in done.stdout


LEARNING = """
import sys
import numpy as np
from threadpoolctl import threadpool_limits
import nearsong
from nearsong.baselines import EuclideanSimilarity
from nearsong.encoding import Codebook, ProductKernelMap, TfIdf
from nearsong.model.listener_space import ListenerSpace
from nearsong.model.projection import learn_projection

def learned():
    random = np.random.default_rng(0)
    artist = np.repeat(np.arange(30), 3)
    vectors = random.random((90, 12)) + artist[:, None] % 3
    learner = nearsong.MetricLearningToRank(C=10.0, batch_size=30, random_state=1, max_rounds=40, tol=0.05)
    yield learner.fit(vectors, artist % 3).components_
    projection, fitted = learn_projection(vectors, artist[:, None] == artist, learner=learner)
    yield from (projection.mean, projection.basis, projection.factor, fitted.components_)
    histograms = vectors / vectors.sum(axis=1, keepdims=True)
    yield ProductKernelMap().fit_transform(histograms)
    yield TfIdf().fit(histograms).transform(histograms)
    yield Codebook(n_codewords=8).fit(vectors).codewords_
    plays = random.random((40, 30)) < 0.4
    space = ListenerSpace(factor_listeners=2, anchor_listeners=2)
    yield space.fit(vectors, artist, plays.astype(float)).transform(vectors)
    yield EuclideanSimilarity().fit(vectors).distances(vectors[:3])

with threadpool_limits(1):
    print(*(np.ascontiguousarray(array).tobytes().hex() for array in learned()))
print("sklearn" in sys.modules)
"""


def test_without_scikit_learn_estimators_learn_the_same_to_the_bit(python):
    without = python("-W", "ignore", "-c", LEARNING)
    assert without.stderr == ""
    with_it = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LEARNING],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert [run.stdout.splitlines()[1] for run in (without, with_it)] == ["False", "True"]
    assert without.stdout.splitlines()[0] == with_it.stdout.splitlines()[0]


def test_a_report_without_matplotlib_names_the_extra_and_writes_nothing(nearsong, tmp_path):
    folder = write_run(tmp_path / "run", [pick(0, "native", 0.6)])
    done = nearsong("experiment", "report", folder)
    assert done.returncode == 2
    assert re.fullmatch(
        r"nearsong: Figures of a report need matplotlib: .*pip install 'nearsong\[paper\]'\n", done.stderr
    )
    assert not (tmp_path / "run" / "report").exists()


def parquet_listens(folder):
    (folder / "plays.parquet").write_bytes(b"PAR1" + bytes(64) + b"PAR1")
    list(open_listens(folder / "plays.parquet").read())


def parquet_vectors(folder):
    (folder / "vectors.parquet").write_bytes(b"PAR1" + bytes(64) + b"PAR1")
    read_vector_table(folder / "vectors.parquet")


def library_on_a_server(folder):
    Library.open("postgresql://127.0.0.1/nearsong")


def tasks_on_a_cluster(folder):
    list(run_tasks(abs, [1], cluster="tcp://127.0.0.1:1"))


def network_of_the_user(folder):
    (folder / "wave.onnx").write_bytes(absolute_network(50))
    description = {"name": "wave", "model": "wave.onnx", "licence": "CC0", "input": "waveform"}
    text = "".join(f'{key} = "{value}"\n' for key, value in description.items())
    (folder / "wave.toml").write_text(text + "sample_rate = 22050\npatch = 50\npatches = 1\n")
    install_onnx(folder / "wave.toml")


def music_in_a_bucket(folder):
    root_address("s3a://bucket/music")  # fsspec keeps what s3:// needs, once another test has used it


def figures_of_a_report(folder):
    drawing.check_matplotlib()


@pytest.mark.parametrize(
    ("extra", "use"),
    [
        ("parquet", parquet_listens),
        ("parquet", parquet_vectors),
        ("postgres", library_on_a_server),
        ("cluster", tasks_on_a_cluster),
        ("paper", figures_of_a_report),
        ("onnx", network_of_the_user),
        ("s3", music_in_a_bucket),
    ],
)
def test_without_an_extra_one_line_says_how_to_install_it(extra, use, tmp_path, monkeypatch):
    for module in sum(MODULES.values(), ()):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(drawing, "matplotlib", None)
    rest = r"(\.?|, or what fsspec has for it \([^\n]*\)\.)"
    with pytest.raises(NearsongError, match=rf"^[^\n]*pip install 'nearsong\[{extra}\]'{rest}$"):
        use(tmp_path)


def test_a_large_library_without_its_extra_says_in_one_line_how_to_install_it():
    assert re.fullmatch(r"[^\n]*pip install 'nearsong\[large\]'", NO_GRAPH)


def test_every_dependency_is_bounded_above_where_its_versions_have_majors():
    dated = {"distributed", "fsspec", "s3fs"}
    users = [text for extra in FOR_USERS for text in PROJECT["optional-dependencies"][extra]]
    unbounded = names([text for text in [*PROJECT["dependencies"], *users] if "<" not in text])
    assert unbounded == dated


def test_the_pinned_versions_are_within_the_bounds():
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    pinned = {canonicalize_name(name): version for name, version in pins.items()}
    extras = [text for extra in FOR_USERS for text in PROJECT["optional-dependencies"][extra]]
    for requirement in map(Requirement, [*PROJECT["dependencies"], *extras]):
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_the_sizes_of_an_installation_add_up_and_can_be_limited():
    command = [sys.executable, str(ROOT / "release" / "install_size.py"), "--top", "3", "--limit"]
    lines = subprocess.run([*command, "99999"], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    sizes = np.array([[float(cell) for cell in row[1:]] for row in rows])
    *shown, together, others = sizes
    assert (rows[-2][0], rows[-1][0].split(":")[0]) == ("**together**", "not of nearsong")
    np.testing.assert_allclose(np.sum(shown, axis=0), together, atol=0.3)
    assert others[0] > 100  # the tools of the checks
    assert (sizes[:, 1] <= sizes[:, 0]).all()
    assert sizes[0, 0] > sizes[2, 0] > 1
    refused = subprocess.run([*command, "1"], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert refused.stderr == "The installation is larger than 1 MB; see the table for what is large.\n"


def test_the_guide_names_every_extra_for_users():
    table = re.findall(r"^\| `(\w+)` \| ", (ROOT / "docs" / "start.md").read_text(), re.MULTILINE)
    assert sorted(table) == sorted(FOR_USERS)
