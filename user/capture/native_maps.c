// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_maps.c - see native_maps.h. */
#include "capture/native_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "capture/lifecycle.h"
#include "capture/proc_table.h"

static int put_element(int map, uint32_t key, const void *value)
{
	return bpf_map_update_elem(map, &key, value, BPF_ANY) ? -errno : 0;
}

static int add_slab(void *ctx, uint32_t slab)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct map_set *set = ctx;
	int fd, err;

	if (slab != set->slab_cnt || slab >= NATIVE_SLABS)
		return -EINVAL;
	/* As the BPF side has declared it: the kernel compares them. */
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "native_slab", sizeof(uint32_t), NATIVE_CHUNK,
			    NATIVE_SLAB_CHUNKS, &opts);
	if (fd < 0)
		return -errno;
	err = put_element(set->memory, slab, &fd);
	if (err) {
		close(fd);
		return err;
	}
	set->slabs[set->slab_cnt++] = fd;
	return 0;
}

static int put_chunk(void *ctx, uint32_t chunk, const void *bytes)
{
	const struct map_set *set = ctx;
	uint32_t slab = chunk / NATIVE_SLAB_CHUNKS;

	if (slab >= set->slab_cnt)
		return -EINVAL;
	return put_element(set->slabs[slab], chunk % NATIVE_SLAB_CHUNKS, bytes);
}

static int put_table(void *ctx, uint32_t number, const struct unwind_table *table)
{
	const struct map_set *set = ctx;

	return number < UNWIND_TABLES ? put_element(set->tables, number, table) : -EINVAL;
}

static int drop_place(void *ctx, pid_t tgid)
{
	const struct map_set *set = ctx;
	uint32_t key = (uint32_t)tgid;

	return bpf_map_delete_elem(set->places, &key) && errno != ENOENT ? -errno : 0;
}

/* Returns true if the BPF side walks the process that user space knows by this tgid. */
static bool is_walked(const struct map_set *set, pid_t tgid)
{
	const struct tracked *t = lifecycle_find(set->life, tgid);
	struct py_proc py;

	return t && t->process && proc_table_get(set->life->table, tgid, &py) &&
	       (!t->start_ns || !py.start_ns || py.start_ns == t->start_ns);
}

/*
 * The BPF side deletes the place together with the entry in py_procs. If it does so now, it may
 * have looked for the place before it was written; so look once more.
 */
static int put_place(void *ctx, pid_t tgid, const struct native_place *place)
{
	const struct map_set *set = ctx;
	int err;

	if (!is_walked(set, tgid))
		return -ESRCH;
	err = put_element(set->places, (uint32_t)tgid, place);
	if (err || is_walked(set, tgid))
		return err;
	drop_place(ctx, tgid);
	return -ESRCH;
}

struct native_place native_maps_place(const struct map_set *set, uint32_t tgid)
{
	struct native_place place;

	return bpf_map_lookup_elem(set->places, &tgid, &place) ? (struct native_place){ 0 } : place;
}

struct native_maps native_maps_of(struct map_set *set)
{
	return (struct native_maps){
		.ctx = set, .add_slab = add_slab, .put_chunk = put_chunk, .put_table = put_table,
		.put_place = put_place, .drop_place = drop_place,
	};
}

void native_maps_close(struct map_set *set)
{
	while (set->slab_cnt)
		close(set->slabs[--set->slab_cnt]);
}
