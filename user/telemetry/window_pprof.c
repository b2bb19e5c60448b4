// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* window_pprof.c - see window_pprof.h. */
#include "telemetry/window_pprof.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/gzip.h"
#include "base/time.h"
#include "formats/pprof/pprof_encode.h"

struct pprof {
	const struct window *w;
	const struct window_pprof_args *args;
	const struct profile_tables *names, *functions;
	const uint32_t *function_of;
	struct pprof_encoder *e;
	struct buf zipped;
	int err;
	bool counts;			/* the number of samples is a value, too */
	uint32_t emitted;		/* profiles */
	struct window_pprof profile;
};

static void note_error(struct pprof *p, int err)
{
	if (err && !p->err)
		p->err = err;
}

static int place_of(void *ctx, uint32_t frame, struct pprof_place *out)
{
	const struct pprof *p = ctx;
	int32_t line = p->names->frames[frame].line;

	out->function = p->function_of[frame];
	out->line = line > 0 ? (uint32_t)line : 0;
	out->first_line = (uint32_t)p->functions->frames[out->function].first_line;
	return 0;
}

/* Memory and objects stand for themselves. */
static void set_file_period(const struct pprof *p, enum window_kind kind, struct pprof_head *h)
{
	const struct window_kind_names *cpu = &window_kinds[WINDOW_CPU];

	if (kind >= WINDOW_ALLOC_SPACE) {
		h->period_type = (struct pprof_type){ kind < WINDOW_HEAP_OBJECTS ? "space" :
						      window_kinds[kind].period,
						      window_kinds[kind].unit };
		h->period = 1;
	} else {
		h->period_type = (struct pprof_type){ cpu->type, cpu->unit };
		h->period = p->args->period_ns;
	}
}

static void set_period(const struct pprof *p, enum window_kind kind, struct pprof_head *h)
{
	if (p->args->form == WINDOW_PPROF_FILE) {
		set_file_period(p, kind, h);
	} else if (window_kinds[kind].period) {
		h->period_type = (struct pprof_type){ window_kinds[kind].period,
						      window_kinds[kind].unit };
		h->period = kind == WINDOW_CPU ? p->args->period_ns : 1;
	}
}

static void begin_profile(struct pprof *p, enum window_kind kind)
{
	uint64_t begin_ns = window_begin_ns(p->w), end_ns = window_end_ns(p->w);
	struct pprof_head head = {
		.time_ns = begin_ns,
		.duration_ns = end_ns > begin_ns ? end_ns - begin_ns : 0,
		.program = "python",
	};

	if (p->args->form == WINDOW_PPROF_PYROSCOPE)
		head.time_ns += p->emitted * NS_PER_MS;
	p->counts = window_kinds[kind].samples && p->args->form == WINDOW_PPROF_FILE;
	if (p->counts)
		head.types[head.type_cnt++] = (struct pprof_type){ "samples", "count" };
	head.shown = head.type_cnt;
	head.types[head.type_cnt++] =
		(struct pprof_type){ window_kinds[kind].type, window_kinds[kind].unit };
	set_period(p, kind, &head);
	pprof_begin(p->e, &head);
	if (p->args->comments)
		p->args->comments->add(p->args->comments->ctx, p->profile.service, p->e);
	p->profile.samples = 0;
	p->profile.taken = p->profile.value = 0;
	p->zipped.len = 0;
}

static void put_sample(struct pprof *p, const uint32_t *locations, uint32_t n, uint64_t value,
		       uint64_t samples)
{
	const uint64_t both[] = { samples, value };

	pprof_sample(p->e, locations, n, p->counts ? both : &value, NULL, 0);
	p->profile.samples++;
	p->profile.taken = add_capped(p->profile.taken, samples);
	p->profile.value = add_capped(p->profile.value, value);
}

/* Emits the profile. */
static void end_profile(struct pprof *p)
{
	const struct buf *bytes = pprof_fields(p->e);

	pprof_end(p->e);
	note_error(p, pprof_error(p->e));
	if (!p->err && p->args->form == WINDOW_PPROF_FILE) {
		note_error(p, gzip_bytes(bytes->data, bytes->len, GZIP_LEVEL, &p->zipped));
		bytes = &p->zipped;
	}
	if (p->err)
		return;
	p->profile.bytes = bytes->data;
	p->profile.len = bytes->len;
	p->emitted++;
	note_error(p, p->args->emit(p->args->ctx, &p->profile));
}

static bool is_full(const struct pprof *p, size_t bytes)
{
	const struct window_pprof_args *args = p->args;

	return (args->max_bytes && pprof_bytes(p->e) + bytes > args->max_bytes) ||
	       (args->max_samples && p->profile.samples >= args->max_samples);
}

/* Begins another profile of the series if a sample of this many bytes does not fit into this. */
static void make_room(struct pprof *p, size_t bytes)
{
	if (!p->profile.samples || !is_full(p, bytes))
		return;
	end_profile(p);
	begin_profile(p, p->profile.kind);
}

static void put_samples(struct pprof *p, const struct window_series *s)
{
	uint32_t ids[EVENT_MAX_FRAMES], cnt, i, n;
	const struct window_sample *all = window_samples(p->w, &cnt);

	for (i = s->first; i != WINDOW_NONE && !p->err; i = all[i].next) {
		n = window_stack(p->w, all[i].stack, ids);
		make_room(p, p->args->max_bytes ? pprof_stack_bytes(p->e, ids, n) : 0);
		pprof_locations(p->e, ids, n);
		put_sample(p, ids, n, all[i].value, all[i].samples);
	}
	if (!s->other_value && !s->other_samples)
		return;
	make_room(p, pprof_named_bytes(WINDOW_OTHER_NAME));
	ids[0] = pprof_named_location(p->e, WINDOW_OTHER_NAME);
	put_sample(p, ids, 1, s->other_value, s->other_samples);
}

static void put_series(struct pprof *p, uint32_t service, enum window_kind kind)
{
	const struct window_series *s = window_series(p->w, service, kind);

	if (!s->value && !s->samples)
		return;
	p->profile.service = service;
	p->profile.kind = kind;
	begin_profile(p, kind);
	put_samples(p, s);
	end_profile(p);
}

int window_pprof(const struct window *w, const struct window_pprof_args *args)
{
	struct pprof p = { .w = w, .args = args };
	struct pprof_source source = { .printable = true, .place = place_of, .ctx = &p };
	uint32_t i, kind;

	source.tables = p.names = window_names_tables(window_names(w));
	p.functions = window_names_functions(window_names(w), &p.function_of);
	p.e = pprof_encoder_new(&source);
	if (!p.e)
		return -ENOMEM;
	for (i = 0; i < window_service_cnt(w); i++) {
		for (kind = 0; kind < WINDOW_KIND_CNT && !p.err; kind++)
			put_series(&p, i, kind);
	}
	buf_free(&p.zipped);
	pprof_encoder_free(p.e);
	return p.err;
}
