# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Deep recursion through C: Python called by C called by Python, 20 to 180 times over."""
import functools
import json
import pickle

from rehearse import Play


def leaf():
    x = 0
    for i in range(400):
        x += i & 3
    return x


class Nest:
    def __init__(self, inner):
        self.inner = inner

    def __repr__(self):
        return "<%r>" % (self.inner,) if self.inner is not None else str(leaf())

    def __reduce__(self):
        leaf()
        return Nest, (self.inner,)

    def __eq__(self, other):
        return [self.inner] == [other.inner] if self.inner is not None else leaf() > 0

    def __hash__(self):
        return hash((self.inner,)) if self.inner is not None else leaf()

    def __len__(self):
        return len(self.inner) if self.inner is not None else leaf()


def nest(depth):
    found = None
    for _ in range(depth):
        found = Nest(found)
    return found


def by_map(n):
    return list(map(by_map, [n - 1])) if n else leaf()


def by_sorted(n):
    return sorted([n - 1], key=by_sorted) if n else leaf()


def by_reduce(_, n):
    return functools.reduce(by_reduce, [0, n - 1]) if n else leaf()


class Encodable(int):
    pass


def encode(obj):
    return json.dumps(nest_json[obj.depth], default=encode)


class Level:
    def __init__(self, depth):
        self.depth = depth


nest_json = [0] + [Level(n) for n in range(15)]
deep, other = nest(100), nest(100)
shallow = nest(25)


def act():
    by_map(180)
    by_sorted(60)
    by_reduce(0, 60)
    repr(deep)
    deep == other
    hash(deep)
    len(deep)
    pickle.loads(pickle.dumps(shallow))
    json.dumps(Level(15), default=encode)


run = Play(act, ["leaf"]).run
