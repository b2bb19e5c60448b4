// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * symbolize.c - names and lines of frames, with a cache. See symbolize.h.
 */
#include "resolve/symbolize.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "base/util.h"
#include "resolve/budget.h"
#include "resolve/code_snapshot.h"
#include "resolve/frame_cache.h"

/* Upper bounds of the cache: code objects, frames, bytes of code objects. */
#define KNOWN_MAX (64 * 1024)
#define KNOWN_BYTES_MAX (256u << 20)
/* A process may have so many even if its user has too many. */
#define KNOWN_BYTES_LEAST (1u << 20)

/*
 * Upper bounds for hostile programs: names and frames in the intern table, which stay there until
 * the profile ends, and reads from the process. Beyond them frames are <unresolved>.
 */
#define NAMES_BYTES_MAX (64u << 20)
#define NAME_BYTES 32		/* that each name takes in the tables */
#define FRAME_BYTES 64
#define FRAMES_MAX (1u << 20)
#define READS_A_SECOND 4096

/* Upper bound of pending frames: each needs a row of its own in the frame table. */
#define PENDING_MAX 1024	/* fits known_frame.pending1 */

struct known_code {
	struct code_object code;
	struct known_code *next;	/* same hash */
	uint64_t addr;
	uint32_t id;
	bool resolved;
	bool busy;			/* there was no time to read it */
	bool trampoline;		/* see symbolizer_trampoline() */
	uint32_t file, func;		/* string ids */
};

/* A frame that was returned as <unresolved>, because there was no time to read its code object. */
struct pending {
	struct raw_frame raw;
	uint32_t id;			/* by intern_later() */
	uint32_t emitted;		/* how often it was returned */
};

struct symbolizer {
	const struct cpython_image *image;
	struct target_mem mem;
	struct intern *in;
	bool opcodes;
	bool gone;			/* the process has ended: nothing is read from it */
	bool was_busy;			/* there was no time for a read since this was cleared */
	struct u64map codes;		/* hash of (addr, id) -> chain of known_code */
	size_t code_cnt, code_bytes;
	struct frame_cache frames;
	struct pending *pending;
	uint32_t pending_cnt, pending_cap;
	uint32_t reads_left;		/* until symbolizer_refill() */
	size_t name_bytes;		/* that names added to `in` take */
	struct budget *budget;		/* of the process' user; NULL: none */
	size_t budget_names;		/* what this process has taken of it */
	uint32_t unresolved;		/* frame id of <unresolved> */
	uint32_t trampoline;		/* symbolizer_trampoline() */
	struct symbolizer_stats stats;
};

struct symbolizer *symbolizer_new(const struct cpython_image *image, struct target_mem mem,
				  struct intern *in, bool opcodes)
{
	struct symbolizer *sym = calloc(1, sizeof(*sym));

	if (!sym)
		return NULL;
	sym->image = image;
	sym->mem = mem;
	sym->in = in;
	sym->opcodes = opcodes;
	sym->reads_left = READS_A_SECOND;
	sym->unresolved = UINT32_MAX;
	sym->trampoline = UINT32_MAX;
	if (!frame_cache_init(&sym->frames)) {
		free(sym);
		errno = ENOMEM;
		return NULL;
	}
	return sym;
}

static void free_codes(struct symbolizer *sym)
{
	struct known_code *c, *next;
	size_t pos = 0;

	while ((c = u64map_next(&sym->codes, &pos)))
		for (; c; c = next) {
			next = c->next;
			code_free(&c->code);
			free(c);
		}
	u64map_free(&sym->codes);
	if (sym->budget)
		sym->budget->codes -= sym->code_bytes;
	sym->code_cnt = sym->code_bytes = 0;
}

void symbolizer_set_owner(struct symbolizer *sym, uint32_t uid)
{
	sym->budget = budget_join(uid);
}

static void take_names(struct symbolizer *sym, size_t bytes)
{
	if (!sym->budget)
		return;
	sym->budget->names += bytes;
	sym->budget_names += bytes;
}

static void add_code_bytes(struct symbolizer *sym, size_t bytes)
{
	sym->code_bytes += bytes;
	if (sym->budget)
		sym->budget->codes += bytes;
}

void symbolizer_free(struct symbolizer *sym)
{
	if (!sym)
		return;
	free_codes(sym);
	if (sym->budget)
		sym->budget->names -= sym->budget_names;
	budget_leave(sym->budget);
	frame_cache_free(&sym->frames);
	free(sym->pending);
	free(sym);
}

static bool is_full(const struct symbolizer *sym)
{
	return sym->code_cnt >= KNOWN_MAX || sym->frames.table.cnt >= KNOWN_MAX ||
	       sym->code_bytes >= KNOWN_BYTES_MAX ||
	       (sym->code_bytes >= KNOWN_BYTES_LEAST && budget_codes_full(sym->budget));
}

/*
 * Empty the full cache. Code objects that are needed again are read from the process; new ones
 * come from the BPF side.
 */
static void forget_all(struct symbolizer *sym)
{
	free_codes(sym);
	frame_cache_forget(&sym->frames);
}

const struct symbolizer_stats *symbolizer_stats(const struct symbolizer *sym)
{
	return &sym->stats;
}

uint32_t symbolizer_trampoline(const struct symbolizer *sym)
{
	return sym->trampoline;
}

void symbolizer_refill(struct symbolizer *sym)
{
	sym->reads_left = READS_A_SECOND;
}

/* Read from the process, if more reads are allowed; otherwise -EBUSY. */
static int read_process(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct symbolizer *sym = ctx;
	int err;

	if (sym->gone)
		return -ESRCH;
	err = sym->reads_left ? sym->mem.read(sym->mem.ctx, addr, buf, len) : -EBUSY;
	if (err == -EBUSY)
		sym->was_busy = true;
	else
		sym->reads_left--;
	return err;
}

static int intern_name(struct symbolizer *sym, const char *s, uint32_t len, uint32_t *id)
{
	uint32_t before = intern_tables(sym->in)->string_cnt;
	int err = intern_string(sym->in, s, len, id);

	if (!err && intern_tables(sym->in)->string_cnt != before) {
		sym->name_bytes += len + NAME_BYTES;
		take_names(sym, len + NAME_BYTES);
	}
	return err;
}

/*
 * A snapshot's gaps were filled from the process, which by now may have another code object at
 * this address: compare the fingerprint, so that names of two code objects are not mixed. If the
 * process has ended meanwhile, it cannot be compared, and the result is 0.
 */
static int check_filled(struct symbolizer *sym, uint64_t addr, uint32_t identity)
{
	const struct target_mem mem = { read_process, sym };
	int err = code_check(&mem, &sym->image->layout, addr, identity);

	return err == -ESRCH ? 0 : err;
}

int symbolizer_check(struct symbolizer *sym, uint64_t code, uint32_t id)
{
	const struct target_mem mem = { read_process, sym };
	int err = code_check(&mem, &sym->image->layout, code, id);

	if (err == -ESRCH)
		sym->gone = true;
	return err;
}

static size_t code_size(const struct code_object *code)
{
	return code->linetable_len + code->file_len + code->name_len;
}

static void drop_code(struct symbolizer *sym, struct known_code *c)
{
	if (!c->resolved)
		return;
	add_code_bytes(sym, -code_size(&c->code));
	sym->stats.without_lines -= c->code.without_lines;
	code_free(&c->code);
	c->resolved = false;
}

/* The code object of 3.12's entry frames. */
static bool is_trampoline(const struct code_object *code)
{
	return code->minor == 12 && !strcmp(code->file, "<shim>") &&
	       !strcmp(code->name, "<interpreter trampoline>");
}

/* Give c the code object *code, and intern its names. 0: c owns it; else the caller still does. */
static int name_code(struct symbolizer *sym, struct known_code *c, const struct code_object *code)
{
	uint32_t file, func;
	int err;

	/* id 0: the BPF side could not compute the fingerprint. */
	if ((c->id && code->identity != c->id) || sym->name_bytes >= NAMES_BYTES_MAX ||
	    budget_names_full(sym->budget))
		return -ESTALE;
	err = intern_name(sym, code->file, code->file_len, &file);
	if (!err)
		err = intern_name(sym, code->name, code->name_len, &func);
	if (err)
		return err;
	sym->stats.code_cnt += !c->resolved;
	drop_code(sym, c);
	c->code = *code;
	c->file = file;
	c->func = func;
	c->trampoline = is_trampoline(code);
	c->resolved = true;
	sym->stats.without_lines += code->without_lines;
	add_code_bytes(sym, code_size(code));
	return 0;
}

/* Read c's code object from mem. If that fails, c keeps what it has. 0 or -ENOMEM. */
static int read_code(struct symbolizer *sym, const struct target_mem *mem, struct known_code *c)
{
	uint64_t reads = sym->stats.process_reads;
	struct code_object code;
	int err;

	sym->was_busy = false;
	err = code_read(mem, &sym->image->layout, &sym->image->objects, c->addr, &code);
	if (!err) {
		if (sym->stats.process_reads != reads)
			err = check_filled(sym, c->addr, code.identity);
		if (!err)
			err = name_code(sym, c, &code);
		if (err)
			code_free(&code);
	}
	if (err == -ESRCH)
		sym->gone = true;
	c->busy = sym->was_busy;
	return err == -ENOMEM ? err : 0;
}

static uint64_t code_key(uint64_t addr, uint32_t id)
{
	return hash_u64(addr ^ (uint64_t)id << 20);
}

static struct known_code *known_code(const struct symbolizer *sym, uint64_t addr, uint32_t id)
{
	struct known_code *c = u64map_get(&sym->codes, code_key(addr, id));

	while (c && (c->addr != addr || c->id != id))
		c = c->next;
	return c;
}

/* The entry of (addr, id). If there is none, a new one is made, and *fresh set. NULL: no memory. */
static struct known_code *code_entry(struct symbolizer *sym, uint64_t addr, uint32_t id,
				     bool *fresh)
{
	struct known_code *first, *c = known_code(sym, addr, id);

	*fresh = false;
	if (c)
		return c;
	first = u64map_get(&sym->codes, code_key(addr, id));
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->addr = addr;
	c->id = id;
	c->next = first;
	if (u64map_put(&sym->codes, code_key(addr, id), c)) {
		free(c);
		return NULL;
	}
	sym->code_cnt++;
	*fresh = true;
	return c;
}

/* The code object of a raw frame, from the cache or read from the process. *out NULL: neither. */
static int find_code(struct symbolizer *sym, const struct raw_frame *raw, struct known_code **out)
{
	struct target_mem mem = { read_process, sym };
	struct known_code *c;
	bool fresh;

	*out = NULL;
	if (!sym->reads_left && !known_code(sym, raw->code, raw->id))
		return 0;
	c = *out = code_entry(sym, raw->code, raw->id, &fresh);
	if (!c)
		return -ENOMEM;
	/* Without a fingerprint the address may have another code object now. */
	if (!fresh && !c->id && c->resolved) {
		drop_code(sym, c);
		fresh = true;
	}
	if (c->busy)
		fresh = true;
	if (!fresh || sym->gone)
		return 0;
	sym->stats.process_reads++;
	return read_code(sym, &mem, c);
}

/* Memory for code_read(): a snapshot; for its gaps, if may_fill, the process. */
struct snapshot {
	const struct raw_code *raw;
	struct symbolizer *sym;
	bool may_fill;
};

static int snapshot_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct snapshot *snap = ctx;
	int err = code_snapshot_read(snap->raw, addr, buf, len);

	if (!err || !snap->may_fill)
		return err;
	if (!snap->sym->gone)
		snap->sym->stats.process_reads++;
	return read_process(snap->sym, addr, buf, len);
}

/* If the gaps cannot be filled, the code object is read without them: it may have no line table. */
static int read_snapshot(struct symbolizer *sym, const struct raw_code *raw, struct known_code *c)
{
	struct snapshot snap = { raw, sym, true };
	const struct target_mem mem = { snapshot_read, &snap };
	int err = read_code(sym, &mem, c);
	bool busy = c->busy;

	if (err || c->resolved)
		return err;
	snap.may_fill = false;
	err = read_code(sym, &mem, c);
	c->busy = busy;
	return err;
}

int symbolizer_learn(struct symbolizer *sym, const struct raw_code *raw, size_t len)
{
	struct known_code *c;
	bool fresh;

	if (!code_snapshot_is_whole(raw, len))
		return -EBADMSG;
	if (is_full(sym))
		forget_all(sym);
	c = code_entry(sym, raw->code, raw->id, &fresh);
	if (!c)
		return -ENOMEM;
	sym->stats.repeated += c->resolved;
	return c->resolved ? 0 : read_snapshot(sym, raw, c);
}

static int add_frame(struct symbolizer *sym, const struct frame *f, uint32_t *id)
{
	uint32_t before = intern_tables(sym->in)->frame_cnt;
	int err = intern_frame(sym->in, f, id);

	if (intern_tables(sym->in)->frame_cnt != before)
		take_names(sym, FRAME_BYTES);
	return err;
}

static bool has_room_for_frame(const struct symbolizer *sym)
{
	return intern_tables(sym->in)->frame_cnt < FRAMES_MAX && !budget_names_full(sym->budget);
}

static int make_frame(struct symbolizer *sym, const struct known_code *c,
		      const struct raw_frame *raw, uint32_t *id)
{
	struct frame f = { .file = c->file, .func = c->func, .opcode = OPCODE_NONE };
	struct target_mem mem = { read_process, sym };
	struct code_position pos;
	int err;

	if (c->trampoline) {
		f.line = f.end_line = LINE_NONE;
		f.column = f.end_column = COLUMN_NONE;
		err = add_frame(sym, &f, id);
		sym->trampoline = *id;
		return err;
	}
	code_position(&c->code, raw->lasti, &pos);
	f.line = pos.line;
	f.end_line = pos.end_line;
	f.column = pos.column;
	f.end_column = pos.end_column;
	f.first_line = c->code.firstlineno > 0 ? c->code.firstlineno : 0;
	if (sym->opcodes && raw->lasti < RAW_LASTI_LINE && !sym->gone)
		f.opcode = code_opcode(&mem, &sym->image->layout, c->code.minor, raw->code,
				       raw->lasti);
	return add_frame(sym, &f, id);
}

static int unresolved_frame(struct symbolizer *sym, uint32_t *id)
{
	int err = 0;

	if (sym->unresolved == UINT32_MAX)
		err = intern_synthetic(sym->in, FRAME_SYNTHETIC, "<unresolved>",
				       &sym->unresolved);
	*id = sym->unresolved;
	return err;
}

/* Remember a frame for symbolizer_retry(). Without room or memory it stays <unresolved>. */
static void add_pending(struct symbolizer *sym, const struct raw_frame *raw,
			struct known_frame *slot)
{
	uint32_t cap = sym->pending_cap ? 2 * sym->pending_cap : 16, id;
	struct pending *bigger;

	if (sym->pending_cnt == PENDING_MAX || !has_room_for_frame(sym))
		return;
	if (sym->pending_cnt == sym->pending_cap) {
		bigger = reallocarray(sym->pending, cap, sizeof(*bigger));
		if (!bigger)
			return;
		sym->pending = bigger;
		sym->pending_cap = cap;
	}
	if (intern_later(sym->in, sym->unresolved, &id))
		return;
	take_names(sym, FRAME_BYTES);
	sym->pending[sym->pending_cnt++] = (struct pending){ .raw = *raw, .id = id };
	slot->pending1 = sym->pending_cnt;
	slot->id = id;
}

static void drop_pending(struct symbolizer *sym, uint32_t i)
{
	const struct pending *last = &sym->pending[--sym->pending_cnt];
	struct known_frame *slot;

	if (!sym->pending_cnt) {
		free(sym->pending);
		sym->pending = NULL;
		sym->pending_cap = 0;
	}
	if (i == sym->pending_cnt)
		return;
	sym->pending[i] = *last;
	slot = frame_cache_slot(&sym->frames, &last->raw);
	if (slot->raw.code && slot->pending1 == sym->pending_cnt + 1)
		slot->pending1 = i + 1;
}

/*
 * Give the pending frame's row the contents of the frame `as`. A trampoline stays <unresolved>,
 * because it can no longer be dropped from the stacks that were returned.
 */
static void name_pending(struct symbolizer *sym, uint32_t i, uint32_t as)
{
	const struct pending *p = &sym->pending[i];

	if (as != sym->trampoline) {
		intern_name_later(sym->in, p->id, as);
		sym->stats.unresolved -= p->emitted;
	}
	drop_pending(sym, i);
}

static int resolve(struct symbolizer *sym, const struct raw_frame *raw, struct known_frame *slot)
{
	struct known_code *code;
	int err = find_code(sym, raw, &code);
	bool later;

	if (err)
		return err;
	slot->raw = *raw;
	slot->resolved = code && code->resolved && has_room_for_frame(sym);
	if (slot->resolved) {
		err = make_frame(sym, code, raw, &slot->id);
		if (!err && slot->pending1)
			name_pending(sym, slot->pending1 - 1, slot->id);
		slot->pending1 = 0;
		return err;
	}
	later = !code || code->busy;
	if (slot->pending1 && !later) {
		drop_pending(sym, slot->pending1 - 1);
		slot->pending1 = 0;
	}
	if (slot->pending1)
		return 0;
	err = unresolved_frame(sym, &slot->id);
	if (!err && later && raw->id && raw->code && !sym->gone)
		add_pending(sym, raw, slot);
	return err;
}

/* Add a frame that is not in the cache; *slot is its slot. */
static int new_frame(struct symbolizer *sym, const struct raw_frame *raw,
		     struct known_frame **slot)
{
	int err;

	if (frame_cache_reserve(&sym->frames))
		return -ENOMEM;
	*slot = frame_cache_slot(&sym->frames, raw);
	err = resolve(sym, raw, *slot);
	if (err)
		**slot = (struct known_frame){ 0 };
	else
		sym->frames.table.cnt++;
	return err;
}

int symbolizer_frame(struct symbolizer *sym, const struct raw_frame *raw, uint32_t *id)
{
	struct known_frame *slot, once = { 0 };
	int err = 0;

	slot = frame_cache_slot(&sym->frames, raw);
	if (!slot->raw.code) {
		if (is_full(sym))
			forget_all(sym);
		if (raw->id && raw->code) {
			err = new_frame(sym, raw, &slot);
		} else {
			slot = &once;
			err = resolve(sym, raw, slot);
		}
	} else if (!slot->resolved) {
		/* The BPF side may have sent its code object meanwhile. */
		err = resolve(sym, raw, slot);
		slot->resolved = slot->resolved && !err;
	}
	if (err)
		return err;
	if (!slot->resolved) {
		sym->stats.unresolved++;
		if (slot->pending1)
			sym->pending[slot->pending1 - 1].emitted++;
	}
	*id = slot->id;
	return 0;
}

uint32_t symbolizer_known(const struct symbolizer *sym, const struct raw_frame *raw, uint32_t n,
			  uint32_t *ids)
{
	return frame_cache_ids(&sym->frames, raw, n, ids);
}

uint32_t symbolizer_pending(const struct symbolizer *sym)
{
	return sym->pending_cnt;
}

int symbolizer_retry(struct symbolizer *sym)
{
	struct known_frame *slot, once;
	uint32_t i = sym->pending_cnt;
	int err = 0;

	/* From the end: drop_pending() moves the last one to the place of the dropped one. */
	while (!err && i-- > 0) {
		const struct raw_frame raw = sym->pending[i].raw;

		slot = frame_cache_slot(&sym->frames, &raw);
		if (!slot->raw.code || slot->pending1 != i + 1) {	/* it was forgotten */
			once = (struct known_frame){ .raw = raw, .pending1 = i + 1 };
			slot = &once;
		}
		err = resolve(sym, &raw, slot);
	}
	return err;
}
