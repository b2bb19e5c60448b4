// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* confirm.c - see confirm.h. */
#include "resolve/confirm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/common_end.h"
#include "base/util.h"
#include "resolve/codes_seen.h"

/* A record that has waited so long is late: the process is read. */
#define LATE_NS 100000000ull
/*
 * If there is no time to read it, the record waits so long: a process that sleeps is tried once a
 * second only.
 */
#define GIVE_UP_NS 3000000000ull
/* Bytes of one process' records, and of all processes'. With more, nothing waits any longer. */
#define HELD_MAX (8u << 20)
#define HELD_ALL_MAX (64u << 20)

static size_t held_by_all;

struct held {
	struct held *next;
	uint32_t len;
	uint32_t done;		/* innermost frames of its stack whose verdict is known */
	uint64_t until;		/* these hold for samples that began until then */
	uint64_t record[];
};

struct confirm {
	const struct confirm_ops *ops;
	void *ctx;
	struct codes_seen codes;
	struct held *first, **end;
	size_t bytes;
	uint64_t unconfirmed;
	/* The last stack that was confirmed, right-aligned, and until when that holds. */
	struct raw_frame passed[ABI_MAX_FRAMES];
	uint32_t passed_cnt;
	uint64_t passed_ns;
};

/* The stack that a record has; NULL: none that can be read. */
static const struct raw_sample *stack_of(const void *record, size_t len)
{
	const struct raw_sample *raw = record;

	if (len < sizeof(struct raw_head) ||
	    (raw->h.kind != RAW_SAMPLE && raw->h.kind != RAW_SWITCH_OUT) ||
	    raw->nframes > ABI_MAX_FRAMES || len < raw_sample_bytes(raw->nframes, raw->flags))
		return NULL;
	return raw;
}

bool confirm_is_unread(const void *record, size_t len)
{
	const struct raw_sample *raw = stack_of(record, len);

	return raw && raw->codes_ns;
}

struct confirm *confirm_new(const struct confirm_ops *ops, void *ctx)
{
	struct confirm *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ops = ops;
	c->ctx = ctx;
	c->end = &c->first;
	return c;
}

static size_t held_bytes(const struct held *h)
{
	return sizeof(*h) + h->len;
}

/* Remove the first record from the queue; the caller frees it. */
static struct held *pop(struct confirm *c)
{
	struct held *h = c->first;

	c->first = h->next;
	if (!c->first)
		c->end = &c->first;
	c->bytes -= held_bytes(h);
	held_by_all -= held_bytes(h);
	return h;
}

void confirm_free(struct confirm *c)
{
	if (!c)
		return;
	while (c->first)
		free(pop(c));
	codes_seen_free(&c->codes);
	free(c);
}

static int push(struct confirm *c, const void *record, size_t len)
{
	struct held *h = malloc(sizeof(*h) + len);

	if (!h)
		return -ENOMEM;
	*h = (struct held){ .len = len, .until = UINT64_MAX };
	memcpy(h->record, record, len);
	*c->end = h;
	c->end = &h->next;
	c->bytes += held_bytes(h);
	held_by_all += held_bytes(h);
	return 0;
}

/* Nobody can say what this frame was. */
static void give_up(struct confirm *c, struct raw_frame *frame)
{
	*frame = (struct raw_frame){ .lasti = RAW_LASTI_NONE };
	c->unconfirmed++;
}

/*
 * Keep a stack that was confirmed until ns: all but the frames that it shares with the last one. A
 * frame that was given up is like no other.
 */
static void keep_passed(struct confirm *c, const struct raw_sample *raw, uint32_t fresh,
			uint64_t ns)
{
	memcpy(c->passed + ABI_MAX_FRAMES - raw->nframes, raw->frames,
	       fresh * sizeof(*raw->frames));
	if (fresh == raw->nframes || ns < c->passed_ns)
		c->passed_ns = ns;
	c->passed_cnt = raw->nframes;
}

/* Are all frames of the record certain? Those that are another code object's are given up. */
static bool judge(struct confirm *c, struct held *h)
{
	struct raw_sample *raw = (struct raw_sample *)h->record;
	uint32_t fresh;

	if (!confirm_is_unread(raw, h->len))
		return true;
	fresh = raw->nframes;
	if (c->passed_ns >= raw->h.time_ns)
		fresh -= common_end(c->passed + ABI_MAX_FRAMES, raw->frames + fresh,
				    c->passed_cnt < fresh ? c->passed_cnt : fresh,
				    sizeof(raw->frames[0]));
	for (; h->done < fresh; h->done++) {
		struct raw_frame *f = &raw->frames[h->done];
		enum code_verdict v = codes_seen_verdict(&c->codes, f, raw->h.time_ns, &h->until);

		if (v == CODE_UNKNOWN)
			return false;
		if (v == CODE_OTHER)
			give_up(c, f);
	}
	keep_passed(c, raw, fresh, h->until);
	return true;
}

static bool is_unknown(const struct confirm *c, const struct raw_frame *f, uint64_t ns)
{
	uint64_t until = UINT64_MAX;

	return codes_seen_verdict(&c->codes, f, ns, &until) == CODE_UNKNOWN;
}

/* Read the code objects that the record waits for. last: what cannot be read now is given up. */
static void ask(struct confirm *c, struct held *h, bool last)
{
	struct raw_sample *raw = (struct raw_sample *)h->record;
	uint64_t begin_ns;
	uint32_t i;
	int err;

	for (i = h->done; i < raw->nframes; i++) {
		struct raw_frame *f = &raw->frames[i];

		if (!is_unknown(c, f, raw->h.time_ns))
			continue;
		begin_ns = now_ns();
		err = c->ops->check(c->ctx, f->code, f->id);
		if (err == -EBUSY && !last)
			return;
		if (!err || err == -ESTALE)
			codes_seen_set(&c->codes, f->code, err ? 0 : f->id, begin_ns);
		if (is_unknown(c, f, raw->h.time_ns))
			give_up(c, f);
	}
}

/* All frames of the record are certain: whoever takes it need not know more. */
static void make_read(struct held *h)
{
	struct raw_sample *raw = (struct raw_sample *)h->record;
	uint32_t i;

	if (!confirm_is_unread(raw, h->len))
		return;
	for (i = 0; i < raw->nframes; i++)
		raw->frames[i].lasti &= ~RAW_FRAME_UNREAD;
}

/*
 * Take the first record if it is certain, or made so. Returns false if it must wait. *err: what
 * take() has returned.
 */
static bool take_first(struct confirm *c, uint64_t now, bool last, int *err)
{
	const struct raw_header *h = (const struct raw_header *)c->first->record;
	uint64_t waited = now > h->time_ns ? now - h->time_ns : 0;
	struct held *first;

	last = last || waited > GIVE_UP_NS || c->bytes > HELD_MAX || held_by_all > HELD_ALL_MAX;
	if (!judge(c, c->first)) {
		if (!last && waited < LATE_NS)
			return false;
		ask(c, c->first, last);
		if (!judge(c, c->first))
			return false;
	}
	first = pop(c);
	make_read(first);
	*err = c->ops->take(c->ctx, first->record, first->len);
	free(first);
	return true;
}

static int advance(struct confirm *c, uint64_t now, bool last)
{
	int err, first_err = 0;

	while (c->first && take_first(c, now, last, &err))
		first_err = first_err ? first_err : err;
	return first_err;
}

int confirm_record(struct confirm *c, const void *record, size_t len)
{
	const struct raw_header *h = record;
	const struct raw_sample *raw = stack_of(record, len);
	int err, settled;

	if (raw)
		codes_seen_add(&c->codes, raw->frames, raw->nframes,
			       raw->codes_ns ? raw->codes_ns : raw->h.time_ns);
	if (!c->first && !confirm_is_unread(record, len))
		return c->ops->take(c->ctx, record, len);
	err = push(c, record, len);
	settled = advance(c, h->time_ns, false);
	return err ? err : settled;
}

bool confirm_holds(const struct confirm *c)
{
	return c->first;
}

int confirm_late(struct confirm *c, uint64_t now_ns)
{
	return advance(c, now_ns, false);
}

int confirm_settle(struct confirm *c)
{
	return advance(c, now_ns(), true);
}

uint64_t confirm_unconfirmed(const struct confirm *c)
{
	return c->unconfirmed;
}
