// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * record_sources.c - keeps the source text of a recording's hottest files next to it, as the
 * recorded processes saw them. See record_parts.h, and docs/files.md for what is kept.
 */
#include "commands/record_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "commands/hot_files.h"
#include "recording/recording.h"
#include "recording/sources_file.h"
#include "target/inspector.h"

/* The user waits. Most of it goes into reading a large recording; the rest is for the files. */
#define SAMPLES_NS 150000000ull
#define FILES_NS 250000000ull
#define PLACES_MAX 32
#define SHOWN_BYTES 512

struct keeping {
	struct hot_files hot;
	struct saved_sources saved;
	const struct hot_file *of[SAVED_SOURCES_MAX];	/* of each of saved */
	uint64_t deadline_ns, start_utc_ns;
	struct buf text;
};

/* Reads a file as `how` says. 0 or -errno. */
static int read_text(struct keeping *k, const struct hot_file *f, struct source_wanted *how,
		     uint64_t *mtime_ns)
{
	uint64_t now = now_ns();

	if (now >= k->deadline_ns)
		return -ETIME;
	k->text.len = 0;
	snprintf(how->path, sizeof(how->path), "%.*s", (int)f->path.len, f->path.data);
	return inspector_source(how, (int)((k->deadline_ns - now) / 1000000) + 1, &k->text,
				mtime_ns);
}

/*
 * Reads a file: through a process that had it and is alive; or through another one that sees the
 * same files, or from our own root, with the rights of the user of one that has ended.
 */
static int read_file(struct keeping *k, const struct hot_file *f, uint64_t *mtime_ns)
{
	const struct file_world *w = f->world;
	struct source_wanted how;
	int err = -ESRCH;
	uint32_t i;

	if (f->path.len >= sizeof(how.path) || memchr(f->path.data, '\0', f->path.len))
		return -EINVAL;
	for (i = 0; err == -ESRCH && i < f->had_cnt; i++) {
		how = (struct source_wanted){
			.tgid = (pid_t)f->had[i]->tgid, .start_ns = f->had[i]->alive_ns,
		};
		if (how.start_ns)
			err = read_text(k, f, &how, mtime_ns);
	}
	how = (struct source_wanted){ .of_user = true, .uid = f->had_cnt ? f->had[0]->uid : 0 };
	if (err != -ESRCH || !f->had_cnt)
		return err;
	if (w->ours)
		return read_text(k, f, &how, mtime_ns);
	how.tgid = (pid_t)w->alive_tgid;
	how.start_ns = w->alive_ns;
	return how.tgid ? read_text(k, f, &how, mtime_ns) : -ESRCH;
}

/* Adds the pids to an entry of the same path and text, of another process. False: there is none. */
static bool join_same(struct keeping *k, const struct hot_file *f)
{
	uint32_t pid;
	size_t i;

	for (i = 0; !f->world->ours && i < k->saved.cnt; i++) {
		struct saved_source *s = &k->saved.list[i];

		if (!s->pid_cnt || s->text.len != k->text.len || s->path.len != f->path.len ||
		    k->of[i]->places != f->places ||
		    memcmp(s->path.data, f->path.data, f->path.len) ||
		    memcmp(s->text.data, k->text.data, k->text.len))
			continue;
		for (pid = 0; pid < f->saved.pid_cnt; pid++)
			saved_source_add_pid(s, f->saved.pids[pid]);
		return true;
	}
	return false;
}

static void warn_changed(const struct hot_file *f)
{
	char shown[SHOWN_BYTES];

	log_warn("%s was changed during the recording: the lines that are shown may not be those "
		 "that ran", escape_text(f->path.data, f->path.len, shown, sizeof(shown)));
}

/* 0; -ENOMEM; what cannot be read or is too large is left out. */
static int keep_file(struct keeping *k, const struct hot_file *f)
{
	struct saved_source source = f->saved;
	uint64_t mtime_ns;
	int err = read_file(k, f, &mtime_ns);

	if (err) {
		log_debug("the text of a source file is not kept: %s", strerror(-err));
		return err == -ENOMEM ? err : 0;
	}
	if (!k->text.len || join_same(k, f))
		return 0;
	source.path = f->path;
	source.text = (struct string_ref){ (const char *)k->text.data, (uint32_t)k->text.len };
	source.changed = mtime_ns >= k->start_utc_ns;
	err = saved_sources_add(&k->saved, &source);
	if (err)
		return err == -E2BIG ? 0 : err;
	k->of[k->saved.cnt - 1] = f;
	if (source.changed)
		warn_changed(f);
	return 0;
}

/* Chooses the hottest files and reads them. 0 or -errno. */
static int choose_files(struct keeping *k, const struct recording *r,
			const struct recording_paths *paths)
{
	uint64_t begin = now_ns();
	size_t i;
	int err = hot_files_begin(&k->hot, r);

	for (i = 0; !err && i < paths->cnt && i < PLACES_MAX; i++)
		err = hot_files_read(&k->hot, paths->paths[i], (unsigned int)i,
				     begin + SAMPLES_NS);
	if (err)
		return err;
	hot_files_sort(&k->hot);
	k->deadline_ns = now_ns() + FILES_NS;
	for (i = 0; !err && i < k->hot.cnt && k->saved.cnt < SAVED_SOURCES_MAX; i++)
		err = keep_file(k, k->hot.list[i]);
	return err;
}

/* Writes those files that the profiles at this path have. 0 or -errno; logs why. */
static int write_place(const struct keeping *k, const char *path, unsigned int place)
{
	struct saved_sources here = { 0 };
	char name[PATH_MAX];
	struct stat st;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < k->saved.cnt; i++)
		if (k->of[i]->places >> place & 1)
			err = saved_sources_add(&here, &k->saved.list[i]);
	if (!err && here.cnt && !stat(path, &st) && sources_path(path, S_ISDIR(st.st_mode), name))
		err = saved_sources_write(&here, name);
	saved_sources_free(&here);
	return err;
}

void record_keep_sources(const struct recording *r, const struct recording_paths *paths)
{
	struct keeping k = { .start_utc_ns = recording_start_utc_ns(r) };
	uint64_t begin = now_ns();
	size_t i;
	int err = choose_files(&k, r, paths);

	for (i = 0; !err && i < paths->cnt && i < PLACES_MAX; i++)
		err = write_place(&k, paths->paths[i], (unsigned int)i);
	if (err)
		log_debug("no source text is kept: %s", strerror(-err));
	log_debug("kept the text of %zu source files, %zu bytes, in %.1f ms", k.saved.cnt,
		  k.saved.bytes, (now_ns() - begin) / 1e6);
	hot_files_free(&k.hot);
	saved_sources_free(&k.saved);
	buf_free(&k.text);
}
