// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chains_object.c - finds the object that contains a word: the nearest one before it whose type is
 * known, and that is long enough.
 *
 * Sources, at v3.6.15 ... v3.15.0: Include/cpython/frameobject.h and
 * Include/internal/pycore_frame.h (PyFrameObject: f_back, f_frame), Include/internal/pycore_gc.h,
 * Include/internal/pycore_dict.h (struct _dictvalues).
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "heap/chains_work.h"

#define HAVE_GC (1ull << 14)
/* Free-threaded builds: PyObject.ob_mutex, with its two bits (Include/cpython/lock.h). */
#define OB_MUTEX 10
#define MUTEX_MAX 3
#define HEAD_MAX 64		/* sizeof(PyObject) is at most 32 */
/* Windows before a word in which its object may begin: most are small. */
#define NEAR_BYTES 512u
#define FAR_BYTES 65536u
/* Objects before the word that may turn out to be too short: then it is in no object. */
#define SHORT_MAX 4u
/* PyTypeObject after sizeof(PyObject): all that a type has which is not on the heap. */
#define TYPE_BYTES 384u
/* Attributes that are in the object, at most (SHARED_KEYS_MAX_SIZE). */
#define VALUES_MAX 30
/* Items of an object, at most: more are a lie. */
#define ITEMS_MAX (1u << 30)

/* ---- memory ---- */

const struct heap_region *chains_region(const struct chains *c, uint64_t at)
{
	uint32_t from = 0, to = c->memory->region_cnt, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (c->memory->regions[middle].end <= at)
			from = middle + 1;
		else
			to = middle;
	}
	return from < c->memory->region_cnt && c->memory->regions[from].start <= at ?
		&c->memory->regions[from] : NULL;
}

/*
 * A read would bring a page into memory, if only one of zeros: what is taken for a pointer may lead
 * anywhere.
 */
static int read_present(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct chains *c = ctx;
	const struct heap_memory *m = c->memory;
	bool present = true;

	if (m->run && len && addr + len > addr && chains_region(c, addr) &&
	    (m->run(m->run_ctx, addr, addr + len, &present) < len || !present))
		return -EFAULT;
	return m->mem.read(m->mem.ctx, addr, buf, len);
}

void chains_forget(struct chains *c)
{
	pages_begin(&c->pages, &(struct target_mem){ read_present, c });
}

/* ---- heads ---- */

/* _gc_next: it may have flags, but not without a pointer. */
static bool may_be_next(uint64_t word)
{
	return !word || (word >= 4096 && word < 1ull << 56);
}

/* The collector's list before an object consists of pointers, or is empty. */
static bool has_gc_head(struct chains *c, uint64_t addr, const struct heap_type *type)
{
	uint64_t next;

	if (!(type->flags & HAVE_GC) || !c->target->layout.gc_head)
		return true;
	return !py_get(&c->walk, addr - c->target->layout.gc_head, &next, sizeof(next)) &&
	       may_be_next(next);
}

/*
 * The head of a living object. Programs at fixed addresses have some below 4 GiB, which would do as
 * reference counts: two words of a stack or of freed memory may look like a head.
 */
static bool is_head(struct chains *c, const uint8_t *bytes, struct heap_object *object)
{
	if (c->target->free_threaded && bytes[OB_MUTEX] > MUTEX_MAX)
		return false;
	return heap_object_at(c->types, bytes, c->head, object) &&
	       (object->refs < 65536 || !chains_region(c, object->refs));
}

/*
 * A tuple's size (from 3.14 on, its hash) and its first item, a type, look like a head, too. Before
 * them is the end of the tuple's head. words: those that end with a type, TUPLE_WORDS of them.
 */
#define TUPLE_WORDS 4u
static bool is_in_tuple(struct chains *c, const uint64_t words[TUPLE_WORDS])
{
	uint32_t i = chains_set_find(&c->known, words[c->target->minor >= 14 ? 0 : 1]);

	return i < c->type_cnt && c->list[i]->kind == HEAP_TUPLE;
}

const struct heap_type *chains_object(struct chains *c, uint64_t addr)
{
	uint8_t bytes[HEAD_MAX];
	uint64_t words[TUPLE_WORDS];
	struct heap_object object;

	if (addr & 7 || py_get(&c->walk, addr, bytes, c->head) ||
	    !is_head(c, bytes, &object) || !has_gc_head(c, addr, object.type))
		return NULL;
	/* All types have been found before. */
	if (object.type->kind == HEAP_TYPE && chains_set_find(&c->known, addr) == CHAINS_NONE)
		return NULL;
	if (!py_get(&c->walk, addr + c->head - sizeof(words), words, sizeof(words)) &&
	    is_in_tuple(c, words))
		return NULL;
	return object.type;
}

uint32_t chains_refs(struct chains *c, uint64_t addr)
{
	uint8_t bytes[HEAD_MAX];
	struct heap_object object;

	return !py_get(&c->walk, addr, bytes, c->head) && is_head(c, bytes, &object) ?
		object.refs : UINT32_MAX;
}

uint64_t chains_word_object(struct chains *c, const struct chains_word *w,
			    const struct heap_type *type)
{
	uint32_t above = c->head / 8u - 1, gc = c->target->layout.gc_head / 8u;
	uint64_t addr = w->at - 8ull * above;
	const uint64_t *words = w->word - above;
	struct heap_object object;

	/* Of small alignment only in old versions, see Objects/obmalloc.c at v3.7.16. */
	if (addr & (c->target->minor < 8 ? 7 : 15))
		return 0;
	if (w->before < above + gc + TUPLE_WORDS)
		return chains_object(c, addr) == type ? addr : 0;
	if (!is_head(c, (const uint8_t *)words, &object) || object.type != type ||
	    is_in_tuple(c, w->word + 1 - TUPLE_WORDS))
		return 0;
	if (type->flags & HAVE_GC && gc && !may_be_next(words[-(int64_t)gc]))
		return 0;
	return addr;
}

/* ---- how long it is ---- */

bool chains_inner_frame(struct chains *c, uint64_t obj, const struct heap_type *type,
			struct py_frame *frame)
{
	const struct py_layout *l = &c->target->layout;

	if (l->lasti_unit || (type->kind != HEAP_FRAME && type->kind != HEAP_GENERATOR))
		return false;
	frame->addr = obj + l->fr_generator;
	if (type->kind == HEAP_FRAME) {		/* until it returns, its frame is elsewhere */
		if (py_pointer(&c->walk, obj + c->head + 8, &frame->addr) ||
		    frame->addr < obj || frame->addr - obj > type->basic)
			return false;
	}
	if (py_pointer(&c->walk, frame->addr + l->fr_code, &frame->code))
		return false;
	frame->code &= ~(uint64_t)l->code_tag_mask;
	return frame->code != 0;
}

static uint64_t frame_extent(struct chains *c, uint64_t obj, const struct heap_type *type)
{
	struct py_variables v;
	struct py_frame frame;

	if (!chains_inner_frame(c, obj, type, &frame) ||
	    py_frame_variables(&c->walk, &c->at, &frame, &v))
		return type->basic;
	return v.slots - obj + 8ull * (v.cnt + v.stack);
}

static uint64_t str_extent(struct chains *c, uint64_t obj, const struct heap_type *type)
{
	const struct py_object_layout *o = &c->target->objects;
	uint64_t length;
	uint32_t state, kind;

	if (py_get(&c->walk, obj + o->str_length, &length, sizeof(length)) ||
	    py_get(&c->walk, obj + o->str_state, &state, sizeof(state)) || length > ITEMS_MAX)
		return type->basic;
	if (!(state & o->str_compact_bit))
		return type->basic;
	kind = (state & o->str_kind_mask) >> o->str_kind_shift & 7;
	return (state & o->str_ascii_bit ? o->str_ascii_data : o->str_compact_data) +
	       (length + 1) * kind;
}

static uint64_t items_extent(struct chains *c, uint64_t obj, const struct heap_type *type)
{
	int64_t size;

	if (!type->item || py_get(&c->walk, obj + c->head, &size, sizeof(size)))
		return type->basic;
	size = size < 0 ? -(size + 1) : size;
	return type->basic + (uint64_t)type->item * (size < ITEMS_MAX ? (uint64_t)size : 0);
}

uint64_t chains_extent(struct chains *c, uint64_t addr, const struct heap_type *type)
{
	const struct heap_type *self;
	uint8_t capacity;	/* of struct _dictvalues, its first byte */
	uint64_t bytes;

	switch (type->kind) {
	case HEAP_STR:
		return str_extent(c, addr, type);
	case HEAP_INT:
		return type->basic;
	case HEAP_TYPE:
		self = heap_types_at(c->types, addr);
		if (self && !(self->flags & PY_HEAP_TYPE))
			return c->head + TYPE_BYTES;
		break;
	case HEAP_FRAME:
	case HEAP_GENERATOR:
		if (!c->target->layout.lasti_unit)
			return frame_extent(c, addr, type);
		break;
	default:
		break;
	}
	bytes = items_extent(c, addr, type);
	if (c->target->minor >= 13 && type->flags & PY_INLINE_VALUES &&
	    !py_get(&c->walk, addr + type->basic, &capacity, 1) && capacity <= VALUES_MAX)
		bytes = type->basic + 8ull + 8ull * capacity;
	return bytes;
}

/* ---- which it is ---- */

/* Words before an object that belong to it: its dict, if it has a place for that. */
static uint64_t owner_behind(struct chains *c, uint64_t at, const struct heap_type **type)
{
	uint64_t addr = at + (c->target->free_threaded ? 8 : 24);

	if (c->target->minor < 11)
		return 0;
	*type = chains_object(c, addr);
	return *type && (*type)->flags & PY_MANAGED_DICT ? addr : 0;
}

/* Look for it in a window of bytes before `end`, and stop after SHORT_MAX that are too short. */
static uint64_t owner_in(struct chains *c, uint64_t at, uint64_t from, uint64_t end,
			 uint32_t *too_short, const struct heap_type **type)
{
	static uint64_t words[FAR_BYTES / 8];
	uint64_t addr, i = (end - from) / 8, page = (end - 8) & ~(uint64_t)(PAGES_BYTES - 1);

	if (py_get(&c->walk, from, words, i * sizeof(*words))) {
		/* The pages before are not in memory: an object does not begin there. */
		*too_short = SHORT_MAX - 1;
		from = page > from ? page : from;
		i = (end - from) / 8;
		if (py_get(&c->walk, from, words, i * sizeof(*words)))
			return 0;
	}
	while (i-- && *too_short < SHORT_MAX) {
		if (chains_set_find(&c->known, words[i]) == CHAINS_NONE)
			continue;
		addr = from + 8 * i - (c->head - 8u);
		*type = chains_object(c, addr);
		if (!*type || (*type)->addr != words[i])
			continue;
		if (at - addr < chains_extent(c, addr, *type))
			return addr;
		++*too_short;
	}
	return 0;
}

uint64_t chains_owner(struct chains *c, uint64_t at, const struct heap_type **type)
{
	const struct heap_region *r = chains_region(c, at);
	uint64_t addr = r ? owner_behind(c, at, type) : 0, end = at + 8, from, bytes;
	uint32_t too_short = 0;

	if (!r || addr)
		return addr;
	for (bytes = NEAR_BYTES; !addr && bytes <= FAR_BYTES && end > r->start &&
	     too_short < SHORT_MAX; bytes *= 2) {
		from = (at + 8 - r->start > bytes ? at + 8 - bytes : r->start + 7) & ~7ull;
		addr = from < end ? owner_in(c, at, from, end, &too_short, type) : 0;
		end = from;
	}
	return addr;
}
