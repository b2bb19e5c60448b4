"""Stacks of which hardly two are the same, under a name of its own: many_stacks.py SEED [FUNCTIONS].
Random walks through 400 functions of 5 lines each, 20 deep."""
import random
import sys

COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 400
LINES = "\n".join(f"def f{i}(d):\n" + "\n".join(
    f"    if r() < {k + 1} / 5: return g(d)" for k in range(5)) for i in range(COUNT))
generator = random.Random(int(sys.argv[1]))
r = generator.random
names = {"r": r}


def g(depth):
    if depth:
        return functions[int(r() * COUNT)](depth - 1)
    for _ in range(200):
        pass


names["g"] = g
exec(compile(LINES, "walk.py", "exec"), names)
functions = [names[f"f{i}"] for i in range(COUNT)]
print("ready", flush=True)
while True:
    g(20)
