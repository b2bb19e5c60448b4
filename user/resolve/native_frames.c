// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * native_frames.c - see native_frames.h.
 *
 * A target chooses its addresses and the names in its files, so everything kept has a limit: the
 * table of addresses is emptied when it is full. Rows of the intern table are kept until the
 * process has ended, so each process has a maximum, and its user a budget (budget.h).
 */
#include "resolve/native_frames.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_slots.h"
#include "base/u64map.h"
#include "base/util.h"
#include "model/intern.h"
#include "model/native_frame.h"
#include "model/native_library.h"
#include "native/native.h"
#include "resolve/budget.h"

/* Limits: addresses in the table, and those that wait for a name. */
#ifndef NATIVE_KNOWN_MAX
#define NATIVE_KNOWN_MAX (128 * 1024)
#define NATIVE_PENDING_MAX 4096		/* fits native_known.pending1 */
#endif
/* Limits of what a process adds to its intern table. */
#ifndef NATIVE_ROWS_MAX
#define NATIVE_ROWS_MAX 200000
#endif
#define NAMES_BYTES_MAX (32u << 20)
#define NAME_BYTES 32			/* memory of each name in the tables */
#define FRAME_BYTES 64
/* Longer names of functions and files are cut, before escapes \xNN are inserted. */
#define TEXT_MAX 1024
#define FUNCTIONS_MAX (sizeof(((struct native_name *)0)->functions) / \
		       sizeof(struct native_function))

/* A frame that was returned without its name. */
struct pending {
	uint64_t addr;
	uint32_t file;
	uint32_t id;			/* by intern_later() */
	uint32_t returned;		/* how often */
};

/* The rows of machine code in the process' intern table, and their memory. */
struct rows {
	struct intern *in;
	struct budget *budget;		/* of the process' user; NULL: none */
	size_t budget_names;		/* this process' share of it */
	struct u64map libraries;	/* file -> how much of it was recorded: a mark */
	uint32_t cnt;			/* added to in */
	size_t name_bytes;		/* memory of names added to in */
};

struct native_frames {
	struct native *native;
	struct rows rows;
	pid_t tgid;
	struct hash_slots known;	/* of struct native_known */
	uint32_t renewed;		/* native_renewed() of what is known */
	uint32_t *lists;		/* ids of addresses with inlined functions */
	size_t list_cnt, list_cap;
	struct pending *pending;
	size_t pending_cnt, pending_cap;
	uint64_t unnamed;
};

static bool known_used(const void *slot)
{
	return ((const struct native_known *)slot)->used;
}

static uint64_t known_hash(const void *record, const void *ctx)
{
	const struct native_known *k = record;

	return hash_u64(k->addr ^ (uint64_t)k->file << 40);
}

static bool known_same(const void *slot, const void *key, const void *ctx)
{
	const struct native_known *a = slot, *b = key;

	return a->addr == b->addr && a->file == b->file;
}

static const struct hash_kind kind = {
	.bytes = sizeof(struct native_known), .cap_min = 4 * RAW_NATIVE_FRAMES,
	.used = known_used, .hash = known_hash, .same = known_same,
};

struct native_frames *native_frames_new(struct native *native, struct intern *in, pid_t tgid,
					uint32_t uid)
{
	struct native_frames *nf = calloc(1, sizeof(*nf));

	if (!nf)
		return NULL;
	nf->native = native;
	nf->tgid = tgid;
	nf->rows = (struct rows){ .in = in, .budget = budget_join(uid) };
	return nf;
}

void native_frames_free(struct native_frames *nf)
{
	if (!nf)
		return;
	if (nf->rows.budget)
		nf->rows.budget->names -= nf->rows.budget_names;
	budget_leave(nf->rows.budget);
	u64map_free(&nf->rows.libraries);
	hash_slots_free(&nf->known);
	free(nf->lists);
	free(nf->pending);
	free(nf);
}

/* ---- rows ---- */

static bool rows_have_room(const struct rows *r)
{
	return r->cnt < NATIVE_ROWS_MAX && r->name_bytes < NAMES_BYTES_MAX &&
	       !budget_names_full(r->budget);
}

/* Counts what was added to the tables since they had this many strings and frames. */
static void count_rows(struct rows *r, uint32_t strings, uint32_t frames)
{
	const struct profile_tables *t = intern_tables(r->in);
	size_t names = 0, bytes;

	for (; strings < t->string_cnt; strings++)
		names += t->strings[strings].len + NAME_BYTES;
	bytes = names + (size_t)(t->frame_cnt - frames) * FRAME_BYTES;
	r->name_bytes += names;
	r->cnt += t->frame_cnt - frames;
	if (r->budget) {
		r->budget->names += bytes;
		r->budget_names += bytes;
	}
}

/* Returns text of a file in printable form. */
static const char *shown_text(const char *s, char out[4 * TEXT_MAX + 1])
{
	return s ? escape_text(s, strnlen(s, TEXT_MAX), out, 4 * TEXT_MAX + 1) : NULL;
}

static int intern_function(struct intern *in, const char *library, const struct native_function *f,
			   uint32_t *id)
{
	char names[3][4 * TEXT_MAX + 1];
	int32_t line = f->line && f->line <= INT32_MAX ? (int32_t)f->line : LINE_NONE;

	return intern_native(in, shown_text(library, names[0]), shown_text(f->source, names[1]),
			     shown_text(f->name, names[2]), line, id);
}

/* Adds the row of a function in a library. This and the following functions: 0 or -ENOMEM. */
static int rows_add(struct rows *r, const char *library, const struct native_function *f,
		    uint32_t *id)
{
	uint32_t strings = intern_tables(r->in)->string_cnt;
	uint32_t frames = intern_tables(r->in)->frame_cnt;
	int err = intern_function(r->in, library, f, id);

	count_rows(r, strings, frames);
	return err;
}

/*
 * Returns the row of all of a library's unnamed code or, if there is no room, of all machine code.
 */
static int rows_library(struct rows *r, const char *library, uint32_t *id)
{
	const struct native_function f = { .name = library };

	if (rows_have_room(r))
		return rows_add(r, library, &f, id);
	return intern_synthetic(r->in, FRAME_NATIVE, "<native>", id);
}

/* Adds a row of its own, a copy of the row `as`: see intern_later(). */
static int rows_later(struct rows *r, uint32_t as, uint32_t *id)
{
	const struct profile_tables *t = intern_tables(r->in);
	uint32_t frames = t->frame_cnt;
	int err = intern_later(r->in, as, id);

	count_rows(r, t->string_cnt, frames);
	return err;
}

/* Marks of a file: the map keeps pointers. */
static char without_build_id, with_build_id;

static int enter_library(struct intern *in, const struct native_file *f)
{
	char library[4 * NATIVE_LIBRARY_BYTES], path[4 * PATH_MAX];

	escape_text(f->library, strnlen(f->library, NATIVE_LIBRARY_BYTES), library,
		    sizeof(library));
	escape_text(f->path, strnlen(f->path, PATH_MAX - 1), path, sizeof(path));
	return native_library_add(in, library, path, f->build_id, f->build_id_bytes);
}

/*
 * A frame is in the file: adds its library to the profile's strings once, and again when its build
 * id becomes known. Beyond NATIVE_LIBRARIES_MAX nothing is added.
 */
static int note_library(struct rows *r, const struct native *native, uint32_t file)
{
	const void *entered = u64map_get(&r->libraries, file);
	const struct native_file *f;
	int err;

	if (!file || entered == &with_build_id ||
	    (!entered && r->libraries.cnt >= NATIVE_LIBRARIES_MAX))
		return 0;
	f = native_file(native, file);
	if (!f || !f->library || !f->path || (entered && !f->build_id_bytes))
		return 0;
	err = u64map_put(&r->libraries, file,
			 f->build_id_bytes ? &with_build_id : &without_build_id);
	return err ? err : enter_library(r->in, f);
}

/* Rows of this file's code will follow: records what is known of the file. */
static int rows_note_file(struct rows *r, const struct native *native, uint32_t file)
{
	uint32_t strings = intern_tables(r->in)->string_cnt;
	int err = rows_have_room(r) ? note_library(r, native, file) : 0;

	count_rows(r, strings, intern_tables(r->in)->frame_cnt);
	return err;
}

/* ---- addresses ---- */

/* Forgets all if that is too much, or outdated. */
static void clear_known(struct native_frames *nf, uint32_t cnt)
{
	uint32_t renewed = native_renewed(nf->native);

	if (nf->known.cnt + cnt <= NATIVE_KNOWN_MAX && nf->renewed == renewed)
		return;
	hash_slots_clear(&nf->known, &kind);
	nf->list_cnt = 0;
	nf->renewed = renewed;
}

/* Makes room for cnt more at once, so that none of their slots moves. */
static int reserve_known(struct native_frames *nf, uint32_t cnt)
{
	int err;

	clear_known(nf, cnt);
	/* It doubles, and has at least twice cnt slots: half the number added is enough. */
	nf->known.cnt += cnt;
	err = hash_slots_reserve(&nf->known, &kind, NULL);
	nf->known.cnt -= cnt;
	return err;
}
_Static_assert(RAW_NATIVE_FRAMES * 4 <= NATIVE_KNOWN_MAX, "one stack does not fill the table");

static struct native_known *find_or_add_known(struct native_frames *nf, uint32_t file,
					      uint64_t addr)
{
	const struct native_known key = { .addr = addr, .file = file, .used = 1 };
	struct native_known *k = hash_slots_find(&nf->known, &kind, &key, NULL);

	if (!k->used) {
		*k = key;
		nf->known.cnt++;
	}
	return k;
}

int native_frames_find(struct native_frames *nf, const struct raw_native *raw,
		       struct native_known *out[RAW_NATIVE_FRAMES])
{
	enum native_class class;
	uint32_t i, cnt = raw->nframes;

	if (reserve_known(nf, cnt))
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		out[i] = find_or_add_known(nf, raw->frames[i].file, raw->frames[i].addr);
		/* Only the interpreter calls a trampoline, by a function that has no symbol. */
		if (i && out[i - 1]->file == NATIVE_FILE_TRAMPOLINE && !out[i]->class) {
			out[i]->class = NATIVE_PLUMBING;
			out[i]->classified = true;
		}
		if (out[i]->classified)
			continue;
		out[i]->classified = native_class(nf->native, nf->tgid, out[i]->file,
						  out[i]->addr, &class);
		out[i]->class = (uint8_t)class;
	}
	return 0;
}

/* ---- from an address to its rows ---- */

/* Adds rows for all functions of a name; *cnt is their number. */
static int add_rows(struct rows *rows, const struct native_name *name,
		    uint32_t ids[FUNCTIONS_MAX], uint32_t *cnt)
{
	uint32_t i, n = name->cnt < FUNCTIONS_MAX ? name->cnt : FUNCTIONS_MAX;
	int err = 0;

	for (i = 0; !err && i < n; i++)
		err = rows_add(rows, name->library, &name->functions[i], &ids[i]);
	*cnt = n;
	return err;
}

static int keep_ids(struct native_frames *nf, struct native_known *k, const uint32_t *ids,
		    uint32_t cnt)
{
	uint32_t first = (uint32_t)nf->list_cnt, *lists, i;

	for (i = 0; cnt > 1 && i < cnt; i++) {
		lists = array_grow(nf->lists, nf->list_cnt, &nf->list_cap, sizeof(*lists));
		if (!lists)
			return -ENOMEM;
		nf->lists = lists;
		lists[nf->list_cnt++] = ids[i];
	}
	k->id = cnt > 1 ? first : ids[0];
	k->cnt = (uint8_t)cnt;
	return 0;
}

/* Remembers an address until its name is known. -ENOSPC: there are too many already. */
static int add_pending(struct native_frames *nf, struct native_known *k, const char *library)
{
	struct pending *bigger;
	uint32_t id;
	int err;

	if (nf->pending_cnt >= NATIVE_PENDING_MAX || !rows_have_room(&nf->rows))
		return -ENOSPC;
	bigger = array_grow(nf->pending, nf->pending_cnt, &nf->pending_cap, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	nf->pending = bigger;
	err = rows_library(&nf->rows, library, &id);
	if (!err)
		err = rows_later(&nf->rows, id, &id);
	if (err)
		return err;
	nf->pending[nf->pending_cnt++] =
		(struct pending){ .addr = k->addr, .file = k->file, .id = id };
	k->pending1 = (uint16_t)nf->pending_cnt;
	return keep_ids(nf, k, &id, 1);
}

/*
 * Returns true if it is the name of a function. One without a symbol is named "libfoo.so.1+0x1234".
 */
static bool has_symbol(const struct native_name *name)
{
	size_t len = strlen(name->library);

	return name->cnt && (strncmp(name->functions[0].name, name->library, len) ||
			     strncmp(name->functions[0].name + len, "+0x", 3));
}

static bool is_jit(uint32_t file)
{
	return !file || file == NATIVE_FILE_TRAMPOLINE;
}

/* Sets the ids of an address for the first time. */
static int ask_for_name(struct native_frames *nf, struct native_known *k)
{
	uint32_t ids[FUNCTIONS_MAX], cnt = 1;
	struct native_name name;
	int err = native_name(nf->native, nf->tgid, k->file, k->addr, &name);
	bool named;

	if (rows_note_file(&nf->rows, nf->native, k->file))
		return -ENOMEM;
	if (err == -EAGAIN) {
		err = add_pending(nf, k, name.library);
		/* Not permanently: it is requested again when it is needed again. */
		return err == -ENOSPC ? rows_library(&nf->rows, name.library, &k->id) : err;
	}
	named = !err && has_symbol(&name) && rows_have_room(&nf->rows);
	if (name.cnt && rows_have_room(&nf->rows))
		err = add_rows(&nf->rows, &name, ids, &cnt);
	else
		err = rows_library(&nf->rows, name.library, &ids[0]);
	k->named = named && !err;
	if (!err && !k->named && is_jit(k->file)) {	/* it may get a name at any time */
		k->id = ids[0];
		return 0;
	}
	return err ? err : keep_ids(nf, k, ids, cnt);
}

int native_frames_ids(struct native_frames *nf, struct native_known *known, const uint32_t **ids,
		      uint32_t *cnt)
{
	int err = known->cnt ? 0 : ask_for_name(nf, known);

	if (err)
		return err;
	if (!known->named) {
		nf->unnamed++;
		if (known->pending1)
			nf->pending[known->pending1 - 1].returned++;
	}
	*cnt = known->cnt ? known->cnt : 1;
	*ids = *cnt > 1 ? nf->lists + known->id : &known->id;
	return 0;
}

/* ---- names that come later ---- */

/* Returns the slot of a frame without a name. NULL: the table was emptied meanwhile. */
static struct native_known *slot_of(const struct native_frames *nf, uint32_t i)
{
	const struct native_known key = {
		.addr = nf->pending[i].addr, .file = nf->pending[i].file,
	};
	struct native_known *k = nf->known.cap ?
				 hash_slots_find(&nf->known, &kind, &key, NULL) : NULL;

	return k && k->used && k->pending1 == i + 1 ? k : NULL;
}

/* The last pending frame takes its place. */
static void drop_pending(struct native_frames *nf, uint32_t i)
{
	uint32_t last = (uint32_t)nf->pending_cnt - 1;
	struct native_known *k = slot_of(nf, i);

	if (k)
		k->pending1 = 0;
	k = i == last ? NULL : slot_of(nf, last);
	if (k)
		k->pending1 = (uint16_t)(i + 1);
	nf->pending[i] = nf->pending[last];
	nf->pending_cnt = last;
}

/*
 * Names the row of a pending address. It is a single row, so with inlined functions it is the
 * outermost one. Later stacks have all of them.
 */
static int name_pending(struct native_frames *nf, uint32_t i, const struct native_name *name,
			bool named)
{
	const struct pending *p = &nf->pending[i];
	struct native_known *k = slot_of(nf, i);
	uint32_t ids[FUNCTIONS_MAX], cnt;
	int err;

	if (!name->cnt || !rows_have_room(&nf->rows))
		return 0;
	err = rows_note_file(&nf->rows, nf->native, p->file);
	if (!err)
		err = add_rows(&nf->rows, name, ids, &cnt);
	if (err)
		return err;
	intern_name_later(nf->rows.in, p->id, ids[cnt - 1]);
	if (named)
		nf->unnamed -= p->returned;
	if (!k)
		return 0;
	k->named = named;
	return keep_ids(nf, k, ids, cnt);
}

int native_frames_retry(struct native_frames *nf)
{
	uint32_t i = (uint32_t)nf->pending_cnt;
	struct native_name name;
	int err = 0, found;

	/* From the end, because of drop_pending(). */
	while (!err && i-- > 0) {
		found = native_name(nf->native, nf->tgid, nf->pending[i].file,
				    nf->pending[i].addr, &name);
		if (found == -EAGAIN)
			continue;
		err = name_pending(nf, i, &name, !found && has_symbol(&name));
		drop_pending(nf, i);
	}
	return err;
}

uint32_t native_frames_pending(const struct native_frames *nf)
{
	return (uint32_t)nf->pending_cnt;
}

uint64_t native_frames_unnamed(const struct native_frames *nf)
{
	return nf->unnamed;
}
