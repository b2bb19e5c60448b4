// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * coroutine.c - see coroutine.h.
 *
 * Sources, at v3.8.0 ... v3.15.0: Include/genobject.h, from 3.11 on Include/cpython/genobject.h,
 * later internal/pycore_interpframe_structs.h (_PyGenObject_HEAD: coroutines, generators and
 * asynchronous generators begin alike), Include/cpython/frameobject.h (up to 3.10),
 * internal/pycore_frame.h (frame states), Objects/genobject.c (_PyGen_yf() says when a coroutine
 * awaits: up to 3.10 if its next instruction is YIELD_FROM, in 3.11 and 3.12 if it is the RESUME
 * after an await or yield from, then by its state). tests/e2e/cpython/test_coroutines.py
 * reads living ones, test_layouts.py there compares the offsets in py_code_layout().
 */
#include "asyncio/coroutine.h"

#include <errno.h>
#include <string.h>

#include "cpython/frames.h"
#include "model/event.h"

/* The head that py_code_layout() assumes. */
#define PLAIN_HEAD 16
#define OLD_FRAME 112		/* all that is needed of a PyFrameObject (3.8 to 3.10) */
#define OP_YIELD_FROM 72	/* 3.8 to 3.10 */

#define OWNED_BY_GENERATOR 1
#define AFTER_YIELD_FROM 2	/* argument of RESUME; AFTER_AWAIT is 3 */

/* PyFrameState (3.10), enum _framestate (3.11, 3.12). 3.13 has another state below. */
#define STATE_CREATED (-2)
#define STATE_SUSPENDED (-1)
#define STATE_EXECUTING 0
#define STATE_CREATED_313 (-3)

static uint64_t word_at(const uint8_t *bytes, size_t off)
{
	uint64_t v;

	memcpy(&v, bytes + off, sizeof(v));
	return v;
}

static int32_t int_at(const uint8_t *bytes, size_t off)
{
	int32_t v;

	memcpy(&v, bytes + off, sizeof(v));
	return v;
}

bool coroutine_frame_at(uint8_t minor, uint16_t head, bool *pointer, uint16_t *off)
{
	const struct py_code_layout *row = py_code_layout(minor);

	if (!row || minor < 8 || minor > 13 || head < PLAIN_HEAD)
		return false;
	*pointer = minor <= 10;
	*off = *pointer ? head : row->generator + head - PLAIN_HEAD;
	return true;
}

/* Where the frame is in a coroutine, from 3.11 on. */
static uint16_t inner_frame(const struct py_walk *w, const struct tasks_at *at)
{
	uint16_t off = at->async.coro.gen_frame;
	bool pointer;

	coroutine_frame_at(at->objects.minor, w->head, &pointer, &off);
	return off;
}

/* Where its state is: in itself, in 3.10 in its frame. */
static uint16_t state_at(const struct py_walk *w, const struct tasks_at *at)
{
	return at->objects.minor >= 14 ? at->async.coro.gen_state :
	       py_code_layout(at->objects.minor)->state + w->head - PLAIN_HEAD;
}

size_t coroutine_bytes(const struct py_walk *w, const struct tasks_at *at)
{
	uint8_t minor = at->objects.minor;
	uint16_t stack;
	size_t need;

	if (minor < 8 || w->head < PLAIN_HEAD || !py_code_layout(minor))
		return 0;
	if (minor <= 10)	/* gi_frame, gi_running */
		return w->head + 16u;
	stack = minor >= 14 ? at->async.coro.fr_stack : py_code_layout(minor)->stack;
	need = inner_frame(w, at) + at->l.fr_bytes;
	if (need < inner_frame(w, at) + stack + 8u)
		need = inner_frame(w, at) + stack + 8u;
	if (need < state_at(w, at) + 1u)
		need = state_at(w, at) + 1u;
	return need <= COROUTINE_READ && need >= w->head ? need : 0;
}

/* ---- up to 3.10 ---- */

static enum coroutine_state old_state(uint8_t minor, const struct coroutine *c)
{
	if (minor == 10)
		return c->raw_state == STATE_CREATED ? CORO_CREATED :
		       c->raw_state == STATE_SUSPENDED ? CORO_SUSPENDED :
		       c->raw_state == STATE_EXECUTING ? CORO_RUNNING : CORO_ENDED;
	if (c->raw_state)
		return CORO_RUNNING;
	if ((int32_t)c->ip < 0)
		return CORO_CREATED;
	return c->stack ? CORO_SUSPENDED : CORO_ENDED;
}

/* 3.10 counts entries. */
static uint64_t old_stack(const struct py_code_layout *row, const uint8_t *frame)
{
	uint64_t stack = word_at(frame, row->stack);
	int32_t depth;

	if (!row->depth)
		return stack;
	depth = int_at(frame, row->depth);
	return stack && depth > 0 && depth <= (int32_t)PY_SLOTS_MAX ?
	       stack + 8ull * (uint32_t)depth : 0;
}

static void use_old(struct py_walk *w, const struct tasks_at *at, const struct py_code_layout *row,
		    uint64_t addr, const uint8_t *f)
{
	uint16_t base = at->l.fr_base - (w->head - PLAIN_HEAD);

	py_use(w, addr + row->generator, f + row->generator, 8);
	py_use(w, addr + base + at->l.fr_code, f + base + at->l.fr_code, 8);
	py_use(w, addr + base + at->l.fr_ip, f + base + at->l.fr_ip, 4);
	py_use(w, addr + row->stack, f + row->stack, 8);
	if (row->depth)
		py_use(w, addr + row->depth, f + row->depth, 4);
	if (at->objects.minor == 10)
		py_use(w, addr + row->state, f + row->state, 1);
}

static int look_old(struct py_walk *w, const struct tasks_at *at, const uint8_t *bytes,
		    struct coroutine *c)
{
	const struct py_code_layout *row = py_code_layout(at->objects.minor);
	uint16_t more = w->head - PLAIN_HEAD, base = at->l.fr_base - more;
	uint8_t f[OLD_FRAME];
	int err;

	c->frame = word_at(bytes, w->head);
	c->state = CORO_ENDED;
	py_use(w, c->addr + w->head, bytes + w->head, 8);
	if (at->objects.minor < 10)
		py_use(w, c->addr + state_at(w, at), bytes + state_at(w, at), 1);
	if (!c->frame)
		return 0;
	if (base + at->l.fr_code + 8u > sizeof(f) || base + at->l.fr_ip + 4u > sizeof(f))
		return -EBADMSG;
	/* The frame is an object: its head may be longer, too. */
	err = py_peek(w, c->frame + more, f, sizeof(f));
	if (err)
		return err;
	use_old(w, at, row, c->frame + more, f);
	if (word_at(f, row->generator) != c->addr)
		return -EBADMSG;
	c->code = word_at(f, base + at->l.fr_code);
	c->ip = (uint32_t)int_at(f, base + at->l.fr_ip);
	c->stack = old_stack(row, f);
	c->raw_state = (int8_t)(at->objects.minor == 10 ? f[row->state] : bytes[state_at(w, at)]);
	c->state = old_state(at->objects.minor, c);
	return 0;
}

/* Returns true if the next instruction is YIELD_FROM, or cannot be read. */
static bool awaits_old(struct py_walk *w, const struct py_layout *l, const struct coroutine *c)
{
	uint64_t bytes, next = (c->ip * l->lasti_unit) + 2;
	uint8_t op;

	return next >= CODE_TABLE_MAX ||
	       py_peek(w, c->code + l->co_code, &bytes, sizeof(bytes)) ||
	       py_peek(w, bytes + l->bytes_data + next, &op, 1) || op == OP_YIELD_FROM;
}

/* ---- from 3.11 on ---- */

static enum coroutine_state state_314(const struct async_coroutine_layout *c, int8_t raw)
{
	if (raw == c->state_yield_from || raw == c->state_yield_from_locked)
		return CORO_SUSPENDED;
	if (raw == c->state_executing)
		return CORO_RUNNING;
	/* The states are in this order: created, suspended, yield from, ..., executing, ended. */
	return raw > c->state_executing ? CORO_ENDED :
	       raw == c->state_yield_from - 1 ? CORO_YIELDED : CORO_CREATED;
}

static enum coroutine_state new_state(const struct tasks_at *at, int8_t raw)
{
	uint8_t minor = at->objects.minor;

	if (minor >= 14)
		return state_314(&at->async.coro, raw);
	if (raw == STATE_SUSPENDED)
		return CORO_SUSPENDED;
	if (raw == (minor == 13 ? STATE_CREATED_313 : STATE_CREATED))
		return CORO_CREATED;
	return raw > STATE_EXECUTING ? CORO_ENDED : raw < STATE_EXECUTING ? CORO_YIELDED :
									    CORO_RUNNING;
}

/* 3.14+ has a pointer. */
static uint64_t new_stack(const struct tasks_at *at, const struct coroutine *c,
			  const uint8_t *frame)
{
	const struct py_code_layout *row = py_code_layout(at->objects.minor);
	int32_t cnt;

	if (at->objects.minor >= 14)
		return word_at(frame, at->async.coro.fr_stack);
	cnt = int_at(frame, row->stack);
	return cnt > 0 && cnt <= (int32_t)(2 * PY_SLOTS_MAX) ?
	       c->frame + row->slots + 8ull * (uint32_t)cnt : 0;
}

static void use_new(struct py_walk *w, const struct tasks_at *at, uint64_t addr, const uint8_t *f)
{
	const struct py_layout *l = &at->l;
	uint16_t stack = at->objects.minor >= 14 ? at->async.coro.fr_stack :
			 py_code_layout(at->objects.minor)->stack;

	py_use(w, addr + l->fr_owner, f + l->fr_owner, 1);
	py_use(w, addr + l->fr_code, f + l->fr_code, 8);
	py_use(w, addr + l->fr_ip, f + l->fr_ip, 8);
	py_use(w, addr + stack, f + stack, 8);
	if (l->fr_tlbc_index != ABI_NO_OFF)
		py_use(w, addr + l->fr_tlbc_index, f + l->fr_tlbc_index, 4);
}

static int look_new(struct py_walk *w, const struct tasks_at *at, const uint8_t *bytes,
		    struct coroutine *c)
{
	const struct py_layout *l = &at->l;
	uint16_t off = inner_frame(w, at);
	const uint8_t *f = bytes + off;

	c->raw_state = (int8_t)bytes[state_at(w, at)];
	c->state = new_state(at, c->raw_state);
	py_use(w, c->addr + state_at(w, at), bytes + state_at(w, at), 1);
	if (c->state == CORO_ENDED)
		return 0;
	use_new(w, at, c->addr + off, f);
	if (at->objects.minor < 14 && f[l->fr_owner] != OWNED_BY_GENERATOR)
		return -EBADMSG;
	c->frame = c->addr + off;
	c->code = word_at(f, l->fr_code) & ~(uint64_t)l->code_tag_mask;
	c->ip = word_at(f, l->fr_ip);
	c->stack = new_stack(at, c, f);
	if (l->fr_tlbc_index != ABI_NO_OFF)
		c->tlbc = (uint32_t)int_at(f, l->fr_tlbc_index);
	return 0;
}

/* Is the next instruction the RESUME of an await or yield from? If it cannot be read: yes. */
static bool awaits_new(struct py_walk *w, uint8_t minor, const struct coroutine *c)
{
	/* RESUME, and RESUME_QUICK (3.11) or INSTRUMENTED_RESUME (3.12) */
	const uint8_t resume = 151, other = minor == 11 ? 150 : 240;
	uint8_t unit[2];

	return py_peek(w, c->ip + 2, unit, sizeof(unit)) ||
	       ((unit[0] == resume || unit[0] == other) && unit[1] >= AFTER_YIELD_FROM);
}

/* ---- all ---- */

int coroutine_look(struct py_walk *w, const struct tasks_at *at, uint64_t obj,
		   const uint8_t *bytes, size_t len, struct coroutine *out)
{
	size_t need = coroutine_bytes(w, at);

	*out = (struct coroutine){ .addr = obj, .lasti = RAW_LASTI_NONE };
	if (!need || len < need)
		return -EBADMSG;
	return at->objects.minor <= 10 ? look_old(w, at, bytes, out) :
					 look_new(w, at, bytes, out);
}

void coroutine_awaits(struct py_walk *w, const struct tasks_at *at, const uint8_t *bytes,
		      size_t len, struct coroutine *c)
{
	uint8_t minor = at->objects.minor;
	uint64_t slot, value;

	c->awaits = 0;
	if (c->state != CORO_SUSPENDED)
		return;
	if (minor <= 10 ? !awaits_old(w, &at->l, c) : minor <= 12 && !awaits_new(w, minor, c)) {
		c->state = CORO_YIELDED;
		return;
	}
	if (!c->stack || c->stack & 7)
		return;
	slot = c->stack - (minor >= 14 ? at->async.coro.awaited_below : 8);
	if (slot >= c->addr && slot - c->addr <= len - 8) {
		value = word_at(bytes, slot - c->addr);
		py_use(w, slot, bytes + (slot - c->addr), 8);
	} else if (py_get(w, slot, &value, 8)) {
		return;
	}
	c->awaits = minor >= 14 ? value & ~(uint64_t)at->async.coro.stack_tag_mask : value;
}

uint32_t coroutine_lasti(struct py_walk *w, const struct tasks_at *at, const struct coroutine *c)
{
	const struct py_layout *l = &at->l;
	uint64_t start = c->code + l->co_code, off;

	if (!c->code)
		return RAW_LASTI_NONE;
	if (c->tlbc)
		start = py_own_bytecode(w, l, c->code, c->tlbc);
	off = l->lasti_unit ? (uint64_t)(int64_t)(int32_t)c->ip * l->lasti_unit : c->ip - start;
	return !start || off >= RAW_LASTI_LINE ? RAW_LASTI_NONE : (uint32_t)off;
}

int coroutine_frame_read(struct py_walk *w, const struct tasks_at *at, uint64_t obj,
			 uint64_t *frame, uint64_t *code)
{
	int8_t state;
	int err;

	if (!coroutine_bytes(w, at))
		return -EBADMSG;
	*frame = obj + inner_frame(w, at);
	if (at->objects.minor <= 10) {
		err = py_pointer(w, *frame, frame);
	} else {
		err = py_peek(w, obj + state_at(w, at), &state, 1);
		if (!err && new_state(at, state) == CORO_ENDED)
			err = -ENOENT;
	}
	if (!err)
		err = py_get(w, *frame + at->l.fr_base + at->l.fr_code, code, sizeof(*code));
	if (!err)
		*code &= ~(uint64_t)at->l.code_tag_mask;
	return err;
}
