# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What OTLP's specification asks of a whole message of profiles, MUST and SHOULD: problems() says what it
lacks. From the comments in profiles.proto and from specification/profiles, not from our encoder."""
import re
from collections import Counter

from pprof_decode import message, one, packed

MAPPING, LOCATION, FUNCTION, LINK, STRING, ATTRIBUTE, STACK = TABLES = range(1, 8)
NAMES = dict(zip(TABLES, ["mapping", "location", "function", "link", "string", "attribute", "stack"]))
# In each message: the fields that are an index into a table, or several; and the messages inside.
INDICES = {
    "profile": {11: ATTRIBUTE}, "sample": {1: STACK, 2: ATTRIBUTE, 3: LINK}, "value type": {1: STRING, 2: STRING},
    "key value": {3: STRING}, "any value": {8: STRING},
    MAPPING: {4: STRING, 5: ATTRIBUTE}, LOCATION: {1: MAPPING, 4: ATTRIBUTE}, "line": {1: FUNCTION},
    FUNCTION: {1: STRING, 2: STRING, 3: STRING}, STACK: {1: LOCATION}, ATTRIBUTE: {1: STRING, 3: STRING},
}
INSIDE = {
    "request": {1: "resource profiles"}, "resource profiles": {1: "resource", 2: "scope profiles"},
    "resource": {1: "key value"}, "scope profiles": {2: "profile"},
    "profile": {1: "value type", 2: "sample", 5: "value type"}, "key value": {2: "any value"},
    LOCATION: {3: "line"}, ATTRIBUTE: {2: "any value"},
}
REPEATED = {("profile", 11), ("sample", 2), (MAPPING, 5), (LOCATION, 4), (STACK, 1)}
ZERO_LINK = {1: [bytes(16)], 2: [bytes(8)]}
SCHEMA = re.compile(rb"https://opentelemetry\.io/schemas/\d+\.\d+\.\d+")
BUILD_IDS = {f"process.executable.build_id.{kind}" for kind in ("gnu", "go", "htlhash")}


class Check:
    def __init__(self, data):
        self.found = Counter()
        self.top = message(data)
        tables = message(self.top[2][0])
        self.entries = {t: [e if t == STRING else message(e) for e in tables.get(t, [])] for t in TABLES}
        self.used = {t: set() for t in TABLES}
        self.values = {t: {} for t in TABLES}
        self.ids = Counter()

    def wrong(self, text):
        self.found[text] += 1

    def indices(self, kind, m):
        """(table, indices) of each field that has some."""
        for number, table in INDICES.get(kind, {}).items():
            for value in m.get(number, []):
                yield table, packed(value) if (kind, number) in REPEATED and isinstance(value, bytes) else [value]

    def walk(self, kind, m):
        for table, indices in self.indices(kind, m):
            for index in indices:
                self.use(table, index)
            if table == ATTRIBUTE:
                self.keys([self.entries[ATTRIBUTE][i].get(1) for i in indices], kind)
        for number, inside in INSIDE.get(kind, {}).items():
            for data in m.get(number, []):
                self.walk(inside, message(data))
        check = getattr(self, "check_" + str(kind).replace(" ", "_"), None)
        if check:
            check(m)

    def use(self, table, index):
        if index >= len(self.entries[table]):
            self.wrong(f"an index is beyond the {NAMES[table]} table")
        elif index and index not in self.used[table]:
            self.used[table].add(index)
            if table != STRING:
                self.walk(table, self.entries[table][index])

    def keys(self, keys, where):
        if len(keys) != len(set(map(str, keys))):
            self.wrong(f"an attribute's key occurs twice in a {NAMES.get(where, where)}")

    def value(self, table, index):
        """The value of an entry, with what it refers to: equal ones are duplicates."""
        known = self.values[table]
        if index not in known:
            m = self.entries[table][index]
            known[index] = m if table == STRING else self.message_value(table, m)
        return known[index]

    def message_value(self, kind, m):
        refers, inside = INDICES.get(kind, {}), INSIDE.get(kind, {})
        out = [(t, tuple(self.value(t, i) for i in indices)) for t, indices in self.indices(kind, m)]
        out += [(n, self.message_value(inside[n], message(d))) for n in inside for d in m.get(n, [])]
        out += [(n, tuple(v)) for n, v in sorted(m.items()) if n not in refers and n not in inside]
        return tuple(out)

    # ---- what the messages must have ----

    def check_resource_profiles(self, m):
        if not SCHEMA.fullmatch(one(m, 3) or b""):
            self.wrong("no schema_url of a resource")
        if not m.get(2):
            self.wrong("a resource without profiles")

    def check_resource(self, m):
        self.keys([message(pair).get(1) for pair in m.get(1, [])], "resource")

    def check_scope_profiles(self, m):
        if not SCHEMA.fullmatch(one(m, 3) or b""):
            self.wrong("no schema_url of a scope")
        if not m.get(2):
            self.wrong("a scope without profiles")

    def check_profile(self, m):
        if len(one(m, 7) or b"") != 16 or not any(m[7][0]):
            self.wrong("no profile_id")
        self.ids[one(m, 7)] += 1
        samples = list(map(message, m.get(2, [])))
        if not samples:
            self.wrong("a profile without samples")
        same = Counter((one(s, 1), frozenset(packed(one(s, 2) or b"")), one(s, 3)) for s in samples)
        if any(cnt > 1 for cnt in same.values()):
            self.wrong("two samples of a profile have the same identity")

    def check_sample(self, m):
        if not (m.get(4) or m.get(5)):
            self.wrong("a sample without a value")

    def check_1(self, m):
        keys = {self.entries[STRING][one(self.entries[ATTRIBUTE][i], 1)].decode()
                for field in m.get(5, []) for i in packed(field)}
        if not keys & BUILD_IDS:
            self.wrong("a mapping without a build id")

    def check_2(self, m):
        if one(m, 2) and not one(m, 1):
            self.wrong("an address in no mapping")

    def check_3(self, m):
        if not any(one(m, n) for n in (1, 2, 3)):
            self.wrong("a function without a name and a file")

    # ---- the tables ----

    def check_table(self, table):
        entries, name = self.entries[table], NAMES[table]
        zero = {LINK: ZERO_LINK, STRING: b""}.get(table, {})
        if not entries or entries[0] != zero:
            self.wrong(f"entry 0 of the {name} table is not the zero value")
        unused = set(range(1, len(entries))) - self.used[table]
        if unused:
            first = min(unused)
            self.wrong(f"{len(unused)} orphans in the {name} table, such as {first}: {entries[first]}")
        values = Counter(self.value(table, i) for i in range(len(entries)))
        for value, cnt in values.items():
            if cnt > 1:
                self.wrong(f"{cnt} equal entries in the {name} table: {value}")

    def problems(self):
        self.walk("request", self.top)
        for table in TABLES:
            self.check_table(table)
        if any(cnt > 1 for cnt in self.ids.values()):
            self.wrong("two profiles have the same id")
        return sorted(self.found)


def problems(data):
    """What is wrong with an ExportProfilesServiceRequest, a text for each kind; []: nothing."""
    return Check(data).problems()
