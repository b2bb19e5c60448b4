# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Arrow, pandas and Polars say the same as the samples do, and say what is missing where they are not installed."""
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import tachbpf
from tachbpf._export import NAMES, status_words

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
PROFILES = [GOLDEN / name for name in ("tach/cpu_raw.bin", "tach/native_opcodes.bin", "mlyze/basic.mlyze", "mlyze/empty.mlyze",
                                       "speedscope/milliseconds.json")]


@pytest.fixture(params=PROFILES, ids=lambda p: p.name)
def profile(request):
    return tachbpf.read(request.param)


def seconds(time):
    return None if time is None else time.total_seconds()


def expected(profile):
    """The rows, from samples."""
    for sample in profile.samples:
        frame = next((f for f in sample.stack if not is_detail(f)), sample.stack[-1] if sample.stack else None)
        process = sample.thread.process
        yield {"pid": process.pid, "comm": process.comm, "container": process.container, "thread": sample.thread.id,
               "thread_name": sample.thread.name, "time": sample.time and pytest.approx(sample.time),
               "status": "+".join(sorted(sample.status)) or "none", "weight": sample.weight,
               "function": frame and frame.function, "file": frame and frame.file, "line": frame and frame.line,
               "stack": [str(f) for f in sample.stack]}


def is_detail(frame):
    """stack_frame.h, for the frames that these profiles have."""
    return frame.kind == "native" or (frame.kind != "python" and frame.function.startswith(("<GC>", "<native>", "<blocked in ")))


def as_expected(row):
    words = row["status"].split("+")
    return dict(row, status="+".join(sorted(words)), time=seconds(row["time"]))


def test_arrow(profile):
    pytest.importorskip("pyarrow", reason="no pyarrow for this Python")
    table = profile.to_arrow()
    table.validate(full=True)
    assert table.column_names == list(NAMES)
    assert [as_expected(row) for row in table.to_pylist()] == list(expected(profile))


def test_parquet(profile, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="no pyarrow for this Python")
    profile.to_parquet(tmp_path / "x.parquet")
    assert [as_expected(row) for row in pq.read_table(tmp_path / "x.parquet").to_pylist()] == list(expected(profile))


def test_polars(profile):
    pytest.importorskip("polars", reason="no Polars for this Python")
    pytest.importorskip("pyarrow", reason="no pyarrow for this Python")
    frame = profile.to_polars()
    assert [as_expected(row) for row in frame.to_dicts()] == list(expected(profile))


def test_pandas(profile):
    pd = pytest.importorskip("pandas", reason="no pandas for this Python")
    frame = profile.to_pandas()
    assert list(frame.columns) == list(NAMES) and len(frame) == len(profile.samples)
    none = lambda value: None if pd.isna(value) else value
    for row, wanted in zip(frame.to_dict("records"), expected(profile)):
        assert row["stack"] == ";".join(reversed(wanted.pop("stack")))
        del row["stack"]
        row = {name: none(value) for name, value in row.items()}
        assert as_expected(row) == wanted


def test_pandas_groups_as_functions_do(profile):
    """The sum of weights by function is the own weight."""
    pytest.importorskip("pandas", reason="no pandas for this Python")
    sums = profile.to_pandas().groupby("function", observed=True)["weight"].sum()
    own = {}
    for row in profile.functions():
        own[row.function] = own.get(row.function, 0) + row.own
    assert sums.to_dict() == {name: weight for name, weight in own.items() if name in sums.index}
    assert sum(own.values()) == sums.sum()


def test_status_words():
    assert status_words(0) == "none" and status_words(3) == "gil+on-cpu"


@pytest.mark.parametrize("module, extra, call", [("pyarrow", "arrow", "to_arrow"), ("pandas", "pandas", "to_pandas"),
                                                 ("polars", "polars", "to_polars")])
def test_a_missing_library(monkeypatch, module, extra, call):
    """The message says what to install."""
    real = importlib.import_module

    def without(name, *rest):
        if name.split(".")[0] == module:
            raise ImportError(f"No module named {name!r}")
        return real(name, *rest)
    monkeypatch.setattr(importlib, "import_module", without)
    if module == "polars":
        pytest.importorskip("pyarrow", reason="no pyarrow for this Python")
    with pytest.raises(tachbpf.Error, match=rf"pip install 'tachbpf\[{extra}\]'"):
        getattr(tachbpf.read(PROFILES[0]), call)()


def test_import_is_light():
    """No optional library is imported by the package itself."""
    code = ("import sys, tachbpf; tachbpf.read(sys.argv[1]).functions(); "
            "print(*sorted({'numpy', 'pandas', 'polars', 'pyarrow', 'IPython'} & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code, str(PROFILES[0])], stdout=subprocess.PIPE, check=True)
    assert done.stdout.strip() == b""
