// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_mappings.c - see native_mappings.h. */
#include "native/native_mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "native/native_files.h"
#include "native/native_parties.h"
#include "native/native_queues.h"
#include "native/native_tables.h"

/* ---- lists, each shared by a process and its forks ---- */

/* Creates a list with a copy of cnt mappings, and references their files. NULL: no memory. */
static struct list *list_new(struct native *n, const struct mapping *maps, uint32_t cnt)
{
	struct list *l = calloc(1, sizeof(*l));
	uint32_t i;

	if (l)
		l->maps = calloc(cnt ? cnt : 1, sizeof(*maps));
	if (!l || !l->maps) {
		free(l);
		return NULL;
	}
	if (cnt)
		memcpy(l->maps, maps, cnt * sizeof(*maps));
	l->cnt = cnt;
	l->refs = 1;
	l->fresh = true;
	l->next = n->lists;
	n->lists = l;
	for (i = 0; i < cnt; i++) {
		if (maps[i].file)
			maps[i].file->refs++;
		if (maps[i].changed && l->changed_cnt < CHANGED_MAX)
			l->changed[l->changed_cnt++] = (uint16_t)i;
	}
	return l;
}

static void leave_files(struct list *l)
{
	uint32_t i;

	for (i = 0; i < l->cnt; i++)
		if (l->maps[i].file)
			file_leave(l->maps[i].file);
}

/* Drops a process's reference. l may be NULL. */
static void list_put(struct native *n, struct list *l)
{
	struct list **at = &n->lists;

	if (!l || --l->refs)
		return;
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	leave_files(l);
	native_memory_give(n->memory, l->chunk, l->chunk_cnt, n->now);
	free(l->maps);
	free(l);
}

/* ---- the form for the BPF side ---- */

static uint32_t shared_table(uint8_t why)
{
	return why == NATIVE_JIT ? TABLE_JIT : why == NATIVE_NO_ROW ? TABLE_NO_ROW :
								     TABLE_NO_TABLE;
}

/*
 * An address is relative to the file only if the file's bias and functions are known. Until then it
 * is relative to the process, which native_name() understands.
 */
static struct native_mapping mapping_of(const struct mapping *m)
{
	struct native_mapping out = { .start = m->start, .end = m->end };
	const struct file *f = m->file;

	if (!f) {
		out.table = shared_table(m->why);
		return out;
	}
	out.table = f->stage == FILE_REFUSED ? shared_table(f->why) : TABLE_NO_TABLE;
	if (!f->confirmed || (f->has_facts && f->facts.eval_start && !f->has_start) ||
	    !file_bias(f, m, &out.bias))
		return out;
	out.file = f->number;
	if (f->stage != FILE_REFUSED && f->table)
		out.table = f->table;
	return out;
}

#define PER_CHUNK (NATIVE_CHUNK / sizeof(struct native_mapping))

static void fill_mappings(const struct list *l, struct native_mapping *out)
{
	uint32_t i;

	memset(out, 0, NATIVE_MAPPINGS * sizeof(*out));
	for (i = 0; i < l->cnt; i++)
		out[i] = mapping_of(&l->maps[i]);
}

static int put_chunks(struct native *n, const struct native_mapping *maps, uint32_t cnt,
		      uint32_t chunk)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < cnt; i++)
		err = n->args.maps.put_chunk(n->args.maps.ctx, chunk + i, maps + i * PER_CHUNK);
	return err;
}

int list_write(struct native *n, struct list *l, bool *wrote)
{
	static struct native_mapping maps[NATIVE_MAPPINGS];
	uint32_t chunks = (uint32_t)((l->cnt + PER_CHUNK - 1) / PER_CHUNK), chunk = 0;
	uint64_t hash;
	int err;

	*wrote = false;
	fill_mappings(l, maps);
	hash = hash_bytes(maps, l->cnt * sizeof(*maps)) | 1;
	l->fresh = false;
	if (hash == l->hash)
		return 0;
	err = chunks ? native_memory_take(n->memory, chunks, &chunk) : 0;
	if (err == -ENOSPC)
		table_evict(n);
	if (err) {
		l->fresh = true;
		return err;
	}
	err = put_chunks(n, maps, chunks, chunk);
	native_memory_give(n->memory, err ? chunk : l->chunk, err ? chunks : l->chunk_cnt, n->now);
	if (err)
		return err;
	l->chunk = chunk;
	l->chunk_cnt = chunks;
	l->hash = hash;
	l->stamp = ++n->list_stamps;
	*wrote = true;
	return 0;
}

struct process *process_find(const struct native *n, pid_t tgid)
{
	return u64map_get(&n->processes, (uint32_t)tgid);
}

/* ---- reading them ---- */

/* A process is likely to map more code at once: native_wait_ns(). */
static void be_quick(struct native *n)
{
	if (n->now < n->quick_again_ns)
		return;
	n->quick_ns = n->now + QUICK_NS;
	n->quick_again_ns = n->now + NS_PER_S;
}

static void wait_for_read(struct native *n, struct process *p, uint64_t due)
{
	if (p->waits) {
		p->again = true;
		return;
	}
	p->waits = true;
	p->again = false;
	p->request = 0;
	p->due_ns = due;
	p->next = n->waiting;
	n->waiting = p;
}

static void stop_waiting(struct native *n, struct process *p)
{
	struct process **at = &n->waiting;

	while (p->waits && *at != p)
		at = &(*at)->next;
	if (p->waits)
		*at = p->next;
	p->waits = false;
}

void process_stale(struct native *n, struct process *p)
{
	uint64_t due = p->read_ns + p->pause_ns;

	/* A reading that was requested before may not show the change. */
	if (!p->waits || p->request)
		wait_for_read(n, p, due > n->now ? due : n->now);
}

static bool may_read(struct native *n)
{
	if (n->now - n->read_second_ns >= NS_PER_S) {
		n->read_second_ns = n->now;
		n->reads = 0;
	}
	return n->reads < READS_A_SECOND;
}

/* Returns 0; -EBUSY: no request can be sent now; another -errno: none about this process. */
static int ask_maps(struct native *n, struct process *p)
{
	const struct elf_place place = { .tgid = (uint32_t)p->tgid, .uid = p->uid,
					 .start_ns = p->start_ns };
	struct elf_message m = { .kind = OPENER_MAPS, .file = (uint32_t)p->tgid,
				 .bytes = sizeof(place) };
	int err = may_read(n) ? opener_ready(n, p->tgid) : -EBUSY;

	if (!err && opener_ask(n, &m, &place, -1))
		err = -EBUSY;
	if (err)
		return err;
	p->request = m.request;
	p->asked_ns = n->now;
	p->again = false;
	n->reads++;
	return 0;
}

void mappings_ask(struct native *n)
{
	struct process *p;
	int err;

	for (p = n->waiting; p; p = p->next) {
		if (p->request || n->now < p->due_ns)
			continue;
		err = ask_maps(n, p);
		if (err == -EBUSY)
			return;
		if (err)
			p->due_ns = n->now + NS_PER_S;
	}
}

void mappings_hurry(struct native *n)
{
	struct process *p;

	for (p = n->waiting; p; p = p->next)
		p->due_ns = 0;
}

void mappings_lost(struct native *n)
{
	struct process *p;

	for (p = n->waiting; p; p = p->next)
		p->request = 0;
	n->incoming.request = 0;
}

/* ---- taking them ---- */

static bool is_vdso(const struct native *n, const struct opener_map *map, const char *path)
{
	return n->vdso && !map->ino && !strcmp(path, "[vdso]") &&
	       map->end - map->start == n->vdso_bytes;
}

/* Converts a mapping that the opener has reported. */
static struct mapping mapping_from(struct native *n, const struct process *p,
				   const struct opener_map *map, const char *path)
{
	struct mapping m = { .start = map->start, .end = map->end, .offset = map->offset,
			     .changed = map->flags & OPENER_CHANGED };

	if (is_vdso(n, map, path)) {
		m.offset = 0;
		m.file = n->vdso;
		return m;
	}
	m.why = *path == '[' && strncmp(path, "[anon", 5) && strcmp(path, "[heap]") &&
		strcmp(path, "[stack]") ? NATIVE_NO_ROW : NATIVE_JIT;
	if (!map->ino)
		return m;
	m.why = NATIVE_NO_TABLE;
	m.file = files_get(n, map->dev, map->ino, path);
	if (!m.file)
		return m;
	if (m.file->stage <= FILE_MATCHING)
		file_wanted_by(n, m.file, p->uid);
	m.file->place = (struct elf_place){
		.tgid = (uint32_t)p->tgid, .uid = p->uid, .start_ns = p->start_ns,
		.start = map->start, .end = map->end, .dev = map->dev, .ino = map->ino,
	};
	return m;
}

/* Adds it only if mappings are sorted, disjoint and not too many: the opener is not trusted. */
static int add_incoming(struct native *n, const struct mapping *m)
{
	struct mapping *maps = n->incoming.maps;
	size_t cnt = n->incoming.cnt;

	if (cnt >= NATIVE_MAPPINGS || (cnt && m->start < maps[cnt - 1].end))
		return 0;
	if (cnt && !m->file && !maps[cnt - 1].file && maps[cnt - 1].end == m->start &&
	    maps[cnt - 1].why == m->why) {
		maps[cnt - 1].end = m->end;
		return 0;
	}
	maps = array_grow(maps, cnt, &n->incoming.cap, sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	n->incoming.maps = maps;
	maps[n->incoming.cnt++] = *m;
	return 0;
}

static bool same_maps(const struct list *l, const struct mapping *maps, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt && l->cnt == cnt; i++) {
		const struct mapping *a = &l->maps[i], *b = &maps[i];

		if (a->start != b->start || a->end != b->end || a->offset != b->offset ||
		    a->file != b->file || a->why != b->why || a->changed != b->changed)
			return false;
	}
	return l->cnt == cnt;
}

/*
 * A file that nobody had mapped must be confirmed; a new one must be opened, or one that was not
 * where it was looked for.
 */
static void open_files(struct native *n, const struct list *l)
{
	uint32_t i;

	for (i = 0; i < l->cnt; i++) {
		struct file *f = l->maps[i].file;

		if (!f || f->opening || (f->confirmed && f->stage != FILE_NEW) ||
		    (f->stage == FILE_REFUSED && !f->opened))
			continue;
		f->absences = 0;
		file_push(n, QUEUE_OPEN, f);
	}
}

static uint64_t least_pause(const struct native *n, const struct process *p)
{
	bool young = n->now - p->begun_ns < YOUNG_NS;
	uint64_t took = (n->now - p->asked_ns) * (young ? REREAD_TIMES_YOUNG : REREAD_TIMES);

	return took < REREAD_NS ? REREAD_NS : took < REREAD_MAX_NS ? took : REREAD_MAX_NS;
}

static void use_incoming(struct native *n, struct process *p)
{
	struct list *l;

	if (p->list && same_maps(p->list, n->incoming.maps, n->incoming.cnt)) {
		p->pause_ns = p->pause_ns * 2 < REREAD_MAX_NS ? p->pause_ns * 2 : REREAD_MAX_NS;
		return;
	}
	p->pause_ns = least_pause(n, p);
	be_quick(n);
	l = list_new(n, n->incoming.maps, (uint32_t)n->incoming.cnt);
	if (!l)
		return;
	list_put(n, p->list);
	p->list = l;
	n->lists_stale = true;
	n->lists_ns = 0;
}

static void finish_read(struct native *n, struct process *p, int result)
{
	bool again = p->again;

	n->incoming.request = 0;
	p->request = 0;
	p->read_ns = n->now;
	stop_waiting(n, p);
	n->counts.processes_cut += result == -E2BIG;
	if (!result || result == -E2BIG || result == -EFBIG)
		use_incoming(n, p);
	if (p->list)
		open_files(n, p->list);
	if (again)
		process_stale(n, p);
}

void mappings_take(struct native *n, const struct elf_message *m, const void *data)
{
	struct process *p = process_find(n, (pid_t)m->file);
	const struct opener_map *map;
	struct mapping taken;
	uint32_t at = 0, i;
	const char *path;

	if (!p || !p->request || p->request != m->request || !opener_maps_ok(m, data))
		return;
	if (n->incoming.request != m->request)
		n->incoming.cnt = 0;
	n->incoming.request = m->request;
	for (i = 0; i < m->cnt; i++) {
		map = opener_maps_next(data, &at, &path);
		taken = mapping_from(n, p, map, path);
		if (add_incoming(n, &taken))
			break;
	}
	if (!m->more)
		finish_read(n, p, m->result);
}

/* ---- processes ---- */

static void share_list(struct native *n, struct process *p, pid_t parent)
{
	const struct process *its = parent ? process_find(n, parent) : NULL;

	if (!its || !its->list) {
		wait_for_read(n, p, n->now);
		return;
	}
	p->list = its->list;
	p->list->refs++;
	p->read_ns = n->now;
	n->places_ns = 0;
}

int process_begin(struct native *n, pid_t tgid, uint64_t start_ns, uint32_t uid, pid_t parent)
{
	struct process *p;

	process_end(n, tgid);
	p = calloc(1, sizeof(*p));
	if (!p || u64map_put(&n->processes, (uint32_t)tgid, p)) {
		free(p);
		return -ENOMEM;
	}
	p->tgid = tgid;
	p->start_ns = start_ns;
	p->uid = uid;
	p->pause_ns = REREAD_NS;
	p->begun_ns = n->now;
	be_quick(n);
	share_list(n, p, parent);
	return 0;
}

static void free_process(struct native *n, struct process *p)
{
	stop_waiting(n, p);
	list_put(n, p->list);
	if (p->perf_map) {	/* nobody requests its names any more */
		p->perf_map->ended = true;
		helper_tell(n, ELF_ROLE_NAMES, HELPER_FORGET, p->perf_map->number);
	}
	free(p);
}

void process_end(struct native *n, pid_t tgid)
{
	struct process *p = u64map_remove(&n->processes, (uint32_t)tgid);

	if (!p)
		return;
	if (p->placed)
		n->args.maps.drop_place(n->args.maps.ctx, tgid);
	free_process(n, p);
}

void processes_free(struct native *n)
{
	struct process *p;
	size_t pos = 0;

	while ((p = u64map_next(&n->processes, &pos)))
		free_process(n, p);
	u64map_free(&n->processes);
	free(n->incoming.maps);
}

/* ---- examining them ---- */

static const struct mapping *mapping_with(const struct process *p, const struct file *f)
{
	uint32_t i;

	for (i = 0; p->list && i < p->list->cnt; i++)
		if (p->list->maps[i].file == f)
			return &p->list->maps[i];
	return NULL;
}

bool mappings_place(const struct native *n, const struct file *f, pid_t after,
		    struct elf_place *out)
{
	const struct mapping *m;
	struct process *p;
	size_t pos = 0;
	bool found = false, passed = !after;

	while ((p = u64map_next(&n->processes, &pos))) {
		m = p->tgid == after || (found && !passed) ? NULL : mapping_with(p, f);
		if (m)
			*out = (struct elf_place){
				.tgid = (uint32_t)p->tgid, .uid = p->uid,
				.start_ns = p->start_ns, .start = m->start, .end = m->end,
				.dev = f->dev, .ino = f->ino,
			};
		found |= m != NULL;
		if (m && passed)
			break;
		passed |= p->tgid == after;
	}
	return found;
}

void mappings_replace(struct native *n, struct file *old, struct file *f)
{
	struct list *l;
	uint32_t i;

	for (l = n->lists; l; l = l->next)
		for (i = 0; i < l->cnt; i++)
			if (l->maps[i].file == old) {
				l->maps[i].file = f;
				old->refs--;
				f->refs++;
			}
	n->lists_stale = true;
}

const struct mapping *mappings_at(const struct process *p, uint64_t addr)
{
	uint32_t low = 0, high = p->list ? p->list->cnt : 0;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (p->list->maps[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return p->list && low < p->list->cnt && p->list->maps[low].start <= addr ?
		       &p->list->maps[low] : NULL;
}
