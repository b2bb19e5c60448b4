/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_loop.h - the memory of a process whose thread runs an event loop of asyncio, as CPython 3.8
 * to 3.15 has it: in the frame of _run_once, with a queue and a timer.
 */
#ifndef TACHBPF_TESTS_FAKE_LOOP_H
#define TACHBPF_TESTS_FAKE_LOOP_H

#include "asyncio/loop.h"
#include "tests/unit/cpython/fake_values.h"

#define FAKE_TS_FRAME 16
#define FAKE_TS_THREAD_ID 64
#define FAKE_TS_LOOP 96
#define FAKE_TS_TASK 104
#define FAKE_CO_NAME 232

struct fake_loop {
	struct fake_threads f;		/* first: its memory */
	struct fake_types t;
	struct fake_frame once;
	struct tasks_at at;
	uint64_t loop, ready, timers, timer, state, interp, end_time, when;
	uint64_t slots;			/* of self, end_time, i */
};

static inline uint64_t fake_real(struct fake_loop *l, double v)
{
	uint64_t at = fake_object(&l->f, l->t.real, 8), bits;

	memcpy(&bits, &v, sizeof(bits));
	fake_poke(&l->f, at + l->f.head, bits, 8);
	return at;
}

static inline void fake_set_real(struct fake_loop *l, uint64_t obj, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	fake_poke(&l->f, obj + l->f.head, bits, 8);
}

static inline uint64_t fake_when_slot(const struct fake_loop *l)
{
	return l->timer + l->f.head + (l->f.at.objects.minor >= 12 ? 64 : 72);
}

/* The objects of the loop: 3 callbacks are ready, and a timer is due at 100 s. */
static inline void fake_loop_objects(struct fake_loop *l)
{
	struct fake_threads *f = &l->f;

	l->ready = fake_object(f, fake_named_type(f, "collections.deque", 0), 64);
	fake_poke(f, l->ready + f->head, 3, 8);
	l->timer = fake_object(f, fake_named_type(f, "TimerHandle", PY_HEAP_TYPE), 96);
	l->when = fake_real(l, 100);
	fake_poke(f, fake_when_slot(l), l->when, 8);
	l->timers = fake_list(f, &l->t, (const uint64_t[]){ l->timer }, 1);
	l->loop = fake_instance(f, &l->t, "Loop", "_ready", l->ready, "_scheduled", l->timers);
}

/* _run_once, whose second callback runs, and which came back from select() at 99 s. */
static inline void fake_loop_frame(struct fake_loop *l)
{
	struct fake_threads *f = &l->f;
	uint64_t names[4], objs[4];

	names[0] = fake_str(f, &l->t, "self");
	names[1] = fake_str(f, &l->t, "end_time");
	names[2] = fake_str(f, &l->t, "i");
	names[3] = fake_str(f, &l->t, "other");
	objs[0] = l->loop;
	objs[1] = l->end_time = fake_real(l, 99);
	objs[2] = fake_small(f, &l->t, 1);
	objs[3] = l->loop;
	fake_frame_make(f, &l->t, &l->once, names, objs, 4, 1);
	fake_poke(f, l->once.frame.code + FAKE_CO_NAME, fake_str(f, &l->t, "_run_once"), 8);
	l->slots = l->once.frame.addr + py_code_layout(f->at.objects.minor)->slots +
		   (f->at.objects.minor <= 10 ? f->head - 16 : 0);
}

static inline void fake_loop_threads(struct fake_loop *l)
{
	struct fake_threads *f = &l->f;
	unsigned int minor = f->at.objects.minor;
	uint64_t first = fake_take(f, 8), keys = fake_keys(f, false), holder;
	uint64_t dict = fake_dict(f, keys, 0);

	fake_poke(f, dict + f->head - 8, l->t.dict, 8);
	l->state = fake_take(f, 256);
	l->interp = fake_take(f, 64);
	fake_poke(f, first, l->interp, 8);
	fake_poke(f, l->interp + 16, l->state, 8);
	fake_poke(f, l->state + FAKE_TS_FRAME, l->once.frame.addr, 8);
	fake_poke(f, l->state + FAKE_TS_THREAD_ID, fake_take(f, 2048), 8);
	l->at.interps = first;
	if (minor >= 13) {
		fake_poke(f, l->state + FAKE_TS_LOOP, l->loop, 8);
		return;
	}
	holder = fake_object(f, 0, 16);
	fake_poke(f, holder + f->head, l->loop, 8);
	fake_add(f, keys, fake_str(f, &l->t, "__asyncio_running_event_loop__"),
		 minor == 12 ? l->loop : holder);
	fake_poke(f, l->state + py_thread_dict(f->at.objects.minor), dict, 8);
}

static inline void fake_loop_make(struct fake_loop *l, unsigned int minor, bool big)
{
	struct py_layout *py = &l->at.l;

	memset(l, 0, sizeof(*l));
	l->f.target = (struct target_mem){ fake_threads_read, &l->f };
	fake_layout(&l->f, minor, big);
	l->f.at.objects.ts_running_loop = minor == 13 ? FAKE_TS_LOOP : 0;
	fake_types_make(&l->f, &l->t);
	l->f.dict_type = l->t.dict;
	fake_loop_objects(l);
	fake_loop_frame(l);
	l->at.objects = l->f.at.objects;
	*py = l->once.at.layout;
	py->ts_next = 0;
	py->ts_thread_id = FAKE_TS_THREAD_ID;
	py->interp_threads_head = 16;
	py->interp_next = 8;
	py->interp_id = ABI_NO_OFF32;
	py->co_name = FAKE_CO_NAME;
	fake_loop_threads(l);
	if (minor >= 14) {
		l->at.async.valid = 1;
		l->at.async.task.ts_running_loop = FAKE_TS_LOOP;
		l->at.async.task.ts_running_task = FAKE_TS_TASK;
	} else {
		l->at.homes.minor = (uint8_t)minor;
	}
}

#endif
