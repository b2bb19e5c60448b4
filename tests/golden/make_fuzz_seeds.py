#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the seeds of tests/fuzz/fuzz_image.c, fuzz_resolver.c, fuzz_elf.c, fuzz_maps.c,
fuzz_container_files.c, fuzz_process_ctx.c, fuzz_service.c, fuzz_native_record.c, fuzz_async_record.c, fuzz_native_walk.c,
fuzz_page_book.c, fuzz_page_content.c, fuzz_pymalloc.c, fuzz_tasks.c, fuzz_coroutines.c, fuzz_loop_states.c,
fuzz_mimalloc.c and fuzz_block_look.c.

    tests/golden/make_fuzz_seeds.py tests/golden

image: each made-up CPython, with a few changes, and an ELF header alone. resolver: a code
object with its strings and line table, for 3.6, 3.10, 3.11 and 3.12; pointers are offsets in the memory.
elf: a program and the library that it needs. maps: lists as the kernel prints them. container_files: one
file of each kind. process_ctx: payloads of process contexts. service: a command line and an environment.
native_record: machine code that calls Python, with entries, without, and cut off.
native_walk: a process with two files, and stacks.
page_book: lives of pages, of huge pages, moves, looks at contents; a worker's reply.
page_content: pools of both sizes; chunks of a heap, and of mappings.
pymalloc: each version and build; with words of the pool's header, of objects and of types changed.
tasks: each version and build, with some words changed.
mimalloc: each version and build; whole, with words of the header, of pages and of lists changed, and while it is read.
block_look: chunks of glibc's malloc, in use and free, cached and mapped; a group of musl's; mappings, odd places.
"""
import json
import os
import struct
import sys

# co_filename, co_name, co_qualname, co_linetable, co_firstlineno, co_version, co_code; then
# sizeof(PyASCIIObject), sizeof(PyCompactUnicodeObject): user/cpython/layouts.inc
ROWS = {6: (96, 104, 104, 112, 36, None, 40, 48, 72),
        10: (104, 112, 112, 120, 40, None, 48, 48, 72),
        11: (112, 120, 128, 136, 72, None, 184, 48, 72),
        12: (112, 120, 128, 136, 68, 92, 192, 40, 56)}
ASCII, COMPACT, KIND = 0x40, 0x20, 2
PAIRS = bytes((0, 1, 8, 2, 6, 255, 250, 0, 4, 128, 10, 3))
BYTECODE = bytes((151, 0, 171, 1, 106, 7, 1, 9, 255, 3, 1, 0))
TABLE = bytes((0x80, 0x21, 0x80 | 11 << 3, 4, 9, 0xf0, 2, 1, 5, 7, 0xe8, 5, 0xf8))
LASTI = 1


def put(memory, at, data):
    memory[at:at + len(data)] = data


def put_str(memory, at, text, row):
    width = 1 if max(text) < "\x80" else 2 if max(text) < "\U00010000" else 4
    state = width << KIND | COMPACT | (ASCII if width == 1 else 0)
    put(memory, at + 16, struct.pack("<Q", len(text)))
    put(memory, at + 32, struct.pack("<I", state))
    encoding = {1: "ascii", 2: "utf-16-le", 4: "utf-32-le"}[width]
    put(memory, at + row[7 if width == 1 else 8], text.encode(encoding))


def resolver(minor, names):
    row = ROWS[minor]
    memory = bytearray(1200)
    code, table, strings = 16, 300, (400, 600, 800)
    for offset, target in zip(row, (strings[0], strings[1], strings[2], table)):
        put(memory, code + offset, struct.pack("<Q", target))
    put(memory, code + row[4], struct.pack("<i", 42))
    lines = TABLE if minor >= 11 else PAIRS
    if minor >= 11:
        put(memory, code + row[6], BYTECODE)
    else:       # an object of its own
        put(memory, code + row[6], struct.pack("<Q", 1000))
        put(memory, 1032, BYTECODE)
    put(memory, table + 16, struct.pack("<Q", len(lines)))
    put(memory, table + 32, lines)
    for at, text in zip(strings, names):
        put_str(memory, at, text, row)
    return bytes((minor - 6, LASTI, 0, 0)) + struct.pack("<I", code) + memory


def images():
    yield b"\0\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 120, 0,
                                                     64, 56, 1, 64, 1, 0) + bytes(120)
    for which in range(1, 14):
        yield bytes((which, 0x10, 0, 2, 0x80, 1, 0xff, 0, 3, 1))


# ---- elf ----

BASE, TABLES = 0x400000, 0x200
NT_GNU_BUILD_ID = 3


def elf(names, dynamic, defined, relocated=()):
    """One PT_LOAD with all of it, PT_DYNAMIC, PT_NOTE; symbols 1 to n are names, in one hash bucket."""
    strings, offsets = b"\0", []
    for name in [*names, *(value for _, value in dynamic if isinstance(value, str))]:
        offsets.append(len(strings))
        strings += name.encode() + b"\0"
    symbols = bytes(24)
    for at in offsets[:len(names)]:
        symbols += struct.pack("<IBBHQQ", at, 0x12, 0, int(defined), BASE + 0x100 if defined else 0, 8)
    count = len(names)
    table = struct.pack("<III", 1, count + 1, 1) + b"".join(
        struct.pack("<I", i + 1 if 0 < i < count else 0) for i in range(count + 1))
    rela = b"".join(struct.pack("<QQq", BASE + 0x80 + 8 * i, (i + 1) << 32 | 7, 0) for i in relocated)
    note = struct.pack("<III4s20s", 4, 20, NT_GNU_BUILD_ID, b"GNU", bytes(range(20)))
    body, places = b"", {}
    for name, part in (("sym", symbols), ("str", strings), ("hash", table), ("rela", rela), ("note", note)):
        places[name] = BASE + TABLES + len(body)
        body += part + bytes(-len(part) % 8)
    entries, more = [(5, places["str"]), (10, len(strings)), (6, places["sym"]), (4, places["hash"]),
                     (23, places["rela"]), (2, len(rela)), (30, 8)], iter(offsets[count:])
    entries += [(tag, next(more) if isinstance(value, str) else value) for tag, value in dynamic]
    dynamics = b"".join(struct.pack("<qQ", *entry) for entry in [*entries, (0, 0)])
    at, size = TABLES + len(body), TABLES + len(body) + len(dynamics)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0)
    for kind, start, length in ((1, 0, size), (2, at, len(dynamics)),
                                (4, places["note"] - BASE, len(note))):
        head += struct.pack("<IIQQQQQQ", kind, 5, start, BASE + start, BASE + start, length, length, 8)
    return head + bytes(TABLES - len(head)) + body + dynamics


def elves():
    functions = ["Py_BytesMain", "Py_Initialize", "PyRun_SimpleString"]
    needed, runpath, soname = 1, 29, 14
    library = elf([*functions, "_PyRuntime", "Py_Version"], [(soname, "libpython3.11.so.1.0")], True)
    for dynamic in ([(needed, "libc.so.6"), (needed, "libpython3.11.so.1.0"), (runpath, "$ORIGIN/../lib:/opt/lib")],
                    [(needed, "libpython3.11.so.1.0")], []):
        program = elf(functions, dynamic, False, range(3))
        yield struct.pack("<I", len(program)) + program + library


# ---- maps ----

def maps():
    def line(at, perms, offset, inode, path):
        return b"%08x-%08x %s %08x 08:01 %d                  %s\n" % (at, at + 0x1000, perms, offset, inode, path)

    def code(at, inode, path):
        return line(at, b"r--p", 0, inode, path) + line(at + 0x1000, b"r-xp", 0x1000, inode, path)

    exe = code(0x400000, 1, b"/usr/bin/python3.11")
    yield b"400040 /usr/bin/python3.11\n" + exe + code(0x7f0000, 2, b"/lib/libpython3.11.so.1.0") + \
        code(0x7f8000, 3, b"/lib/x86_64-linux-gnu/libc.so.6") + b"7ffc0000-7ffd0000 rw-p 00000000 00:00 0    [stack]\n"
    yield b"0 /tmp/a\\012b\n" + code(0x400000, 1, b"/tmp/a\\012b") + code(0x500000, 2, b"/tmp/x (deleted)")
    yield b"0\n" + b"".join(line(0x1000 * i, b"r--s", 0, i, b"/data/%d" % i) for i in range(1, 50)) + exe
    yield b"0 /x\n" + line(0, b"r-xp", 0, 1, b"/" + b"long" * 200) + line(1, b"rw-p", 0, 0, b"[heap]")


# ---- container_files ----

ID = "0123456789abcdef" * 4


def container_files():
    kube = {"io.kubernetes.container.name": "app", "io.kubernetes.pod.name": "p\n\x1b[2J",
            "io.kubernetes.pod.namespace": "\u6f22"}
    texts = [{"ID": ID, "Name": "/busy", "Config": {"Image": "img:1", "Labels": kube}},
             {"annotations": {"nerdctl/name": "app", "nerdctl/image-name": "img", "io.kubernetes.cri.container-name": "app",
                              "io.kubernetes.cri.sandbox-name": "p", "io.kubernetes.cri.sandbox-namespace": "n"},
              "process": {"args": ["a"] * 20}},
             [{"id": ID, "names": ["busy"], "image": "i", "metadata": json.dumps({"image-name": "img", "name": "b"})},
              {"id": "f" * 64, "names": []}],
             {"data-root": "/srv/docker"}]
    for which, text in enumerate(texts):
        yield bytes((which,)) + json.dumps(text, separators=(",", ":")).encode()


# ---- process_ctx ----

def varint(v):
    out = bytearray()
    while v > 0x7f:
        out.append(v & 0x7f | 0x80)
        v >>= 7
    return bytes(out) + bytes((v,))


def field(number, value):
    """A field of a message: an int, a float, or bytes and text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def any_value(value):
    if isinstance(value, list):
        return field(5, b"".join(field(1, any_value(v)) for v in value))
    kinds = {str: 1, bool: 2, int: 3, float: 4, bytes: 7}
    return field(kinds[type(value)], int(value) if isinstance(value, bool) else value)


def key_values(number, attributes):
    return b"".join(field(number, field(1, key) + field(2, any_value(value))) for key, value in attributes.items())


def process_ctx():
    resource = {"service.name": "shop", "service.version": "1.4.2", "service.instance.id": "627cc493-f310-47de",
                "deployment.environment.name": "prod", "telemetry.sdk.language": "python", "host.name": "web1"}
    threads = {"threadlocal.schema_version": "tlsdesc_v1_dev",
               "threadlocal.attribute_key_map": ["http.route", "http.request.method", "user.id"]}
    yield field(1, key_values(1, resource)) + key_values(2, threads)
    yield field(1, key_values(1, {"a": True, "b": -5, "c": 0.5, "d": ["x", ["y"]], "e": b"\xff\0", "\u6f22": "\x1b[2J\n"}))
    yield field(1, key_values(1, {"key.%d" % i: "v" * i for i in range(60)})) + field(9, 1)
    yield key_values(2, dict(threads, **{"threadlocal.attribute_key_map": ["k%d" % i for i in range(80)]}))


# ---- service ----

def service():
    environ = b"PATH=/bin\0OTEL_SERVICE_NAME=shop\0OTEL_RESOURCE_ATTRIBUTES=a=b%20c,service.version=%31,host.name=x\0"
    yield b"/usr/bin/python3\0-u\0-W\0ignore\0/usr/bin/gunicorn\0app:app\0\n" + environ
    yield b"gunicorn: master [app]\0\0\0\n"
    yield b"python3\0-m\0coverage\0run\0--source\0a\0-m\0cProfile\0-o\0f\0/srv/x/__main__.py\0\n" + environ
    yield b"[celeryd: celery@h:MainProcess] -active- (worker)\nOTEL_SERVICE_NAME=unknown_service:python\0"
    yield b"/usr/bin/python3 /usr/bin/salt-minion W\0\nOTEL_RESOURCE_ATTRIBUTES=service.name=%e2%82%ac%,=,x\0"
    yield b"python3\0-c\0from multiprocessing.spawn import spawn_main\0\n"


# ---- native_record ----

# enum native_class, in fake_native.h's libpython the lowest digit of an address
CODE, EVAL, PLUMBING, START = range(4)
FULL, LATER, NAMELESS, LINES, VERSION_3_10, NO_STACK = (1 << bit for bit in range(6))
SP = 0x7ffd00001000


def native_record(python, special, flags, classes, entries=(), end=0, gc_at=0, left_out=0):
    """entries: (C frame, Python frames). The record from raw_native.nframes on."""
    head = bytes((python - 1, special, flags, gc_at)) + struct.pack("<HHBBII", len(classes), len(entries), end, 0,
                                                                    left_out, 0)
    frames = [struct.pack("<QII", 0x65000 + c, 64 * (i + 1), 1 if c == CODE else 2) for i, c in enumerate(classes)]
    return head + b"".join(struct.pack("<QII", SP + 64 * at + 8, n, 0) for at, n in entries) + b"".join(frames)


def native_records():
    nested = [CODE, CODE, PLUMBING, EVAL, PLUMBING, CODE, EVAL, START, CODE]
    yield native_record(5, 0, 0, nested, [(3, 2), (6, 5)])
    yield native_record(5, FULL | LINES, 4, nested, [(3, 2), (6, 5)], gc_at=2)
    yield native_record(2, VERSION_3_10, 0, nested)
    yield native_record(9, LATER, 1, nested[:3], [(3, 2), (6, 5)], end=5)
    yield native_record(1, NO_STACK | NAMELESS, 0, nested)
    yield native_record(256, LATER | LINES, 128, [CODE] * 127 + [EVAL], [(127, 256)])
    # Deep stacks, with a gap: calls on both sides of it.
    deep = ([CODE] * 7 + [EVAL]) * 64
    yield native_record(64, 0, 0, deep, [(8 * i + 7, i + 1) for i in range(64)], left_out=80)
    yield native_record(80, FULL | LINES | VERSION_3_10, 0, deep, left_out=3584)
    yield native_record(1, NO_STACK, 0, deep, left_out=1)


# ---- async_record ----

def async_record(cnt, at, tasks, end=0, flags=0, name=b"", sample=0):
    """tasks: of each how many frames it has."""
    starts = bytes(sum(tasks[:i]) for i in range(len(tasks))).ljust(16, b"\0")
    frames = b"".join(struct.pack("<QII", 0x900000 + i * 4096, 2 * i, 1) for i in range(sum(tasks)))
    return (bytes([cnt - 1, sample]) + struct.pack("<H4B", at, sum(tasks), len(tasks), end, flags) + starts +
            struct.pack("<QII", 0x4000 if name else 0, len(name), 0) + name.ljust(384, b"\0") + frames)


def async_records():
    yield async_record(7, 2, [2, 0, 3])
    yield async_record(256, 255, [8] * 16, flags=1)
    yield async_record(5, 1, [], sample=2)
    yield async_record(5, 4, [], end=3)
    yield async_record(9, 3, [1, 1], name=bytes(16) + struct.pack("<QQQ", 4, 0, 0x64) + b"read\0")


# ---- native_walk ----

MAPPED, FILE, STACK, ROW = 0x700000000000, 0x4000, 0x7ff000000000, 64
SP_RULE, FP_RULE, EXT, SIGNAL, END, PLT = 1, 2, 3, 4, 5, 7     # enum unwind_cfa


def native_table(stamp):
    return struct.pack("<Q6IHBBI", FILE, 8 * ROW, 1, 8, 64, 32, 1, 8, 0, 0, stamp)


def native_walk():
    def frame(base, off, fp=0):
        return base | off // 8 << 3 | fp << 16 | 1 << 24
    rules = (frame(SP_RULE, 8), frame(SP_RULE, 48, 2), frame(FP_RULE, 16, 2), PLT | 11 << 3, EXT, SIGNAL, END, 0)
    rows = b"".join(struct.pack("<II", i * ROW, rule) for i, rule in enumerate(rules)).ljust(256, b"\0")
    rows += struct.pack("<3I", 0, 4, 7).ljust(256, b"\0") + struct.pack("<4BihhI", 8, 2, 1, 0, 8, 0, -8, 0)
    mappings = b"".join(struct.pack("<3Q2I", at, at + 0x80000, at - FILE, i + 1, i + 10)
                        for i, at in enumerate((MAPPED, MAPPED + 0x100000)))
    tables = b"".join(map(native_table, (1, 2))).ljust(160, b"\0")

    def at(row, off=16):
        return MAPPED + row * ROW + off

    def walk(pc, words):
        stack = [0] * 512
        for i, word in words.items():
            stack[i] = word
        return (struct.pack("<3Q4I", pc, STACK + 256, STACK + 512, 0, 2, 1, 0) + tables + mappings.ljust(256, b"\0") +
                rows.ljust(3072, b"\0") + struct.pack("<512Q", *stack))
    yield walk(at(0), {32: at(1), 37: STACK + 1024, 38: at(2), 128: 0, 129: at(6)})
    yield walk(at(3, 27), {33: at(0), 34: at(2), 64: STACK + 1024, 65: at(4), 67: STACK + 1024, 127: at(6)})
    yield walk(at(0), {32: at(5), 48: STACK + 2048, 53: STACK + 1024, 54: at(2, 0), 256: 0, 257: at(6)})
    # Deeper than a record: a signal frame that leads to itself.
    yield walk(at(5), {52: STACK + 256, 53: at(5)})


def pymalloc():
    """Changes of fuzz_pymalloc.c: of the pool (1) or the memory (0), where, and the new u16."""
    header = [(1, 0, 3), (1, 8, 0x4030), (1, 36, 1), (1, 40, 0x90)]
    objects = [(1, 48 + 144 * i + 24, value) for i in range(12) for value in (0xffff, 0)]
    types = [(0, where, value) for where in range(64, 4096, 272) for value in (0x10, 0xffff)]
    for minor in range(10):
        for special in (0, 1, 2, 4, 8, 3, 6, 7):
            changes = [[], header[minor % 4:][:1], objects[minor::5], types[minor::3]][special % 4]
            yield bytes([minor, special]) + b"".join(struct.pack("<BHH", *change) for change in changes)


def page_book():
    """Steps of fuzz_page_book.c: what, page (2 bytes), weight or frame, stack or kind, three more."""
    touch, answer, huge, move, new, whole, end, _, soon, again = range(10)

    def steps(*rows):
        return b"".join(struct.pack("<BH5B", *row, *([0] * (7 - len(row)))) for row in rows)
    yield steps((touch, 16, 15, 1, 7), (touch, 17, 15, 2, 7), (new, 0), (answer, 16, 5, 1, 255, 1),
                (answer, 17, 6, 5, 255, 1), (touch, 16, 15, 3, 7), (answer, 16, 9, 1, 255, 1), (whole, 0),
                (answer, 16, 0, 0, 255, 1), (touch, 16, 15, 1, 7), (end, 0))
    yield steps((touch, 5120, 15, 1, 7), (touch, 8192, 15, 2, 7), (huge, 5120, 200, 0, 2, 9, 21), (whole, 0),
                (huge, 8192, 100, 0, 5, 3, 21), (huge, 5120, 200, 0, 1, 9, 21), (answer, 5632, 0, 0, 255, 1))
    yield steps((touch, 64, 15, 1, 7), (answer, 64, 5, 1, 255, 1), (touch, 65, 15, 2, 7), (move, 64, 4, 0, 2),
                (answer, 512, 5, 1, 255, 1), (touch, 64, 15, 3, 7), (answer, 64, 6, 1, 255, 1), (whole, 0),
                (answer, 513, 0, 0, 255, 1), (end, 7), (touch, 90, 15, 1, 7))
    yield steps((touch, 64, 15, 1, 7), (soon, 64, 6, 1, 1), (answer, 64, 5, 1, 255, 1), (again, 64, 6, 1, 1),
                (touch, 65, 15, 2, 7), (soon, 65, 6, 1, 1), (answer, 65, 6, 1, 255, 1), (again, 65, 6, 2, 1),
                (again, 64, 2, 1, 1), (touch, 64, 15, 3, 7), (again, 64, 6, 1, 1))
    states = b"".join(struct.pack("<QQBB3HII", 0, 7, kind, 0, 0, 0, 0, 0, 0) for kind in (0, 1))
    yield struct.pack("<4QiIII", 9, 4096, 0, 0, 0, len(states) // 32, 1, 0) + states


def page_content():
    """The memory of fuzz_page_content.c, of which the last byte says the page."""
    def pool(size, block, objects):
        carved = len(objects)
        head = struct.pack("<QQQQ4I", carved - 1, 0x7f0000000000 + 48 + 2 * block, 0, 0, 0, block // 16 - 1,
                           48 + carved * block, size - block)
        return (head + b"".join(o.ljust(block, b"\0")[:block] for o in objects)).ljust(size, b"\0")

    text = struct.pack("<6Q", 3, 0x7f1234567890, 5, 2**64 - 1, 0xe4, 0x656c646e61)
    item = struct.pack("<6Q", 0x7f0000001000, 0x7f0000002000, 1, 0x7f1234567890, 4, 0x7f0000003000)
    free = struct.pack("<Q", 0)
    for size in (4096, 16384):
        yield pool(size, 64, [text, item, free, text, struct.pack("<3Q", 1, 5, 9)] * 10 + [text])
    chunks = b"".join(struct.pack("<QQ", 0, n | 1).ljust(n, b"\1") for n in (32, 1040, 48, 4112, 20016, 1040))
    yield chunks + struct.pack("<QQ", 0, 2**18 - len(chunks) | 1) + b"\5"
    yield (struct.pack("<QQ", 0, 0x5002).ljust(0x5000, b"\3") + struct.pack("<QQ", 0, 0x3002)).ljust(0x8000, b"\6")


def tasks():
    """A byte for the version; which word, and what is written there: a u16 and a u32 each."""
    for how in range(8):
        yield bytes([how]) + b"".join(struct.pack("<HI", i * 11 + how, i * 977 + 4096 * (i % 3))
                                      for i in range(4 + how))


def coroutines():
    """As tasks(), with a byte for the version, heads and memory everywhere."""
    for how in range(32):
        yield bytes([how]) + b"".join(struct.pack("<HI", i * 7 + how, i * 977 + 4096 * (i % 3)) for i in range(how % 5))


def loop_states():
    """A byte for the version, one for what is special; then pokes as those of tasks()."""
    for minor in range(8):
        for special in (0, 2, 4):
            yield bytes([minor, special]) + b"".join(
                struct.pack("<HI", (i * 37 + minor) % 997, (0, 1, 5000 * i + 77, 4095, (1 << 31) + i * 1000)[i % 5]) for i in range(6))


def mimalloc():
    """Pokes of fuzz_mimalloc.c: slice, offset, value."""
    poke = struct.Struct("<BHH").pack
    for layout in range(8):
        slices, page = (264, (96, 112, 80, 96)[layout]) if layout < 4 else (288, (112, 128, 96, 112)[layout - 4])
        info = 2 if slices + 513 * page > 65536 else 1
        small, medium = (slices + (info + i) * page for i in (0, 1))
        yield bytes((layout, 2))
        yield bytes((layout, 3)) + poke(0, small + 16, 0) + poke(0, small + 10, 90)
        yield bytes((layout, 7)) + poke(info, 3 * 48, 0x8001) + poke(0, medium + 10, 9)
        yield bytes((layout, 0)) + poke(0, medium, 512) + poke(0, small + 12, 3)


def block_look():
    """Places of fuzz_block_look.c: kind, offset, size; then the memory."""
    base, place = 0x7f0000000000, struct.Struct("<BHI").pack
    odd = place(2, 64, 4096) + place(4, 8, 64) + place(4, 40, 16) + place(8, 0, 32) + place(17, 64, 5) + \
        place(19, 64, 9) + place(2, 65535, 100)
    sizes, at, places, chunks = (32, 1040, 48, 4112, 64, 20016, 1040, 96, 112, 528), 0, b"", b""
    for i, size in enumerate(sizes):
        at = len(chunks) + 16
        used = not (i and sizes[i - 1] == 4112)         # the chunk before it
        places += place(1, at, size - 8)
        first, second = (base + 0x400 ^ base + at >> 12, 0x1234) if size == 64 else (1, 0)
        chunks += struct.pack("<4Q", 0, size | used, first, second).ljust(size, b"\0")
    end = struct.pack("<QQ", 0, 0x20001)
    yield places + b"\0" + chunks + end
    yield places + odd + b"\0" + struct.pack("<QQ", 0, 0x5002).ljust(0x5000, b"\3")
    group, meta = base + 0x100, base + 0x40             # UNIT 16, blocks of 64 bytes
    memory = bytearray(0x1000)
    put(memory, 0x40 + 16, struct.pack("<Q", group))
    put(memory, 0x100, struct.pack("<Q", meta))
    places = b""
    for i in range(10):
        at = 0x110 + 64 * i
        places += place(1, at, 60)
        put(memory, at - 8 + 5, struct.pack("<BH", 255 if i == 3 else i, 4 * i))
    yield places + odd + b"\0" + memory


def main(golden):
    seeds = {"fuzz_elf": list(elves()), "fuzz_maps": list(maps()),
             "fuzz_container_files": list(container_files()),
             "fuzz_process_ctx": list(process_ctx()), "fuzz_service": list(service()),
             "fuzz_native_record": list(native_records()),
             "fuzz_async_record": list(async_records()),
             "fuzz_native_walk": list(native_walk()),
             "fuzz_page_book": list(page_book()), "fuzz_pymalloc": list(pymalloc()),
             "fuzz_page_content": list(page_content()), "fuzz_tasks": list(tasks()),
             "fuzz_coroutines": list(coroutines()),
             "fuzz_loop_states": list(loop_states()),
             "fuzz_mimalloc": list(mimalloc()), "fuzz_block_look": list(block_look()),
             "fuzz_image": list(images()), "fuzz_resolver": [
        resolver(11, ("/srv/spam.py", "eggs", "Spam.eggs")),
        resolver(12, ("/srv/\u6f22.py", "eggs", "\U0001f600.eggs")),
        resolver(6, ("/srv/spam.py", "eggs", "eggs")),
        resolver(10, ("/srv/\u6f22.py", "\U0001f600", "\U0001f600"))]}
    for name, inputs in seeds.items():
        os.makedirs(os.path.join(golden, name), exist_ok=True)
        for i, data in enumerate(inputs):
            with open(os.path.join(golden, name, "%d.%s" % (i, "txt" if name == "fuzz_maps" else "bin")), "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main(sys.argv[1])
