"""The sizes of a recording's files beside those that CPython 3.15's own writer makes of the same samples."""
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

# In CPython 3.15: FILE OUT, again and again -> a line "samples" for each pair. Run as a file. Samples are written
# in the order of their times, as a sampler gets them,
# and with the statistics that its command adds.
REWRITE = """
import sys, _remote_debugging as r

class Keep:
    aggregating = False
    def __init__(self):
        self.all = []
    def collect(self, interpreters, timestamps_us=None):
        for us in timestamps_us if isinstance(timestamps_us, list) else [timestamps_us]:
            self.all.append((interpreters, us or 0))
    def collect_failed_sample(self):
        pass

for path, out in zip(sys.argv[1::2], sys.argv[2::2]):
    reader, keep = r.BinaryReader(path), Keep()
    reader.replay(keep)
    keep.all.sort(key=lambda pair: pair[1])
    info = reader.get_info()
    writer = r.BinaryWriter(out, info["sample_interval_us"], info["start_time_us"], compression=1)
    for interpreters, us in keep.all:
        writer.write_sample(interpreters, us)
    writer.set_stats(30.0, 999.0, 0.0, 0.0)
    writer.finalize()
    print(len(keep.all))
"""
AT_ONCE = 100


@dataclass
class Sizes:
    files: int
    samples: int
    ours: int
    theirs: int     # 0: there is no CPython 3.15


def compare(recording, python, scratch):
    """A file or a directory. scratch: the other Python can see it."""
    paths = sorted(recording.glob("*.tach")) if recording.is_dir() else [recording]
    ours = sum(p.stat().st_size for p in paths)
    if not python:
        return Sizes(len(paths), 0, ours, 0)
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        directory = Path(name)
        directory.chmod(0o755)
        script = directory / "rewrite.py"
        script.write_text(REWRITE)
        outs = [directory / f"{i}.tach" for i in range(len(paths))]
        samples = 0
        for i in range(0, len(paths), AT_ONCE):
            pairs = [p for pair in zip(paths[i:i + AT_ONCE], outs[i:i + AT_ONCE]) for p in pair]
            done = subprocess.run(python.command(script, *pairs), check=True, capture_output=True, text=True)
            samples += sum(map(int, done.stdout.split()))
        return Sizes(len(paths), samples, ours, sum(p.stat().st_size for p in outs))
