// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mapped_files.c - see mapped_files.h.
 *
 * A file is mapped in parts: its beginning (offset 0) first, then its code. Whether the file has
 * code, and therefore gets a place, is known only when that second part comes.
 */
#include "target/mapped_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cpython/libc.h"

/* Compare a path in /proc/PID/maps, where a newline is \012 (fs/proc/task_mmu.c), with a link. */
static bool same_path(const char *in_maps, const char *link)
{
	for (; *link; link++, in_maps++) {
		if (*in_maps == *link)
			continue;
		if (*link != '\n' || strncmp(in_maps, "\\012", 4))
			return false;
		in_maps += 3;
	}
	return !*in_maps;
}

static bool same_mapped(const struct proc_map *a, const struct proc_map *b)
{
	return a->inode == b->inode && a->dev == b->dev;
}

static void add_to_hash(struct mapped_files *m, const struct proc_map *map)
{
	m->hash = hash_u64(m->hash ^ map->start ^ hash_u64(map->inode ^ hash_u64(map->dev)));
}

static bool has_phdr(const struct mapped_files *m, const struct proc_map *map)
{
	return m->phdr_at == MAPPED_NOWHERE && m->phdr && map->start <= m->phdr &&
	       m->phdr < map->end;
}

/*
 * Returns true if the mapping is the executable's, by its path. If that is unknown it is the first
 * mapping: loaders place it lowest.
 */
static bool has_exe_path(const struct mapped_files *m, const struct proc_map *map)
{
	return m->exe_at == MAPPED_NOWHERE &&
	       (m->exe[0] ? same_path(map->path, m->exe) : !m->phdr && !m->cnt);
}

/* Returns true if there is a place for the last file, not the executable. Data gets none. */
static bool has_place(const struct mapped_files *m)
{
	const struct mapped *f = &m->last;

	if (f->libpython && m->libpython_cnt < MAPPED_LIBPYTHON_MAX)
		return true;
	return f->code && (m->code_cnt < MAPPED_CODE_MAX ||
			   (f->libc && m->libc_at == MAPPED_NOWHERE));
}

static void count_place(struct mapped_files *m, const struct mapped *f)
{
	if (f->libpython && m->libpython_cnt < MAPPED_LIBPYTHON_MAX)
		m->libpython_cnt++;
	else if (m->code_cnt < MAPPED_CODE_MAX)
		m->code_cnt++;
}

/* Give the last file a place, if there is one for it. */
static void keep_last(struct mapped_files *m)
{
	bool phdr = has_phdr(m, &m->last.map), path = has_exe_path(m, &m->last.map);
	struct mapped *f = &m->files[m->cnt];

	if (!phdr && !path && !has_place(m))
		return;
	*f = m->last;
	f->map.path = f->path;
	if (!phdr && !path)
		count_place(m, f);
	if (phdr)
		m->phdr_at = m->cnt;
	if (path)
		m->exe_at = m->cnt;
	if (f->code && f->libc && m->libc_at == MAPPED_NOWHERE)
		m->libc_at = m->cnt;
	m->last_at = m->cnt++;
	add_to_hash(m, &f->map);
}

/* The beginning of a file. */
static void take_beginning(struct mapped_files *m, const struct proc_map *map)
{
	const char *name = strrchr(map->path, '/') + 1;
	struct mapped *f = &m->last;
	size_t len = strnlen(map->path, sizeof(f->path) - 1);

	f->map = *map;
	memcpy(f->path, map->path, len);
	f->path[len] = '\0';
	f->code = map->exec;
	f->libpython = !strncmp(name, "libpython", 9);
	f->python = f->libpython || !strncmp(name, "python", 6);
	f->libc = libc_is_name(name);
	m->last_at = MAPPED_NOWHERE;
	/* path is the caller's and complete: for same_path() */
	keep_last(m);
	f->map.path = f->path;
}

/* A mapping of code that belongs to the last file. */
static void take_code(struct mapped_files *m, const struct proc_map *map)
{
	m->last.code = true;
	if (m->last_at == MAPPED_NOWHERE) {
		keep_last(m);
		return;
	}
	m->files[m->last_at].code = true;
	if (m->last.libc && m->libc_at == MAPPED_NOWHERE)
		m->libc_at = m->last_at;
	add_to_hash(m, map);
}

static int collect_map(void *ctx, const struct proc_map *map)
{
	struct mapped_files *m = ctx;

	otel_mappings_take(&m->otel, map);
	if (map->path[0] != '/')
		return 0;
	if (!map->offset)
		take_beginning(m, map);
	else if (map->exec && m->last.map.inode && same_mapped(&m->last.map, map))
		take_code(m, map);
	return 0;
}

static void begin_reading(struct mapped_files *m, const char *exe, uint64_t phdr)
{
	m->cnt = m->code_cnt = m->libpython_cnt = 0;
	m->exe_at = m->phdr_at = m->libc_at = m->last_at = MAPPED_NOWHERE;
	m->last.map.inode = 0;
	m->otel.cnt = 0;
	m->hash = 1;
	m->phdr = phdr;
	snprintf(m->exe, sizeof(m->exe), "%s", exe);
}

/* err: of proc_maps(). The program headers are surer than a path, which may have several views. */
static int end_reading(struct mapped_files *m, int err)
{
	if (m->phdr_at != MAPPED_NOWHERE)
		m->exe_at = m->phdr_at;
	m->cut = err == -EFBIG;
	return m->cut ? 0 : err;
}

int mapped_files_read(struct mapped_files *m, pid_t tgid)
{
	uint64_t phdr = proc_phdr(tgid);
	char exe[PATH_MAX];
	int err;

	if (phdr) {	/* usually nothing else is needed */
		begin_reading(m, "", phdr);
		err = end_reading(m, proc_maps(tgid, collect_map, m));
		if (err || m->phdr_at != MAPPED_NOWHERE)
			return err;
	}
	if (proc_exe(tgid, exe, sizeof(exe)))
		exe[0] = '\0';
	begin_reading(m, exe, phdr);
	return end_reading(m, proc_maps(tgid, collect_map, m));
}

int mapped_files_read_text(struct mapped_files *m, const char *path, const char *exe, uint64_t phdr)
{
	begin_reading(m, exe, phdr);
	return end_reading(m, proc_maps_file(path, collect_map, m));
}

bool mapped_files_is_other_view(const struct mapped_files *m, const struct mapped *f)
{
	size_t i;

	for (i = 0; !f->code && i < m->cnt; i++)
		if (m->files[i].code && same_mapped(&m->files[i].map, &f->map))
			return true;
	return false;
}
