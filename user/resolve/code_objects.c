// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* code_objects.c - see code_objects.h. */
#include "resolve/code_objects.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "model/intern.h"
#include "resolve/budget.h"
#include "resolve/symbolize.h"

/* Limits of code objects and of their memory in bytes. */
#define KNOWN_BYTES_MAX (256u << 20)
/* A process may have this many bytes even if its user has too many. */
#define KNOWN_BYTES_LEAST (1u << 20)

/*
 * Limits for hostile programs: names in the intern table, which are kept until the profile ends,
 * and reads from the process. Beyond them frames are <unresolved>.
 */
#define NAMES_BYTES_MAX (64u << 20)
#define NAME_BYTES 32		/* memory of each name in the tables */
#define READS_A_SECOND 4096

void code_objects_init(struct code_objects *codes, const struct cpython_image *image,
		       struct target_mem mem, struct intern *in, struct symbolizer_stats *stats)
{
	*codes = (struct code_objects){ .image = image, .mem = mem, .in = in, .stats = stats };
	code_objects_refill(codes);
}

void code_objects_refill(struct code_objects *codes)
{
	codes->reads_left = READS_A_SECOND;
}

void code_objects_set_owner(struct code_objects *codes, uint32_t uid)
{
	codes->budget = budget_join(uid);
}

void code_objects_forget(struct code_objects *codes)
{
	struct known_code *c, *next;
	size_t pos = 0;

	while ((c = u64map_next(&codes->by_key, &pos)))
		for (; c; c = next) {
			next = c->next;
			code_free(&c->code);
			free(c);
		}
	u64map_free(&codes->by_key);
	if (codes->budget)
		codes->budget->codes -= codes->bytes;
	codes->cnt = codes->bytes = 0;
}

void code_objects_free(struct code_objects *codes)
{
	code_objects_forget(codes);
	if (codes->budget)
		codes->budget->names -= codes->budget_names;
	budget_leave(codes->budget);
}

size_t code_objects_leave_names(struct code_objects *codes)
{
	size_t bytes = codes->budget_names;

	codes->budget_names = 0;
	return bytes;
}

void code_objects_count_names(struct code_objects *codes, size_t bytes)
{
	if (!codes->budget)
		return;
	codes->budget->names += bytes;
	codes->budget_names += bytes;
}

static void add_code_bytes(struct code_objects *codes, size_t bytes)
{
	codes->bytes += bytes;
	if (codes->budget)
		codes->budget->codes += bytes;
}

bool code_objects_are_full(const struct code_objects *codes)
{
	return codes->cnt >= CODE_OBJECTS_MAX || codes->bytes >= KNOWN_BYTES_MAX ||
	       (codes->bytes >= KNOWN_BYTES_LEAST && budget_codes_full(codes->budget));
}

/* ---- snapshots, and the process ---- */

/* Returns true if a record of len bytes has all that its pieces claim; required by the next one. */
static bool is_whole(const struct raw_code *raw, size_t len)
{
	return len >= offsetof(struct raw_code, table) &&
	       raw->table_at.len <= len - offsetof(struct raw_code, table) &&
	       raw->head_at.len <= RAW_CODE_HEAD && raw->name_at.len <= RAW_CODE_NAME &&
	       raw->file_at.len <= RAW_CODE_FILE;
}

/* Reads len bytes at an address of the process. 0; -ENODATA: no piece has all of them. */
static int read_snapshot(const struct raw_code *raw, uint64_t addr, void *buf, size_t len)
{
	const struct {
		const struct raw_piece *at;
		const uint8_t *data;
	} pieces[] = {
		{ &raw->head_at, raw->head },
		{ &raw->name_at, raw->name },
		{ &raw->file_at, raw->file },
		{ &raw->table_at, raw->table },
	};
	uint64_t off;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		off = addr - pieces[i].at->addr;
		if (off <= pieces[i].at->len && len <= pieces[i].at->len - off) {
			memcpy(buf, pieces[i].data + off, len);
			return 0;
		}
	}
	return -ENODATA;
}

/* Reads a code object from a snapshot, if there is one; missing parts come from the process. */
struct reader {
	struct code_objects *codes;
	const struct raw_code *snapshot;	/* NULL: there is none */
	bool not_process;	/* do not read the process */
	bool filled;		/* a gap of the snapshot was filled */
	int err;		/* why the process could not be read: -EBUSY, there was no time;
				 * -ESRCH, it has ended; 0: no error, or not tried */
};

/* Reads from the process, if more reads are allowed; otherwise -EBUSY. */
static int read_process(struct code_objects *codes, uint64_t addr, void *buf, size_t len)
{
	int err;

	if (codes->gone)
		return -ESRCH;
	if (!codes->reads_left)
		return -EBUSY;
	err = codes->mem.read(codes->mem.ctx, addr, buf, len);
	codes->reads_left -= err != -EBUSY;
	return err;
}

/* target_mem.read of a struct reader */
static int reader_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct reader *r = ctx;
	int err = r->snapshot ? read_snapshot(r->snapshot, addr, buf, len) : -ENODATA;

	if (!err || r->not_process)
		return err;
	if (r->snapshot && !r->codes->gone) {
		r->codes->stats->process_reads++;
		r->filled = true;
	}
	err = read_process(r->codes, addr, buf, len);
	if (!r->err && (err == -EBUSY || err == -ESRCH))
		r->err = err;
	return err;
}

/* ---- code objects and their names ---- */

static int intern_name(struct code_objects *codes, const char *s, uint32_t len, uint32_t *id)
{
	uint32_t before = intern_tables(codes->in)->string_cnt;
	int err = intern_string(codes->in, s, len, id);

	if (!err && intern_tables(codes->in)->string_cnt != before) {
		codes->name_bytes += len + NAME_BYTES;
		code_objects_count_names(codes, len + NAME_BYTES);
	}
	return err;
}

static void drop_code(struct code_objects *codes, struct known_code *c)
{
	if (!c->resolved)
		return;
	add_code_bytes(codes, -(size_t)c->code.linetable_len);
	codes->stats->without_lines -= c->code.without_lines;
	code_free(&c->code);
	c->resolved = false;
}

/* The code object of 3.12's entry frames. */
static bool is_trampoline(const struct code_object *code)
{
	return code->minor == 12 && !strcmp(code->file, "<shim>") &&
	       !strcmp(code->name, "<interpreter trampoline>");
}

/*
 * Gives c the code object *code, and interns its names: they are kept nowhere else. 0: c owns it;
 * else the caller still does.
 */
static int name_code(struct code_objects *codes, struct known_code *c,
		     const struct code_object *code)
{
	uint32_t file, func;
	int err;

	/* id 0: the BPF side could not compute the fingerprint. */
	if ((c->id && code->identity != c->id) || codes->name_bytes >= NAMES_BYTES_MAX ||
	    budget_names_full(codes->budget))
		return -ESTALE;
	err = intern_name(codes, code->file, code->file_len, &file);
	if (!err)
		err = intern_name(codes, code->name, code->name_len, &func);
	if (err)
		return err;
	codes->stats->code_cnt += !c->resolved;
	drop_code(codes, c);
	c->code = *code;
	c->file = file;
	c->func = func;
	c->trampoline = is_trampoline(code);
	free(c->code.file);
	free(c->code.name);
	c->code.file = c->code.name = NULL;
	c->resolved = true;
	codes->stats->without_lines += code->without_lines;
	add_code_bytes(codes, code->linetable_len);
	return 0;
}

/*
 * A snapshot's gaps were filled from the process, which by now may have another code object at this
 * address. Compares the fingerprint, so that names of two code objects are not mixed. If the
 * process has ended meanwhile, this is impossible, and the result is 0.
 */
static int check_filled(struct reader *r, const struct code_object *code)
{
	const struct target_mem mem = { reader_read, r };
	int err;

	r->snapshot = NULL;
	err = code_check(&mem, &r->codes->image->layout, code->addr, code->identity);
	return err == -ESRCH ? 0 : err;
}

/* Reads c's code object. If that fails, c keeps what it has. 0 or -ENOMEM. */
static int read_code(struct reader *r, struct known_code *c)
{
	const struct target_mem mem = { reader_read, r };
	const struct cpython_image *image = r->codes->image;
	struct code_object code;
	int err = code_read(&mem, &image->layout, &image->objects, c->addr, &code);

	if (!err) {
		if (r->filled)
			err = check_filled(r, &code);
		if (!err)
			err = name_code(r->codes, c, &code);
		if (err)
			code_free(&code);
	}
	r->codes->gone |= r->err == -ESRCH;
	c->busy = r->err == -EBUSY;
	return err == -ENOMEM ? err : 0;
}

static uint64_t code_key(uint64_t addr, uint32_t id)
{
	return hash_u64(addr ^ (uint64_t)id << 20);
}

static struct known_code *known_code(const struct code_objects *codes, uint64_t addr, uint32_t id)
{
	struct known_code *c = u64map_get(&codes->by_key, code_key(addr, id));

	while (c && (c->addr != addr || c->id != id))
		c = c->next;
	return c;
}

/* Returns the entry of (addr, id), or a new one, with *fresh set. NULL: no memory. */
static struct known_code *code_entry(struct code_objects *codes, uint64_t addr, uint32_t id,
				     bool *fresh)
{
	struct known_code *first, *c = known_code(codes, addr, id);

	*fresh = false;
	if (c)
		return c;
	first = u64map_get(&codes->by_key, code_key(addr, id));
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->addr = addr;
	c->id = id;
	c->next = first;
	if (u64map_put(&codes->by_key, code_key(addr, id), c)) {
		free(c);
		return NULL;
	}
	codes->cnt++;
	*fresh = true;
	return c;
}

int code_objects_find(struct code_objects *codes, const struct raw_frame *raw,
		      struct known_code **out)
{
	struct reader reader = { .codes = codes };
	struct known_code *c;
	bool fresh;

	*out = NULL;
	if (!codes->reads_left && !known_code(codes, raw->code, raw->id))
		return 0;
	c = *out = code_entry(codes, raw->code, raw->id, &fresh);
	if (!c)
		return -ENOMEM;
	/* Without a fingerprint, another code object may be at this address now. */
	if (!fresh && !c->id && c->resolved) {
		drop_code(codes, c);
		fresh = true;
	}
	if (c->busy)
		fresh = true;
	if (!fresh || codes->gone)
		return 0;
	codes->stats->process_reads++;
	return read_code(&reader, c);
}

/* If the gaps cannot be filled, the code object is read without them and may lack a line table. */
static int learn_snapshot(struct code_objects *codes, const struct raw_code *raw,
			  struct known_code *c)
{
	struct reader whole = { .codes = codes, .snapshot = raw };
	struct reader alone = { .codes = codes, .snapshot = raw, .not_process = true };
	int err = read_code(&whole, c);
	bool busy = c->busy;

	if (err || c->resolved)
		return err;
	err = read_code(&alone, c);
	c->busy = busy;
	return err;
}

int code_objects_learn(struct code_objects *codes, const struct raw_code *raw, size_t len)
{
	struct known_code *c;
	bool fresh;

	if (!is_whole(raw, len))
		return -EBADMSG;
	c = code_entry(codes, raw->code, raw->id, &fresh);
	if (!c)
		return -ENOMEM;
	codes->stats->repeated += c->resolved;
	return c->resolved ? 0 : learn_snapshot(codes, raw, c);
}

uint8_t code_objects_opcode(struct code_objects *codes, const struct known_code *c, uint32_t lasti)
{
	struct reader reader = { .codes = codes };
	const struct target_mem mem = { reader_read, &reader };

	return code_opcode(&mem, &codes->image->layout, c->code.minor, c->addr, lasti);
}
