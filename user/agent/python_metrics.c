// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * python_metrics.c - see python_metrics.h: services, processes, and what an event adds to them.
 * python_rows.c decides which services have a row; python_metrics_text.c writes them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/python_metrics_parts.h"
#include "base/util.h"
#include "bpf/abi.h"

#define NONE UINT32_MAX

struct python_metrics *python_metrics_new(uint32_t rows, unsigned int what)
{
	struct python_metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->row_max = rows;
	m->what = what;
	m->other.to = &m->other;
	python_loops_forget(m->other.loops);
	snprintf(m->other.name, sizeof(m->other.name), "%s", PYTHON_OTHER);
	m->services.next = m->services.before = &m->services;
	m->processes.next = m->processes.before = &m->processes;
	m->at = &m->processes;
	return m;
}

void python_metrics_free(struct python_metrics *m)
{
	struct python_service *s, *next;
	size_t i;

	if (!m)
		return;
	for (s = m->services.next; s != &m->services; s = next) {
		next = s->next;
		free(s);
	}
	u64map_free(&m->by_name);
	for (i = 0; i < m->label_cnt; i++)
		free(m->labels[i]);
	free(m);
}

int python_metrics_set_labels(struct python_metrics *m, const char *const *keys, size_t cnt)
{
	size_t i;
	char *c;

	if (cnt > PYTHON_LABELS_MAX)
		return -E2BIG;
	for (i = 0; i < cnt; i++) {
		m->labels[i] = strdup(keys[i]);
		if (!m->labels[i])
			return -ENOMEM;
		m->label_cnt++;
		for (c = m->labels[i]; *c; c++)
			if (!isalnum((unsigned char)*c))
				*c = '_';
	}
	return 0;
}

void python_metrics_set_what(struct python_metrics *m, unsigned int what)
{
	m->what = what;
}

/* ---- services ---- */

/* A service's name and the values of its labels, as they are shown. */
struct shown {
	char name[METRIC_LABEL_BYTES];
	char values[PYTHON_LABELS_MAX][METRIC_LABEL_BYTES];
};

static struct python_service *add_service(struct python_metrics *m, const struct shown *shown,
					  uint64_t hash)
{
	size_t bytes = m->label_cnt * METRIC_LABEL_BYTES;
	struct python_service *s = NULL;

	if (m->service_cnt < PYTHON_SERVICES_MAX)
		s = calloc(1, sizeof(*s) + bytes);
	if (!s)
		return NULL;
	if (u64map_put(&m->by_name, hash, s)) {
		free(s);
		return NULL;
	}
	s->hash = hash;
	s->values = (void *)(s + 1);
	memcpy(s->name, shown->name, sizeof(s->name));
	memcpy(s->values, shown->values, bytes);
	s->to = &m->other;
	python_loops_forget(s->loops);
	s->before = m->services.before;
	s->next = &m->services;
	s->before->next = s->next->before = s;
	m->service_cnt++;
	python_rows_ask(m, s);
	return s;
}

/*
 * The service of this name and these values, added if it is new. Never fails: one that cannot be
 * kept is "other".
 */
static struct python_service *service_of(struct python_metrics *m, const char *hostile,
					 const char *const *values)
{
	size_t bytes = m->label_cnt * METRIC_LABEL_BYTES, i;
	struct shown shown = { .name = "" };
	struct python_service *s;
	uint64_t hash;

	if (hostile)
		metrics_clean(hostile, shown.name);
	if (!shown.name[0] || !strcmp(shown.name, PYTHON_OTHER))
		return &m->other;
	for (i = 0; values && i < m->label_cnt; i++)
		if (values[i])
			metrics_clean(values[i], shown.values[i]);
	hash = hash_bytes(&shown, sizeof(shown.name) + bytes);
	s = u64map_get(&m->by_name, hash);
	if (!s)
		s = add_service(m, &shown, hash);
	/* Names with equal hashes must have been made on purpose: they share "other". */
	return s && !strcmp(s->name, shown.name) && !memcmp(s->values, shown.values, bytes) ?
	       s : &m->other;
}

size_t python_labels(const struct python_metrics *m, const struct python_service *s,
		     const char *name, const char *value,
		     struct metric_label out[PYTHON_LABELS_ALL])
{
	size_t cnt = 0, i;

	out[cnt++] = (struct metric_label){ "service", s->name };
	for (i = 0; s->values && i < m->label_cnt; i++)
		out[cnt++] = (struct metric_label){ m->labels[i],
						    s->values[i][0] ? s->values[i] : NULL };
	out[cnt++] = (struct metric_label){ name, name ? value : NULL };
	return cnt;
}

/* A process's memory joins the service's, or leaves it. */
static void add_memory(struct python_service *s, const uint64_t memory[PYTHON_MEMORY], bool leaves)
{
	size_t i;

	for (i = 0; i < PYTHON_MEMORY; i++)
		s->memory[i] += leaves ? -memory[i] : memory[i];
}

static void join_service(struct python_process *p, struct python_service *s)
{
	p->service = s;
	s->processes++;
	s->by_version[p->version]++;
	s->threads += p->threads;
	add_memory(s, p->memory, false);
}

static void leave_service(struct python_process *p)
{
	struct python_service *s = p->service;

	s->threads -= p->threads;
	add_memory(s, p->memory, true);
	s->processes--;
	s->by_version[p->version]--;
	s->idle_since = p->all->now;
	python_rows_forget(p->all, s);
}

/* ---- processes ---- */

static void count_start(struct python_process *p)
{
	p->service->to->counters[PYTHON_STARTS] += p->start_waits;
	p->start_waits = false;
}

static uint32_t version_of(struct python_metrics *m, const struct python_process_args *args)
{
	const struct python_version v = { args->major, args->minor, args->free_threaded };
	uint32_t i;

	for (i = 0; i < m->version_cnt; i++)
		if (m->versions[i].major == v.major && m->versions[i].minor == v.minor &&
		    m->versions[i].free_threaded == v.free_threaded)
			return i;
	if (i == PYTHON_VERSIONS - 1)
		return i;
	m->versions[m->version_cnt++] = v;
	return i;
}

struct python_process *python_metrics_begin(struct python_metrics *m,
					    const struct python_process_args *args)
{
	struct python_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->all = m;
	p->tables = args->tables;
	p->tgid = args->tgid;
	p->version = version_of(m, args);
	p->gc = NONE;
	p->threads = 1;
	python_loops_forget(p->loops);
	p->next = &m->processes;
	p->before = m->processes.before;
	p->before->next = p;
	m->processes.before = p;
	join_service(p, service_of(m, args->service, args->values));
	p->start_waits = args->started;
	if (args->service)
		count_start(p);
	return p;
}

void python_metrics_rename(struct python_process *p, const char *service,
			   const char *const *values)
{
	struct python_service *s;

	if (!p)
		return;
	s = service_of(p->all, service, values);
	if (s != p->service) {
		leave_service(p);
		join_service(p, s);
	}
	count_start(p);
}

void python_metrics_end(struct python_process *p)
{
	if (!p)
		return;
	if (p->all->at == p)
		p->all->at = p->next;
	p->before->next = p->next;
	p->next->before = p->before;
	count_start(p);
	leave_service(p);
	free(p);
}

/* ---- events ---- */

/* Looks at the frames that the process got since the last event, each once. */
static __attribute__((noinline)) void learn_frames(struct python_process *p)
{
	const struct profile_tables *t = p->tables;
	const struct string_ref *name;
	enum python_wait wait;
	uint32_t i;

	for (i = p->learnt; i < t->frame_cnt; i++) {
		if (t->frames[i].kind != FRAME_SYNTHETIC)
			continue;
		name = &t->strings[t->frames[i].func];
		if (name->len == 4 && !memcmp(name->data, "<GC>", 4))
			p->gc = i;
		wait = python_wait_of(name);
		if (wait == PYTHON_WAITS || p->wait_cnt == PYTHON_WAIT_FRAMES)
			continue;
		p->waits[p->wait_cnt].frame = i;
		p->waits[p->wait_cnt++].wait = (uint8_t)wait;
	}
	p->learnt = t->frame_cnt;
}

/* The frame of the wait is the innermost one except for the kernel's. */
static enum python_wait wait_of(const struct python_process *p, const struct event *ev)
{
	const struct frame *frames = p->tables->frames;
	uint32_t i = 0, w;

	while (i < ev->nframes && frames[ev->frames[i]].kind == FRAME_KERNEL)
		i++;
	if (i == ev->nframes || frames[ev->frames[i]].kind != FRAME_SYNTHETIC)
		return PYTHON_WAIT_OTHER;
	for (w = 0; w < p->wait_cnt; w++)
		if (p->waits[w].frame == ev->frames[i])
			return p->waits[w].wait;
	return PYTHON_WAIT_OTHER;
}

typedef uint32_t four __attribute__((vector_size(16)));

static bool has_frame(const struct event *ev, uint32_t frame)
{
	const four wanted = { frame, frame, frame, frame };
	four found = { 0 }, some;
	uint32_t i = 0, last = 0;

	for (; i + 4 <= ev->nframes; i += 4) {
		memcpy(&some, ev->frames + i, sizeof(some));
		found |= (four)(some == wanted);
	}
	for (; i < ev->nframes; i++)
		last |= ev->frames[i] == frame;
	return found[0] | found[1] | found[2] | found[3] | last;
}

static void off_cpu(const struct python_process *p, const struct event *ev, uint64_t ns,
		    uint64_t *counters)
{
	if (ev->status & STATUS_GIL_REQUESTED) {
		counters[PYTHON_GIL_WAIT] += ns;
		return;
	}
	if (ev->status & STATUS_HAS_GIL)
		counters[PYTHON_GIL_OFF_CPU] += ns;
	counters[PYTHON_OFF_CPU + wait_of(p, ev)] += ns;
}

void python_metrics_event(struct python_process *p, const struct event *ev, uint64_t ns)
{
	uint64_t *counters;

	if (!p)
		return;
	if (p->learnt != p->tables->frame_cnt)
		learn_frames(p);
	counters = p->service->to->counters;
	if (ev->status & STATUS_HAS_EXCEPTION) {
		counters[PYTHON_EXCEPTIONS]++;
		counters[PYTHON_EXCEPTION_NS] += ns;
	}
	if (!(ev->status & STATUS_ON_CPU)) {
		off_cpu(p, ev, ns, counters);
		return;
	}
	counters[PYTHON_CPU] += ns;
	p->service->heat += ns;
	if (!(ev->status & STATUS_HAS_GIL))
		return;
	counters[PYTHON_GIL_ON_CPU] += ns;
	/* The collector runs in a thread that holds the GIL. */
	if (p->gc != NONE && has_frame(ev, p->gc))
		counters[PYTHON_GC] += ns;
}

static void check_memory(struct python_process *p, const struct memory_check *check)
{
	add_memory(p->service, p->memory, true);
	p->memory[PYTHON_HELD] = check->held;
	p->memory[PYTHON_RSS_ANON] = check->rss_anon;
	p->memory[PYTHON_SWAPPED] = check->swapped;
	add_memory(p->service, p->memory, false);
}

void python_metrics_memory(struct python_process *p, const struct memory_event *ev)
{
	uint64_t *counters;

	if (!p)
		return;
	counters = p->service->to->counters;
	if (ev->change == MEMORY_ALLOC) {
		counters[PYTHON_TOUCHED] += ev->bytes;
	} else if (ev->change == MEMORY_COLLECTION) {
		counters[PYTHON_COLLECTIONS] += ev->collection.runs;
		counters[PYTHON_COLLECTED] += ev->collection.collected;
		counters[PYTHON_UNCOLLECTABLE] += ev->collection.uncollectable;
	} else if (ev->change == MEMORY_CHECK) {
		check_memory(p, &ev->check);
	}
}

/* ---- threads ---- */

/* A directory has two links, and one more for each subdirectory. */
static uint32_t threads_of(pid_t tgid)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	if (stat(path, &st) || st.st_nlink < 3)
		return 0;
	return (uint32_t)st.st_nlink - 2;
}

static void count_threads(struct python_metrics *m)
{
	struct python_process *p = m->at, *last = m->at;
	uint32_t cnt = 0, threads;

	do {
		if (p != &m->processes) {
			threads = threads_of(p->tgid);
			p->service->threads += (uint64_t)threads - p->threads;
			p->threads = threads;
			cnt++;
		}
		p = p->next;
	} while (p != last && cnt < PYTHON_METRICS_STATS);
	m->at = p;
}

void python_metrics_tick(struct python_metrics *m, uint64_t now)
{
	m->now = now;
	count_threads(m);
	python_rows_tick(m, now);
	python_loops_tick(m);
}
