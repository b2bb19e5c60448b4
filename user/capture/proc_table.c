// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * proc_table.c - see proc_table.h.
 */
#include "capture/proc_table.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <unistd.h>

#include "host/proc.h"

void proc_table_remove(struct bpf_map *table, pid_t tgid)
{
	uint32_t key = tgid;

	bpf_map__delete_elem(table, &key, sizeof(key), 0);
}

/*
 * An entry that the map must allocate comes from a stock of this CPU, which the kernel refills in
 * an interrupt (kernel/bpf/memalloc.c): if it is used up, that is soon over.
 */
#define STOCK_TRIES 20
#define STOCK_US 100

static int insert(struct bpf_map *table, uint32_t key, const struct py_proc *py)
{
	int err, i;

	for (i = 0; i < STOCK_TRIES; i++) {
		err = bpf_map__update_elem(table, &key, sizeof(key), py, sizeof(*py), BPF_ANY);
		if (err != -ENOMEM)
			break;
		usleep(STOCK_US);
	}
	return err;
}

int proc_table_put(struct bpf_map *table, pid_t tgid, const struct py_proc *py)
{
	struct proc_stat st;
	int err = insert(table, (uint32_t)tgid, py);

	/* If it exits now, the BPF side may have looked for the entry before it was written. */
	if (!err && (proc_stat(tgid, &st) || st.zombie || st.exiting))
		proc_table_remove(table, tgid);
	return err;
}

bool proc_table_get(struct bpf_map *table, pid_t tgid, struct py_proc *py)
{
	uint32_t key = tgid;

	return !bpf_map__lookup_elem(table, &key, sizeof(key), py, sizeof(*py), 0);
}

#define UNSEEN_LOOKS 256

bool proc_table_remove_unseen(struct bpf_map *table, uint32_t *after)
{
	struct py_proc py;
	uint32_t key;
	int i;

	for (i = 0; i < UNSEEN_LOOKS; i++) {
		if (bpf_map__get_next_key(table, *after ? after : NULL, &key, sizeof(key))) {
			*after = 0;	/* the end: continue at the beginning */
			continue;
		}
		if (proc_table_get(table, key, &py) && py.state == PY_PROC_UNSEEN) {
			proc_table_remove(table, key);
			return true;
		}
		*after = key;
	}
	return false;
}

static bool is_unseen(struct bpf_map *table, pid_t tgid)
{
	struct py_proc py;

	return proc_table_get(table, tgid, &py) && py.state == PY_PROC_UNSEEN;
}

static bool is_gone(struct bpf_map *table, pid_t tgid)
{
	(void)table;
	return kill(tgid, 0) && errno == ESRCH;
}

/* Removes the entries for which this is true. Returns how many. */
static uint32_t remove_if(struct bpf_map *table, bool (*is)(struct bpf_map *table, pid_t tgid))
{
	uint32_t key, next, removed = 0, left = bpf_map__max_entries(table);
	int err = bpf_map__get_next_key(table, NULL, &next, sizeof(next));

	/* Read the next key before a removal: after a removed key the iteration restarts. */
	while (!err && left--) {
		key = next;
		err = bpf_map__get_next_key(table, &key, &next, sizeof(next));
		if (!is(table, key))
			continue;
		proc_table_remove(table, key);
		removed++;
	}
	return removed;
}

#define UNSEEN_ROUNDS 4

void proc_table_remove_all_unseen(struct bpf_map *table)
{
	int i = 0;

	while (i++ < UNSEEN_ROUNDS && remove_if(table, is_unseen))
		;
}

void proc_table_sweep(struct bpf_map *table)
{
	remove_if(table, is_gone);
}
