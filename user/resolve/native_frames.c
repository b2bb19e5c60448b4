// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * native_frames.c - see native_frames.h.
 *
 * A target chooses its addresses, so all that is kept is bounded: the table of addresses is emptied
 * when it is full.
 */
#include "resolve/native_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_slots.h"
#include "base/util.h"
#include "model/intern.h"
#include "native/native.h"
#include "resolve/native_rows.h"

/* Upper bounds: addresses in the table, and those that wait for a name. */
#ifndef NATIVE_KNOWN_MAX
#define NATIVE_KNOWN_MAX (128 * 1024)
#define NATIVE_PENDING_MAX 4096		/* fits native_known.pending1 */
#endif
#define FUNCTIONS_MAX (sizeof(((struct native_name *)0)->functions) / \
		       sizeof(struct native_function))

/* A frame that was returned without its name. */
struct pending {
	uint64_t addr;
	uint32_t file;
	uint32_t id;			/* by intern_later() */
	uint32_t returned;		/* how often */
};

struct native_frames {
	struct native *native;
	struct native_rows rows;
	pid_t tgid;
	struct hash_slots known;	/* of struct native_known */
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
	native_rows_init(&nf->rows, in, uid);
	return nf;
}

void native_frames_free(struct native_frames *nf)
{
	if (!nf)
		return;
	native_rows_free(&nf->rows);
	hash_slots_free(&nf->known);
	free(nf->lists);
	free(nf->pending);
	free(nf);
}

/* ---- addresses ---- */

/* Make room for so many more at once, so that none of their slots moves. */
static int reserve(struct native_frames *nf, uint32_t cnt)
{
	int err;

	if (nf->known.cnt + cnt > NATIVE_KNOWN_MAX) {
		hash_slots_clear(&nf->known, &kind);
		nf->list_cnt = 0;
	}
	/* It doubles, and has at least twice cnt slots: half of those that are added suffice. */
	nf->known.cnt += cnt;
	err = hash_slots_reserve(&nf->known, &kind, NULL);
	nf->known.cnt -= cnt;
	return err;
}
_Static_assert(RAW_NATIVE_FRAMES * 4 <= NATIVE_KNOWN_MAX, "one stack does not fill the table");

static struct native_known *find_or_add(struct native_frames *nf, uint32_t file, uint64_t addr)
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
	uint32_t i, cnt = raw->nframes;

	if (reserve(nf, cnt))
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		out[i] = find_or_add(nf, raw->frames[i].file, raw->frames[i].addr);
		if (out[i]->classified)
			continue;
		out[i]->class = (uint8_t)native_class(nf->native, out[i]->file, out[i]->addr);
		/* Until its table is there, a file's functions may not be known. */
		out[i]->classified = i + 1 < cnt || raw->end != NATIVE_NO_TABLE;
	}
	return 0;
}

/* ---- from an address to its rows ---- */

/* Make rows of all functions of a name; *cnt of them. */
static int add_rows(struct native_rows *rows, const struct native_name *name,
		    uint32_t ids[FUNCTIONS_MAX], uint32_t *cnt)
{
	uint32_t i, n = name->cnt < FUNCTIONS_MAX ? name->cnt : FUNCTIONS_MAX;
	int err = 0;

	for (i = 0; !err && i < n; i++)
		err = native_rows_add(rows, name->library, &name->functions[i], &ids[i]);
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

/* Remember an address until its name is there. -ENOSPC: so many are remembered already. */
static int add_pending(struct native_frames *nf, struct native_known *k, const char *library)
{
	struct pending *bigger;
	uint32_t id;
	int err;

	if (nf->pending_cnt >= NATIVE_PENDING_MAX || !native_rows_have_room(&nf->rows))
		return -ENOSPC;
	bigger = array_grow(nf->pending, nf->pending_cnt, &nf->pending_cap, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	nf->pending = bigger;
	err = native_rows_library(&nf->rows, library, &id);
	if (!err)
		err = native_rows_later(&nf->rows, id, &id);
	if (err)
		return err;
	nf->pending[nf->pending_cnt++] =
		(struct pending){ .addr = k->addr, .file = k->file, .id = id };
	k->pending1 = (uint16_t)nf->pending_cnt;
	return keep_ids(nf, k, &id, 1);
}

/* Is it the name of a function? One without a symbol is called "libfoo.so.1+0x1234". */
static bool has_symbol(const struct native_name *name)
{
	size_t len = strlen(name->library);

	return name->cnt && (strncmp(name->functions[0].name, name->library, len) ||
			     strncmp(name->functions[0].name + len, "+0x", 3));
}

/* Set the ids of an address for the first time. */
static int ask(struct native_frames *nf, struct native_known *k)
{
	uint32_t ids[FUNCTIONS_MAX], cnt = 1;
	struct native_name name;
	int err = native_name(nf->native, nf->tgid, k->file, k->addr, &name);
	bool named;

	if (native_rows_note_file(&nf->rows, nf->native, k->file))
		return -ENOMEM;
	if (err == -EAGAIN) {
		err = add_pending(nf, k, name.library);
		/* Not for ever: it is asked for again when it is needed again. */
		return err == -ENOSPC ? native_rows_library(&nf->rows, name.library, &k->id) : err;
	}
	named = !err && has_symbol(&name) && native_rows_have_room(&nf->rows);
	if (name.cnt && native_rows_have_room(&nf->rows))
		err = add_rows(&nf->rows, &name, ids, &cnt);
	else
		err = native_rows_library(&nf->rows, name.library, &ids[0]);
	k->named = named && !err;
	if (!err && !k->named && !k->file) {	/* JIT code may get a name at any time */
		k->id = ids[0];
		return 0;
	}
	return err ? err : keep_ids(nf, k, ids, cnt);
}

int native_frames_ids(struct native_frames *nf, struct native_known *known, const uint32_t **ids,
		      uint32_t *cnt)
{
	int err = known->cnt ? 0 : ask(nf, known);

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

/* The slot of a frame without a name. NULL: the table was emptied since. */
static struct native_known *slot_of(const struct native_frames *nf, uint32_t i)
{
	const struct native_known key = {
		.addr = nf->pending[i].addr, .file = nf->pending[i].file,
	};
	struct native_known *k = nf->known.cap ?
				 hash_slots_find(&nf->known, &kind, &key, NULL) : NULL;

	return k && k->used && k->pending1 == i + 1 ? k : NULL;
}

/* The last one takes its place. */
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
 * Name the row of a pending address: it is one row, so of inlined functions the one that has the
 * others in it. Later stacks have them all.
 */
static int name_pending(struct native_frames *nf, uint32_t i, const struct native_name *name,
			bool named)
{
	const struct pending *p = &nf->pending[i];
	struct native_known *k = slot_of(nf, i);
	uint32_t ids[FUNCTIONS_MAX], cnt;
	int err;

	if (!name->cnt || !native_rows_have_room(&nf->rows))
		return 0;
	err = native_rows_note_file(&nf->rows, nf->native, p->file);
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
