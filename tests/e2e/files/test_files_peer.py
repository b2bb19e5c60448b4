# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How far our files are ahead of CPython 3.15's: speed and size, as ratios of one run. make bench-files and make
bench-live-files print them."""
import pytest

import file_rates
import live_files
from paths import binary
from present import absent

pytestmark = pytest.mark.truth

# Half of what docs/overhead.md has from a quiet machine, by depth. CPU times of both sides are taken in turn, the better
# of two; on machines of other kinds and load the ratios were seen to differ by a quarter.
RATIOS = {10: (11 / 2, 19 / 2, 57 / 2), 60: (33 / 2, 85 / 2, 119 / 2)}
# Of the same samples and names; runs of repeats are cut at other places.
SIZE = 1.01
# Of live recordings, without the first lines of functions, which CPython's files do not have. On a quiet machine it
# is 0.93 to 0.99; what a process of a few samples has is nearly all names, and there it is 1.00.
LIVE_SIZE = 1.01


@pytest.mark.parametrize("depth", RATIOS)
def test_files_are_written_and_read_faster_than_by_cpython(python315, scratch, depth):
    tool = binary().parent / "tests" / "bench" / "bench_files"
    if not tool.exists():
        absent("make build/tests/bench/bench_files first, as make check-truth does")
    ours, theirs = file_rates.compare(tool, binary(), python315, scratch, depth)
    write, read, collapsed = RATIOS[depth]
    assert ours.write >= write * theirs.write, (ours, theirs)
    assert ours.read >= read * theirs.read, (ours, theirs)
    assert ours.collapsed * collapsed <= theirs.collapsed, (ours, theirs)
    assert ours.size <= SIZE * theirs.size, (ours, theirs)


@pytest.mark.parametrize("record, argument", [
    (live_files.record_busy, 12),
    (live_files.record_short, 60),
    (live_files.record_threads, 8),
])
def test_live_files_are_no_larger_than_cpythons(python315, python, out, scratch, record, argument):
    path = out / "recording"
    record(path, python.command(), argument)
    sizes = live_files.compare(path, python315, scratch)
    assert sizes.samples > 500, sizes
    assert sizes.ours - sizes.first_lines <= LIVE_SIZE * sizes.theirs, sizes
