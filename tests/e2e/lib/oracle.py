# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""oracle.py OUT FILE...: what CPython 3.15's own reader finds in TACH files, as JSON.

Run by a Python 3.15; everything is decoded by its _remote_debugging module,
none of our code is involved. OUT gets one JSON object per file.
"""
import json
import sys

from profiling.sampling.binary_reader import BinaryReader


class Everything:
    """A collector that keeps every sample: frames and stacks as tables."""

    aggregating = True

    def __init__(self):
        self.frames, self.stacks, self.samples = {}, {}, []

    def collect(self, interpreters, timestamps_us=None):
        for interpreter in interpreters:
            for thread in interpreter.threads:
                stack = tuple(self.frame_id(f) for f in thread.frame_info)
                stack_id = self.stacks.setdefault(stack, len(self.stacks))
                self.samples.append([thread.thread_id, interpreter.interpreter_id,
                                     thread.status, stack_id, list(timestamps_us)])

    def frame_id(self, frame):
        filename, location, funcname, opcode = frame
        location = (-1, -1, -1, -1) if location is None else tuple(location)
        key = (filename, funcname, *location, opcode)
        return self.frames.setdefault(key, len(self.frames))

    def collect_failed_sample(self):
        pass


def main():
    with open(sys.argv[1], "w") as out:
        for path in sys.argv[2:]:
            everything = Everything()
            with BinaryReader(path) as reader:
                info = reader.get_info()
                replayed = reader.replay_samples(everything)
            json.dump({"path": path, "info": info, "replayed": replayed,
                       "frames": list(everything.frames), "stacks": list(everything.stacks),
                       "samples": everything.samples}, out)
            out.write("\n")


main()
