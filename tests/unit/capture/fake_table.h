/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_table.h - the functions of proc_table.h with an array in place of the map py_procs. The
 * linker takes them instead of those of proc_table.c.
 */
#ifndef TACHBPF_FAKE_TABLE_H
#define TACHBPF_FAKE_TABLE_H

#include <errno.h>
#include <string.h>

#include "capture/proc_table.h"

#define FAKE_TABLE_MAX 64

static struct fake_table {
	pid_t tgids[FAKE_TABLE_MAX];	/* 0: free */
	struct py_proc procs[FAKE_TABLE_MAX];
	int full_err;			/* result of proc_table_put() for a process without entry */
	int room;			/* more entries do not fit: -E2BIG; 0: FAKE_TABLE_MAX fit */
} fake_table;

static inline int fake_table_at(pid_t tgid)
{
	int i;

	for (i = 0; i < FAKE_TABLE_MAX; i++)
		if (fake_table.tgids[i] == tgid)
			return i;
	return -1;
}

static inline int fake_table_cnt(void)
{
	int i, cnt = 0;

	for (i = 0; i < FAKE_TABLE_MAX; i++)
		cnt += fake_table.tgids[i] != 0;
	return cnt;
}

/* enum py_proc_state; 0: the process has no entry. */
static inline int fake_table_state(pid_t tgid)
{
	int at = fake_table_at(tgid);

	return at < 0 ? 0 : fake_table.procs[at].state;
}

int proc_table_put(struct bpf_map *table, pid_t tgid, const struct py_proc *py)
{
	int at = fake_table_at(tgid);

	(void)table;
	if (at < 0 && fake_table.full_err)
		return fake_table.full_err;
	if (at < 0 && fake_table.room && fake_table_cnt() >= fake_table.room)
		return -E2BIG;
	if (at < 0)
		at = fake_table_at(0);
	fake_table.tgids[at] = tgid;
	fake_table.procs[at] = *py;
	return 0;
}

bool proc_table_get(struct bpf_map *table, pid_t tgid, struct py_proc *py)
{
	int at = fake_table_at(tgid);

	(void)table;
	if (at >= 0)
		*py = fake_table.procs[at];
	return at >= 0;
}

void proc_table_remove(struct bpf_map *table, pid_t tgid)
{
	int at = fake_table_at(tgid);

	(void)table;
	if (at >= 0)
		fake_table.tgids[at] = 0;
}

bool proc_table_remove_unseen(struct bpf_map *table, uint32_t *after)
{
	int i;

	(void)table;
	(void)after;
	for (i = 0; i < FAKE_TABLE_MAX; i++)
		if (fake_table.tgids[i] && fake_table.procs[i].state == PY_PROC_UNSEEN) {
			fake_table.tgids[i] = 0;
			return true;
		}
	return false;
}

void proc_table_remove_all_unseen(struct bpf_map *table)
{
	uint32_t after = 0;

	while (proc_table_remove_unseen(table, &after))
		;
}

void proc_table_sweep(struct bpf_map *table)
{
	(void)table;
}

#endif
