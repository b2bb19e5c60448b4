// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_recording_rows.c - rows that were written to disk are read unchanged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "recording/recording_rows.h"

#define ROWS 700

static int row_of_pid[ROWS + 1];

/* Row i has i % 3 members and i % 5 names; each second one lost something of thread i. */
static void add(struct recording *r, pid_t i)
{
	char text[64];
	struct row *row;
	int k;

	snprintf(text, sizeof(text), "command %d", i);
	row = recording_new_row(r, text);
	assert_non_null(row);
	row->tgid = i;
	row->member_cnt = i % 3;
	row->members = row->member_cnt ? calloc(row->member_cnt, sizeof(*row->members)) : NULL;
	for (k = 0; k < i % 3; k++)
		row->members[k].tgid = 10 * i + k;
	if (i % 5)
		row->names = thread_names_new();
	for (k = 0; k < i % 5; k++) {
		snprintf(text, sizeof(text), "w\n\xff-%d", 10 * i + k);
		assert_int_equal(thread_names_set(row->names, 10 * i + k, text), 0);
	}
	losses_add(&row->losses, i, LOSS_BUSY, i % 2);
	if (i % 7)
		recording_row_ended(r, row);
}

static void check(void *ctx, const struct row *row)
{
	int i = row->tgid, k;
	size_t cnt;
	const struct thread_name *names = thread_names_list(row->names, &cnt);
	char text[64];

	row_of_pid[i]++;
	snprintf(text, sizeof(text), "command %d", i);
	assert_string_equal(row->command, text);
	assert_int_equal(row->member_cnt, i % 3);
	for (k = 0; k < i % 3; k++)
		assert_int_equal(row->members[k].tgid, 10 * i + k);
	assert_int_equal(cnt, i % 5);
	for (k = 0; k < i % 5; k++) {
		snprintf(text, sizeof(text), "w\n\xff-%d", 10 * i + k);
		assert_int_equal(names[k].tid, 10 * i + k);
		assert_string_equal(names[k].name, text);
	}
	assert_int_equal(row->losses != NULL, i % 2);
	if (row->losses)
		assert_int_equal(row->losses->list[0].tid, i);
	++*(int *)ctx;
}

static void test_on_disk(void **state)
{
	struct recording r = { .dirfd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	int i, cnt = 0;

	for (i = 1; i <= ROWS; i++)
		add(&r, i);
	assert_true(r.ended_cnt >= 256);
	assert_true(r.row_cnt > 0);
	assert_int_equal(recording_row_cnt(&r), ROWS);
	recording_each_row(&r, check, &cnt);
	assert_int_equal(cnt, ROWS);
	recording_each_row(&r, check, &cnt);	/* they can be read again */
	assert_int_equal(cnt, 2 * ROWS);
	for (i = 1; i <= ROWS; i++)
		assert_int_equal(row_of_pid[i], 2);
	recording_free_rows(&r);
	close(r.dirfd);
}

/* Rows with many members are written to disk although they are few. */
static void test_many_members(void **state)
{
	struct recording r = { .dirfd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	struct row *row;
	int i;

	for (i = 0; i < 10; i++) {
		row = recording_new_row(&r, "merged");
		assert_non_null(row);
		row->member_cnt = 4000;
		row->members = calloc(row->member_cnt, sizeof(*row->members));
		assert_non_null(row->members);
		recording_row_ended(&r, row);
		assert_in_range(r.row_cnt, 0, 3);
	}
	assert_int_equal(recording_row_cnt(&r), 10);
	recording_free_rows(&r);
	close(r.dirfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_disk),
		cmocka_unit_test(test_many_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
