// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_python_threads.c - names of threads out of hostile memory.
 *
 * Input: bytes for the version and for what is special; then pokes into the memory of a process
 * that has imported threading, each a u16 for where and a u16 that is written there. Memory is at
 * every address (modulo its size), so that whatever is taken for a pointer leads somewhere.
 */

#include "tests/fuzz/check.h"
#include "tests/unit/cpython/fake_threads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fake_threads f;
static struct python_threads found;

static void check_found(void)
{
	uint32_t i;

	check(found.cnt <= PYTHON_THREADS_MAX && f.reads <= 16384 + 2 * PYTHON_THREADS_MAX);
	for (i = 0; i < found.cnt; i++) {
		check(found.list[i].tid && found.list[i].name[0]);
		check(memchr(found.list[i].name, 0, PYTHON_THREAD_BYTES));
		python_thread_is_numbered(found.list[i].name);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t poke[2];
	size_t i;

	if (size < 2)
		return 0;
	fake_threads_make(&f, 6 + data[0] % 8, data[1] & 1);
	f.at.musl = data[1] & 2;
	fake_thread(&f, 100, "MainThread", FAKE_DICT);
	fake_thread(&f, 101, "worker", FAKE_SPLIT_DICT);
	fake_thread(&f, 102, "Thread-1 (work)", data[0] % 8 >= 5 ? FAKE_VALUES : FAKE_DICT);
	if (data[1] & 4)
		f.at.active = f.active;
	if (data[1] & 8)
		f.target.read = fake_threads_everywhere;
	for (i = 2; i + sizeof(poke) <= size; i += sizeof(poke)) {
		memcpy(poke, data + i, sizeof(poke));
		fake_poke(&f, FAKE_BASE + poke[0] % f.used, poke[1], 2);
	}
	f.reads = 0;
	python_threads_read(&f.target, &f.at, &found);
	check_found();
	return 0;
}
