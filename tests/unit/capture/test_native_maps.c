// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_native_maps.c - what the BPF side's maps for machine code get, and who has a place. The
 * functions of libbpf and of lifecycle.h are replaced.
 */
#include <bpf/bpf.h>

#include "capture/lifecycle.h"
#include "capture/native_maps.h"
#include "tests/unit/capture/fake_table.h"
#include "tests/unit/tach_test.h"

#define TGID 4000
#define START 77
/* The declaration of a slab in bpf/native.bpf.h has it; the kernel compares the two. */
#define MAP_IN_USER_SPACE (1 << 10)
enum { MEMORY = 100, TABLES, PLACES };

/* The last call of each kind. */
static struct {
	int made, err;			/* bpf_map_create(): calls; why they and writes fail */
	int map;
	uint32_t key;
	uint8_t value[16];
	int writes, deletes;
	bool ends;			/* the process ends while its place is written */
} fake;
static struct tracked tracked;
static struct lifecycle life;
static struct map_set set;
static struct native_maps maps;

int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size, __u32 value_size,
		   __u32 max_entries, const struct bpf_map_create_opts *opts)
{
	assert_int_equal(type, BPF_MAP_TYPE_ARRAY);
	assert_true(key_size == 4 && value_size == NATIVE_CHUNK &&
		    max_entries == NATIVE_SLAB_CHUNKS);
	assert_int_equal(opts->map_flags, MAP_IN_USER_SPACE);
	if (fake.err) {
		errno = fake.err;
		return -1;
	}
	fake.made++;
	return dup(STDERR_FILENO);
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	size_t bytes = fd == MEMORY ? 4 : 16;

	if (fake.err) {
		errno = fake.err;
		return -1;
	}
	fake.writes++;
	fake.map = fd;
	fake.key = *(const uint32_t *)key;
	memcpy(fake.value, value, bytes);
	if (fd == PLACES && fake.ends)
		proc_table_remove(NULL, TGID);
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	assert_int_equal(fd, PLACES);
	if (*(const uint32_t *)key != fake.key) {
		memset(value, 0xff, 4);
		errno = ENOENT;
		return -1;
	}
	memcpy(value, fake.value, sizeof(struct native_place));
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	assert_int_equal(fd, PLACES);
	fake.deletes++;
	fake.key = *(const uint32_t *)key;
	if (fake.err) {
		errno = fake.err;
		return -1;
	}
	return 0;
}

struct tracked *lifecycle_find(struct lifecycle *l, pid_t tgid)
{
	assert_ptr_equal(l, &life);
	return tgid == TGID ? &tracked : NULL;
}

static int set_up(void **state)
{
	static int process;	/* only its address counts */
	const struct py_proc py = { .state = PY_PROC_PYTHON, .start_ns = START };

	memset(&fake, 0, sizeof(fake));
	memset(&fake_table, 0, sizeof(fake_table));
	tracked = (struct tracked){ .tgid = TGID, .start_ns = START,
				    .process = (struct process *)(void *)&process };
	set = (struct map_set){ .memory = MEMORY, .tables = TABLES, .places = PLACES,
				.life = &life };
	maps = native_maps_of(&set);
	return proc_table_put(NULL, TGID, &py);
}

static int tear_down(void **state)
{
	native_maps_close(&set);
	assert_int_equal(set.slab_cnt, 0);
	return 0;
}

static void test_slabs_come_one_after_another(void **state)
{
	uint32_t i;
	int fd;

	assert_int_equal(maps.add_slab(maps.ctx, 1), -EINVAL);
	for (i = 0; i < NATIVE_SLABS; i++) {
		assert_int_equal(maps.add_slab(maps.ctx, i), 0);
		memcpy(&fd, fake.value, sizeof(fd));
		assert_true(fake.map == MEMORY && fake.key == i && fd == set.slabs[i]);
	}
	assert_int_equal(maps.add_slab(maps.ctx, NATIVE_SLABS), -EINVAL);
	assert_int_equal(fake.made, NATIVE_SLABS);
}

static void test_a_slab_that_is_refused_can_be_tried_again(void **state)
{
	fake.err = ENOMEM;
	assert_int_equal(maps.add_slab(maps.ctx, 0), -ENOMEM);
	fake.err = 0;
	assert_int_equal(maps.add_slab(maps.ctx, 0), 0);
}

static void test_chunks(void **state)
{
	static const uint8_t bytes[NATIVE_CHUNK] = "chunk";

	assert_int_equal(maps.put_chunk(maps.ctx, 0, bytes), -EINVAL);
	assert_int_equal(maps.add_slab(maps.ctx, 0), 0);
	assert_int_equal(maps.add_slab(maps.ctx, 1), 0);
	assert_int_equal(maps.put_chunk(maps.ctx, NATIVE_SLAB_CHUNKS - 1, bytes), 0);
	assert_true(fake.map == set.slabs[0] && fake.key == NATIVE_SLAB_CHUNKS - 1);
	assert_memory_equal(fake.value, bytes, 16);
	assert_int_equal(maps.put_chunk(maps.ctx, NATIVE_SLAB_CHUNKS + 3, bytes), 0);
	assert_true(fake.map == set.slabs[1] && fake.key == 3);
	assert_int_equal(maps.put_chunk(maps.ctx, 2 * NATIVE_SLAB_CHUNKS, bytes), -EINVAL);
	assert_int_equal(maps.put_chunk(maps.ctx, UINT32_MAX, bytes), -EINVAL);
}

static void test_tables(void **state)
{
	const struct unwind_table table = { .start = 5 };

	assert_int_equal(maps.put_table(maps.ctx, UNWIND_TABLES - 1, &table), 0);
	assert_true(fake.map == TABLES && fake.key == UNWIND_TABLES - 1);
	assert_int_equal(maps.put_table(maps.ctx, UNWIND_TABLES, &table), -EINVAL);
}

static void test_a_process_that_is_walked_has_a_place(void **state)
{
	const struct native_place place = { .chunk = 7, .cnt = 8, .stamp = 9 };

	assert_int_equal(maps.put_place(maps.ctx, TGID, &place), 0);
	assert_true(fake.map == PLACES && fake.key == TGID && !fake.deletes);
	assert_memory_equal(fake.value, &place, sizeof(place));
	assert_int_equal(native_maps_place(&set, TGID).stamp, 9);
	assert_int_equal(native_maps_place(&set, TGID + 1).stamp, 0);
	assert_int_equal(native_maps_place(&set, TGID + 1).chunk, 0);
	/* User space does not know yet when it began. */
	tracked.start_ns = 0;
	assert_int_equal(maps.put_place(maps.ctx, TGID, &place), 0);
}

static void test_others_have_none(void **state)
{
	const struct native_place place = { .chunk = 7 };

	assert_int_equal(maps.put_place(maps.ctx, TGID + 1, &place), -ESRCH);
	tracked.start_ns = START + 1;	/* the pid was used again */
	assert_int_equal(maps.put_place(maps.ctx, TGID, &place), -ESRCH);
	tracked.start_ns = START;
	tracked.process = NULL;
	assert_int_equal(maps.put_place(maps.ctx, TGID, &place), -ESRCH);
	assert_int_equal(fake.writes, 0);
}

/* The BPF side has deleted its place before that was written. */
static void test_a_process_that_ends_meanwhile_has_none(void **state)
{
	const struct native_place place = { .chunk = 7 };

	fake.ends = true;
	assert_int_equal(maps.put_place(maps.ctx, TGID, &place), -ESRCH);
	assert_true(fake.writes == 1 && fake.deletes == 1 && fake.key == TGID);
}

static void test_a_place_that_is_gone_was_dropped(void **state)
{
	fake.err = ENOENT;
	assert_int_equal(maps.drop_place(maps.ctx, TGID), 0);
	fake.err = EPERM;
	assert_int_equal(maps.drop_place(maps.ctx, TGID), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_slabs_come_one_after_another),
		TEST(test_a_slab_that_is_refused_can_be_tried_again),
		TEST(test_chunks),
		TEST(test_tables),
		TEST(test_a_process_that_is_walked_has_a_place),
		TEST(test_others_have_none),
		TEST(test_a_process_that_ends_meanwhile_has_none),
		TEST(test_a_place_that_is_gone_was_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
