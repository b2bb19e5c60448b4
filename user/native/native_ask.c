// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_ask.c - see native_ask.h: requests, and the opener's answers. */
#include "native/native_ask.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "native/native_answers.h"
#include "native/native_expect.h"
#include "native/native_files.h"
#include "native/native_mappings.h"
#include "native/native_parties.h"
#include "native/native_patterns.h"
#include "native/native_queues.h"
#include "native/native_tables.h"

#define OPEN_TRIES 4
#define ABSENCES_MAX 16
#define OPENS_A_POLL 64
#define NAMES_A_POLL 64		/* files that turn out to want no names */

/* ---- opening ---- */

static bool has_id(const struct file *f, const struct elf_opened *id)
{
	return f->id.dev == id->dev && f->id.ino == id->ino && f->id.size == id->size &&
	       f->id.mtime_ns == id->mtime_ns && f->id.ctime_ns == id->ctime_ns;
}

static void refuse_opened(struct native *n, struct file *f, uint8_t why)
{
	table_drop(n, f);
	f->no_names = true;
	file_drop_wanted(f, true);
	file_refuse(n, f, why);
}

/*
 * The process no longer has it mapped: another one may, and its own mappings are read again, after
 * which the file is opened if it is in them.
 */
static void look_elsewhere(struct native *n, struct file *f)
{
	struct process *p = process_find(n, (pid_t)f->place.tgid);

	if (p)
		process_stale(n, p);
	if (f->absences++ < ABSENCES_MAX &&
	    mappings_place(n, f, (pid_t)f->place.tgid, &f->place)) {
		file_push(n, QUEUE_OPEN, f);
		return;
	}
	f->confirmed &= f->refs > 0;
	file_drop_wanted(f, !f->refs);
}

static bool is_absent(int err)
{
	return err == -ENOENT || err == -ESTALE || err == -ESRCH;
}

static void open_failed(struct native *n, struct file *f, int err)
{
	f->opening = false;
	if (f->kind == FILE_PERF_MAP) {
		f->passed_ns = n->now;
		file_drop_wanted(f, true);
	} else if (err == -EINVAL) {
		refuse_opened(n, f, NATIVE_NO_ROW);
	} else if (is_absent(err) || !mappings_place(n, f, 0, &f->place)) {
		look_elsewhere(n, f);
	} else if (++f->failures < OPEN_TRIES) {
		f->again_ns = n->now + (f->failures > 1 ? NS_PER_S : 0);
		file_push(n, QUEUE_OPEN, f);
	} else {
		refuse_opened(n, f, NATIVE_NO_TABLE);
	}
}

static struct elf_message opening_message(struct file *f)
{
	struct elf_message m = { .kind = OPENER_MAPPED, .file = f->number,
				 .bytes = sizeof(f->place) };

	if (f->kind == FILE_PERF_MAP)
		m.kind = OPENER_PERF_MAP;
	else if (f->stage == FILE_NEW)
		m.flags = OPEN_FOR_TABLES;
	if (f->kind == FILE_MAPPED && !f->place.tgid) {
		m.kind = OPENER_PATHS;
		m.bytes += (uint32_t)strnlen(f->info.path, OPENER_PATH_MAX - 1) + 1;
	}
	if (f->kind == FILE_VDSO) {
		m.kind = OPENER_PASS;
		m.bytes = 0;
	}
	if (!f->at_names && !f->no_names)
		m.flags |= OPEN_FOR_NAMES;
	f->open_flags = m.flags;
	return m;
}

/* Returns 0, or -EBUSY if no request can be sent now. */
static int open_file(struct native *n, struct file *f)
{
	struct elf_message m = opening_message(f);
	struct {
		struct elf_place place;
		char path[OPENER_PATH_MAX];
	} data = { .place = f->place };
	pid_t about = f->kind == FILE_VDSO ? 0 : (pid_t)f->place.tgid;
	int err = opener_ready(n, about);

	if (m.bytes > sizeof(data.place))
		memcpy(data.path, f->info.path, m.bytes - sizeof(data.place) - 1);
	if (!err && opener_ask(n, &m, &data, f->kind == FILE_VDSO ? n->vdso_fd : -1))
		err = -EBUSY;
	if (err == -EBUSY) {
		file_push(n, QUEUE_OPEN, f);
		return err;
	}
	f->opening = !err;
	if (err)
		open_failed(n, f, err);
	return 0;
}

static void open_files(struct native *n)
{
	struct file *f;
	unsigned int i;

	if (!n->helpers[ELF_ROLE_TABLES].given || !n->helpers[ELF_ROLE_NAMES].given)
		return;
	for (i = 0; i < OPENS_A_POLL && (f = file_pop(n, QUEUE_OPEN)); i++) {
		if (f->again_ns > n->now)
			file_push(n, QUEUE_OPEN, f);
		else if (!f->opening && open_file(n, f))
			return;
	}
}

/* The file that is mapped now has another file's inode. */
static void replace_file(struct native *n, struct file *old)
{
	struct file *f = files_replace(n, old);

	table_drop(n, old);
	file_drop_wanted(old, true);
	if (!f)
		return;
	mappings_replace(n, old, f);
	file_push(n, QUEUE_OPEN, f);
}

static void go_on(struct native *n, struct file *f)
{
	if (f->open_flags & OPEN_FOR_NAMES) {
		f->at_names = true;
		f->passed_ns = n->now;
	}
	if (f->stage == FILE_NEW && f->open_flags & OPEN_FOR_TABLES) {
		f->stage = FILE_OPENED;
		file_push(n, QUEUE_BUILD, f);
	}
	if (f->has_facts && needs_functions(f) && !f->has_start)
		file_push(n, match_queue(f), f);
	if (f->wanted_cnt)
		file_push(n, QUEUE_NAMES, f);
	/* It became new again while it was opened for another purpose. */
	if (f->stage == FILE_NEW && f->kind != FILE_PERF_MAP)
		file_push(n, QUEUE_OPEN, f);
}

void file_opened(struct native *n, const struct elf_message *m)
{
	struct file *f = files_find(n, m->file);
	struct elf_opened id = { 0 };

	opener_answered(n);
	if (!f || !f->opening)
		return;
	f->opening = false;
	if (m->result || m->bytes != sizeof(id)) {
		open_failed(n, f, m->result < 0 ? m->result : -EBADMSG);
		return;
	}
	memcpy(&id, n->data, sizeof(id));
	f->failures = 0;
	if (f->opened && f->kind == FILE_MAPPED && !has_id(f, &id) && !f->confirmed) {
		replace_file(n, f);
		return;
	}
	f->id = id;
	f->opened = f->confirmed = true;
	n->lists_stale = true;
	go_on(n, f);
}

void files_lost(struct native *n)
{
	size_t i;

	n->opener.asked = 0;
	expect_lost(n);
	for (i = 0; i < n->file_cnt; i++) {
		struct file *f = n->files[i];

		if (f->opening)
			open_failed(n, f, -ETIMEDOUT);
	}
	for (i = 0; i < HELPERS; i++)
		/* It may wait for the data that it requested from the opener. */
		if (n->helpers[i].request)
			helper_lost(n, &n->helpers[i], false);
}

/* ---- helpers ---- */

/* Pops the first file that is still at this stage. */
static struct file *pop_at(struct native *n, enum file_queue queue, enum file_stage stage)
{
	struct file *f;

	while ((f = file_pop(n, queue)) && f->stage != stage)
		continue;
	return f;
}

static void ask_table(struct native *n)
{
	struct elf_message m = { .kind = HELPER_TABLE };
	struct file *f = helper_is_idle(n, ELF_ROLE_TABLES) ?
				 pop_at(n, QUEUE_BUILD, FILE_OPENED) : NULL;

	if (!f)
		return;
	if (helper_ask(n, ELF_ROLE_TABLES, f, &m, NULL))
		file_push(n, QUEUE_BUILD, f);
	else
		f->stage = FILE_BUILDING;
}

/* What an expected file needs. If it could not be opened, nothing is known. */
static void ask_needs(struct native *n)
{
	struct elf_message m = { .kind = HELPER_NEEDS };
	struct file *f = helper_is_idle(n, ELF_ROLE_NAMES) ? file_pop(n, QUEUE_NEEDS) : NULL;
	bool comes = f && (f->opening || f->queued & 1u << QUEUE_OPEN);

	if (f && f->at_names ? helper_ask(n, ELF_ROLE_NAMES, f, &m, NULL) : comes)
		file_push(n, QUEUE_NEEDS, f);
}

/* These return false if a request could not be sent now. */

static bool ask_match(struct native *n, struct file *f)
{
	struct elf_message m = { .kind = HELPER_MATCH };
	const char *patterns = native_patterns(&m.cnt, &m.bytes);

	if (f->has_start)
		return true;
	if (f->no_names)
		file_matched(n, f);
	else if (!f->at_names)
		file_push(n, QUEUE_OPEN, f);
	else if (helper_ask(n, ELF_ROLE_NAMES, f, &m, patterns)) {
		file_push(n, match_queue(f), f);
		return false;
	}
	return true;
}

static uint32_t names_flags(const struct native *n, const struct file *f)
{
	return (n->args.lines ? ELF_LINES : 0) |
	       (f->names.mangled >= ELF_COSTLY_MAX ? ELF_MANGLED : 0);
}

static bool ask_names_of(struct native *n, struct file *f)
{
	struct elf_message m = { .kind = HELPER_NAMES, .flags = names_flags(n, f) };
	struct helper *h = &n->helpers[ELF_ROLE_NAMES];

	if (f->kind == FILE_PERF_MAP)
		m.kind = HELPER_PERF_NAMES;
	m.cnt = f->wanted_cnt < ELF_NAMES_MAX ? (uint32_t)f->wanted_cnt : ELF_NAMES_MAX;
	m.bytes = m.cnt * (uint32_t)sizeof(f->wanted[0]);
	if (helper_ask(n, ELF_ROLE_NAMES, f, &m, f->wanted)) {
		file_push(n, QUEUE_NAMES, f);
		return false;
	}
	memcpy(h->asked, f->wanted, m.bytes);
	h->asked_cnt = m.cnt;
	f->wanted_cnt -= m.cnt;
	memmove(f->wanted, f->wanted + m.cnt, f->wanted_cnt * sizeof(f->wanted[0]));
	if (f->wanted_cnt)
		file_push(n, QUEUE_NAMES, f);
	return true;
}

static bool ask_names(struct native *n, struct file *f)
{
	if (!f->wanted_cnt)
		return true;
	/* A perf map grows: it may have gained the requested name a moment ago. */
	if (f->kind == FILE_PERF_MAP && n->now - f->passed_ns >= PERF_MAP_NS)
		f->at_names = false;
	if (f->no_names || (!f->at_names && f->kind == FILE_MAPPED && !f->refs && !f->opening))
		file_drop_wanted(f, true);
	else if (!f->at_names)
		file_push(n, QUEUE_OPEN, f);
	else
		return ask_names_of(n, f);
	return true;
}

static void ask_names_helper(struct native *n)
{
	static const enum file_queue order[] = { QUEUE_MATCH, QUEUE_NAMES, QUEUE_MATCH_LATER };
	enum file_queue queue;
	struct file *f;
	bool ok = true;
	int i;

	for (i = 0; ok && i < NAMES_A_POLL && helper_is_idle(n, ELF_ROLE_NAMES); i++) {
		f = file_pop_first(n, order, ARRAY_SIZE(order), &queue);
		if (!f)
			return;
		ok = queue == QUEUE_NAMES ? ask_names(n, f) : ask_match(n, f);
	}
	n->more |= i == NAMES_A_POLL;
}

void files_ask(struct native *n)
{
	open_files(n);
	expect_ask(n);
	ask_table(n);
	ask_needs(n);
	ask_names_helper(n);
}

int name_ask(struct native *n, struct file *f, uint32_t uid, uint64_t addr)
{
	uint64_t *wanted = array_grow(f->wanted, f->wanted_cnt, &f->wanted_cap, sizeof(*wanted));
	int err = wanted ? native_names_ask(&f->names, &n->names, addr) : -ENOMEM;

	if (wanted)
		f->wanted = wanted;
	if (err)
		return err;
	file_wanted_by(n, f, uid);
	wanted[f->wanted_cnt++] = addr;
	file_push(n, QUEUE_NAMES, f);
	n->more = true;
	return 0;
}
