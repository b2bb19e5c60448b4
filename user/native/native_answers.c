// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_answers.c - see native_answers.h. */
#include "native/native_answers.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "native/native_debug.h"
#include "native/native_expect.h"
#include "native/native_files.h"
#include "native/native_parties.h"
#include "native/native_patterns.h"
#include "native/native_queues.h"
#include "native/native_tables.h"

/* ---- a file's TABLE ---- */

/* The helper's facts are not trusted where they could do harm. */
static void take_facts(struct file *f, const struct elf_message *m, const void *data)
{
	struct elf_facts facts;

	if (m->bytes != sizeof(facts))
		return;
	memcpy(&facts, data, sizeof(facts));
	if (facts.build_id_bytes > sizeof(facts.build_id) ||
	    facts.load_cnt > ARRAY_SIZE(facts.loads) || !facts.load_cnt)
		return;
	f->facts = facts;
	f->has_facts = true;
	f->info.build_id_bytes = facts.build_id_bytes;
	memcpy(f->info.build_id, facts.build_id, sizeof(facts.build_id));
}

/* Returns true for memory that a program shares with itself to write code in it. */
static bool is_memory(const char *path)
{
	return !strncmp(path, "/memfd:", 7) || !strncmp(path, "/SYSV", 5) ||
	       !strcmp(path, "/dev/zero") || !strncmp(path, "/dev/shm/", 9) ||
	       !strcmp(path, "/anon_hugepage");
}

/* Returns the enum native_end of a file without a table. */
static uint8_t why_not(const struct file *f, int result)
{
	if (result == -ENOENT)
		return NATIVE_NO_ROW;
	if (result == -ENOEXEC || (result == -EBADMSG && !f->has_facts))
		return is_memory(f->info.path) ? NATIVE_JIT : NATIVE_NO_ROW;
	return NATIVE_NO_TABLE;
}

static void store_table(struct native *n, const struct file *f)
{
	const struct elf_message m = { .kind = CACHE_STORE, .bytes = sizeof(f->head.hash) };

	if (n->cache.ready && !f->facts.cached)
		cache_ask(n, &m, f->head.hash, f->memfd);
}

static void begin_copying(struct native *n, struct file *f)
{
	n->lists_stale = true;
	if (f->stage != FILE_MATCHING)
		return;
	f->stage = FILE_COPYING;
	file_push(n, QUEUE_COPY, f);
}

/* Takes a TABLE with its data in n->data. Keeps or closes fd. */
static void file_built(struct native *n, struct file *f, const struct elf_message *m, int fd)
{
	int err = m->result ? m->result : fd < 0 ? -EBADMSG : 0;

	f->missing = 0;
	take_facts(f, m, n->data);
	if (!err && !f->has_facts)
		err = -EBADMSG;
	if (!err)
		err = table_take(n, f, fd);
	if (err) {
		if (fd >= 0)
			close(fd);
		file_add_class(n, f, f->facts.eval_start, f->facts.eval_end, NATIVE_EVAL);
		file_sort_classes(n, f);
		f->has_start = true;
		file_refuse(n, f, why_not(f, err));
		return;
	}
	n->counts.build_us += f->facts.build_us;
	n->counts.tables_cached += f->facts.cached;
	store_table(n, f);
	table_number(n, f);
	f->stage = FILE_MATCHING;
	if (f->has_start || !needs_functions(f)) {
		file_matched(n, f);
		return;
	}
	file_push(n, match_queue(f), f);
	/* Of other files than a CPython, frames without a name are shown until then. */
	if (!f->facts.eval_start)
		begin_copying(n, f);
}

void file_matched(struct native *n, struct file *f)
{
	/* This function has a symbol even in a stripped file: other files call it. */
	if (!f->has_start)
		file_add_class(n, f, f->facts.eval_start, f->facts.eval_end, NATIVE_EVAL);
	file_sort_classes(n, f);
	f->has_start = true;
	begin_copying(n, f);
}

#define MISSING_MAX 3

static void put_back(struct native *n, struct helper *h, bool known)
{
	struct file *f = h->file;
	uint32_t i;

	for (i = 0; i < h->asked_cnt; i++)
		native_names_give_up(&f->names, h->asked[i], known);
	h->asked_cnt = 0;
}

static void end_request(struct native *n, struct helper *h)
{
	turn_charge(h->turn, TURN_HELPERS, n->now - h->asked_ns);
	h->request = 0;
	h->file = NULL;
	h->asked_cnt = 0;
}

static int take_table(struct native *n, struct helper *h, const struct elf_message *m, int fd)
{
	struct file *f = h->file;

	if (h->kind != HELPER_TABLE) {
		if (fd >= 0)
			close(fd);
		return -EBADMSG;
	}
	end_request(n, h);
	helper_tell(n, h->role, HELPER_FORGET, f->number);
	file_built(n, f, m, fd);
	return 0;
}

static int take_names(struct native *n, struct helper *h, const struct elf_message *m)
{
	struct file *f = h->file;
	int err = h->kind == HELPER_NAMES || h->kind == HELPER_PERF_NAMES ? 0 : -EBADMSG;

	if (!err)
		err = native_names_take(&f->names, &n->names, f->info.library, m, n->data);
	if (err)
		return -EBADMSG;
	if (m->flags & ELF_LACKS_DEBUG)
		debug_want(n, f);
	if (m->more)
		return 0;
	f->missing = 0;
	put_back(n, h, true);	/* those that it has not answered */
	if (f->reread)
		native_names_forget(&f->names);
	f->reread = false;
	end_request(n, h);
	return 0;
}

static int take_matches(struct native *n, struct helper *h, const struct elf_message *m)
{
	struct file *f = h->file;
	struct elf_match match;
	uint32_t i;

	if (h->kind != HELPER_MATCH || m->bytes != (uint64_t)m->cnt * sizeof(match))
		return -EBADMSG;
	for (i = 0; i < m->cnt; i++) {
		memcpy(&match, n->data + i * sizeof(match), sizeof(match));
		/* Functions of other libraries may have the same names. */
		file_add_class(n, f, match.start, match.end, f->facts.eval_start ?
			       native_pattern_class(match.pattern) : NATIVE_CODE);
	}
	if (m->more)
		return 0;
	f->partial = m->flags & ELF_PARTIAL && !f->classes_full;
	f->missing = 0;
	end_request(n, h);
	file_matched(n, f);
	return 0;
}

static int take_needs(struct native *n, struct helper *h, const struct elf_message *m)
{
	const struct file *f = h->file;

	if (h->kind != HELPER_NEEDS)
		return -EBADMSG;
	end_request(n, h);
	return expect_needs(n, f, m);
}

/* The file's request is sent again as soon as the helper has the file. */
static void ask_again(struct native *n, struct helper *h)
{
	struct file *f = h->file;

	if (h->role == ELF_ROLE_TABLES) {
		f->stage = FILE_NEW;
		file_push(n, QUEUE_OPEN, f);
		return;
	}
	f->at_names = false;
	if (h->kind == HELPER_NEEDS)
		return;
	if (h->kind == HELPER_MATCH)
		file_drop_classes(n, f);
	file_push(n, h->kind == HELPER_MATCH ? match_queue(f) : QUEUE_NAMES, f);
	while (h->asked_cnt && f->wanted_cnt < f->wanted_cap)
		f->wanted[f->wanted_cnt++] = h->asked[--h->asked_cnt];
	put_back(n, h, false);
}

/* Sends no more requests about the file. */
static void refuse_file(struct native *n, struct helper *h)
{
	struct file *f = h->file;

	if (h->role == ELF_ROLE_TABLES) {
		file_refuse(n, f, NATIVE_NO_TABLE);
		return;
	}
	f->no_names = true;
	put_back(n, h, true);
	file_drop_wanted(f, true);
	if (h->kind == HELPER_MATCH)
		file_matched(n, f);
}

static int no_file(struct native *n, struct helper *h)
{
	if (++h->file->missing > MISSING_MAX)
		refuse_file(n, h);
	else
		ask_again(n, h);
	end_request(n, h);
	return 0;
}

int helper_answered(struct native *n, struct helper *h, const struct elf_message *m, int fd)
{
	bool asked = h->request && m->request == h->request && m->file == h->file->number;

	if (asked && m->kind == TABLE)
		return take_table(n, h, m, fd);
	if (fd >= 0)
		close(fd);
	if (!asked)
		return -EBADMSG;
	return m->kind == NAMES ? take_names(n, h, m) : m->kind == MATCHES ? take_matches(n, h, m) :
	       m->kind == NEEDS ? take_needs(n, h, m) :
	       m->kind == NO_FILE ? no_file(n, h) : -EBADMSG;
}

/* ---- helpers that end ---- */

static void forget_passed(struct native *n)
{
	size_t i;

	for (i = 0; i < n->file_cnt; i++)
		n->files[i]->at_names = false;
}

/* Files that a helper for tables was given, but has not been asked about. */
static void pass_again(struct native *n)
{
	struct file *f;

	while ((f = file_pop(n, QUEUE_BUILD))) {
		f->stage = FILE_NEW;
		file_push(n, QUEUE_OPEN, f);
	}
}

void helper_lost(struct native *n, struct helper *h, bool late)
{
	struct file *f = h->file;

	log_debug("tachbpf-elf %s%s%s", late ? "takes too long" : "has ended", f ? ", at " : "",
		  f ? "a file" : "");
	n->counts.stuck += late;
	if (h->role == ELF_ROLE_NAMES)
		forget_passed(n);
	if (f) {
		turn_charge(h->turn, TURN_HELPERS, n->now - h->asked_ns);
		turn_punish(n, h->turn);
	}
	if (f && (late || ++f->strikes >= STRIKES_MAX))
		refuse_file(n, h);
	else if (f)
		ask_again(n, h);
	if (h->role == ELF_ROLE_TABLES)
		pass_again(n);
	helper_end(n, h);
}

bool helper_is_late(const struct native *n, const struct helper *h)
{
	uint64_t ms = h->role == ELF_ROLE_TABLES ? TABLE_MS :
		      n->args.lines && h->kind == HELPER_NAMES ? LINES_MS : NAMES_MS;
	uint64_t took = n->now - h->asked_ns, limit = ms * NS_PER_MS;

	/*
	 * On a busy machine it is not late, but waits for a CPU: for longer than it took, as n->now
	 * is older.
	 */
	return h->request && took >= limit && took >= limit + helper_waited_ns(h) - h->waited_ns;
}
