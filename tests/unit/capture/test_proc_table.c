// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_proc_table.c - which entries of py_procs go. The functions of libbpf are replaced: the map
 * is an array, and its order that of the keys.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "capture/proc_table.h"
#include "tests/unit/tach_test.h"

#define PIDS 4096

static uint8_t states[PIDS];	/* enum py_proc_state of a pid; 0: no entry */
static unsigned int looks;

int bpf_map__get_next_key(const struct bpf_map *map, const void *cur_key, void *next_key,
			  size_t key_sz)
{
	const uint32_t *after = cur_key;
	uint32_t *next = next_key, i = after && states[*after] ? *after + 1 : 0;

	looks++;
	for (; i < PIDS && !states[i]; i++)
		;
	*next = i;
	return i < PIDS ? 0 : -ENOENT;
}

int bpf_map__lookup_elem(const struct bpf_map *map, const void *key, size_t key_sz, void *value,
			 size_t value_sz, __u64 flags)
{
	struct py_proc *py = value;

	*py = (struct py_proc){ .state = states[*(const uint32_t *)key] };
	return py->state ? 0 : -ENOENT;
}

int bpf_map__delete_elem(const struct bpf_map *map, const void *key, size_t key_sz, __u64 flags)
{
	states[*(const uint32_t *)key] = 0;
	return 0;
}

int bpf_map__update_elem(const struct bpf_map *map, const void *key, size_t key_sz,
			 const void *value, size_t value_sz, __u64 flags)
{
	return -ENOTSUP;
}

__u32 bpf_map__max_entries(const struct bpf_map *map)
{
	return PIDS;
}

/* Each of them is found at last, wherever it is, and a call does not look at all entries. */
static void test_the_unseen_go(void **state)
{
	uint32_t after = 0, i, removed = 0, calls;

	for (i = 1; i < PIDS; i++)
		states[i] = i % 8 && i != PIDS - 1 ? PY_PROC_PYTHON : PY_PROC_UNSEEN;
	for (calls = 0; removed < PIDS / 8 && calls < 2 * PIDS; calls++) {
		looks = 0;
		removed += proc_table_remove_unseen(NULL, &after);
		assert_true(looks <= 256);
	}
	assert_int_equal(removed, PIDS / 8);
	assert_true(calls <= PIDS / 8 + 1);
	for (i = 1; i < PIDS; i++)
		assert_int_equal(states[i], i % 8 && i != PIDS - 1 ? PY_PROC_PYTHON : 0);
	assert_false(proc_table_remove_unseen(NULL, &after));
}

/* A single one among many: a few calls later. An entry that goes meanwhile does no harm. */
static void test_one_among_many(void **state)
{
	uint32_t after = 0, i;
	bool found = false;

	for (i = 1; i < PIDS; i++)
		states[i] = PY_PROC_PYTHON;
	states[PIDS - 1] = PY_PROC_UNSEEN;
	for (i = 0; !found && i <= PIDS / 256; i++)
		found = proc_table_remove_unseen(NULL, &after);
	assert_true(found);
	memset(states, 0, sizeof(states));
	assert_false(proc_table_remove_unseen(NULL, &after));
}

static void test_all_the_unseen_go(void **state)
{
	uint32_t i;

	for (i = 1; i < PIDS; i++)
		states[i] = i % 3 ? PY_PROC_PYTHON : PY_PROC_UNSEEN;
	proc_table_remove_all_unseen(NULL);
	for (i = 1; i < PIDS; i++)
		assert_int_equal(states[i], i % 3 ? PY_PROC_PYTHON : 0);
	memset(states, 0, sizeof(states));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_unseen_go),
		cmocka_unit_test(test_one_among_many),
		cmocka_unit_test(test_all_the_unseen_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
