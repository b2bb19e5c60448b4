// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * scenarios.c - the traps. Each is a stack, or what should be one.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hostile.h"

#define PAGE 4096u
#define MANY 4096u		/* more than the caches of addresses hold */
#define STACK 256u		/* as deep as anyone looks */

static uint8_t *chain[MANY];

/* ---- chains of frames ---- */

static void plain(void)
{
	void *code = new_code("level", "/app/plain.py");

	set_top(new_frames(10, code));
}

static void cycle(unsigned int n)
{
	void *code = new_code("round", "/app/cycle.py");
	uint8_t *at = pages(n * 128 / PAGE + 1);
	unsigned int i;

	for (i = 0; i < n; i++)
		frame_at(at + i * 128, code, at + (i ? i - 1 : n - 1) * 128, OWNER_THREAD);
	set_top(at + (n - 1) * 128);
}

static void cycle_1(void)
{
	cycle(1);
}

static void cycle_2(void)
{
	cycle(2);
}

static void cycle_1000(void)
{
	cycle(1000);
}

/* Shims are no frames: only the number of steps ends this walk. */
static void cycle_shims(void)
{
	uint8_t *at = pages(1);

	frame_at(at, NULL, at, OWNER_SHIM);
	set_top(at);
}

static void deep(void)
{
	set_top(new_frames(1000000, new_code("down", "/app/deep.py")));
}

/* Each frame, code object, name and file on a page of its own, in no order. */
static void scattered(void)
{
	unsigned int i, k;

	for (i = 0; i < MANY; i++)
		chain[i] = pages(7);
	for (i = MANY - 1; i; i--) {
		uint8_t *t = chain[i];

		k = random_u64() % (i + 1);
		chain[i] = chain[k];
		chain[k] = t;
	}
	for (i = 0; i < MANY; i++) {
		uint8_t *at = chain[i];
		void *name = str_at(at + 2 * PAGE, "n", 3 * PAGE);
		void *file = str_at(at + 6 * PAGE, "f", 60);
		/* The end of the name is on yet another page. */
		void *code = code_at(at + PAGE, name, file, at + PAGE, i);

		at[5 * PAGE] = 1;
		frame_at(at, code, chain[(i + 1) % MANY], OWNER_GENERATOR);
	}
	set_top(chain[0]);
}

static void scattered_step(void)
{
	set_top(chain[random_u64() % MANY]);
}

/* Short for most of the time, so that samples leave some of theirs; then it takes all it can get. */
static void thrifty_step(void)
{
	static const void *alone;
	static unsigned int steps;

	if (!alone)
		alone = new_frames(1, new_code("spare", "/app/thrifty.py"));
	if (++steps >> 22 & 3)	/* three quarters of the time, in turns of some 50 ms */
		set_top(alone);
	else
		scattered_step();
}

/* As far as a thread's frames go well, then there is nothing. */
static void hole(void)
{
	uint8_t *at = pages_before_hole(1), *top = pages(1);
	void *code = new_code("before", "/app/hole.py");
	unsigned int i;

	for (i = 0; i < 10; i++)
		frame_at(top + i * 128, code, i ? top + (i - 1) * 128 : at + PAGE, OWNER_THREAD);
	set_top(top + 9 * 128);
}

/* A window that reaches down to where the data stack begins finds no memory there. */
static void hole_below(void)
{
	uint8_t *at = pages(4), *frame = at + PAGE;
	void *code = new_code("above", "/app/below.py");

	munmap(at, PAGE);
	put64(tstate, image.layout.ts_datastack, (uintptr_t)at);
	frame_at(frame, code, frame, OWNER_THREAD);
	set_top(frame);
}

/* ---- what frames point to ---- */

/* Not munmap(): the address would be somebody's soon. */
static void *unmapped(void)
{
	return mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* 256 frames; the i-th has the code object that make_code gives. */
static void each_code(void *(*make_code)(unsigned int i))
{
	uint8_t *at = pages(STACK * 128 / PAGE + 1), *top = NULL;
	unsigned int i;

	put64(tstate, image.layout.ts_datastack, (uintptr_t)at);
	for (i = 0; i < STACK; i++)
		top = frame_at(at + i * 128, make_code(i), top, OWNER_THREAD);
	set_top(top);
}

static void *unmapped_code(unsigned int i)
{
	return (uint8_t *)unmapped() + i * 16;
}

static void codes_unmapped(void)
{
	each_code(unmapped_code);
}

static void *code_of_unmapped(unsigned int i)
{
	return code_at(pages(1), unmapped(), unmapped(), unmapped(), i);
}

static void names_unmapped(void)
{
	each_code(code_of_unmapped);
}

/* A name of which all but the beginning is there. */
static void *code_cut_name(unsigned int i)
{
	uint8_t *name = pages_before_hole(1) + PAGE - 96, *file = pages_before_hole(1) + PAGE - 64;

	put64(name, image.objects.str_length, 5000);
	put64(file, image.objects.str_length, 4);
	return code_at(pages(1), name, file, unmapped(), i);
}

static void names_cut(void)
{
	each_code(code_cut_name);
}

/* Objects that end with their page, nothing behind: smaller than all we want to read. */
static void *code_at_edge(unsigned int i)
{
	uint8_t *at = pages_before_hole(1) + PAGE - (image.layout.co_linetable + 8);
	uint8_t *file = pages_before_hole(1) + PAGE - 64;

	return code_at(at, str_at(file, "edge", 4), str_at(file, "edge", 4), file, i);
}

static void edges(void)
{
	each_code(code_at_edge);
}

static const uint64_t lengths[] = {
	0, 1, 47, 48, 49, 4096, 1 << 20, 1ull << 31, UINT32_MAX, 1ull << 32, 1ull << 40,
	1ull << 47, 1ull << 62, INT64_MAX, 1ull << 63, UINT64_MAX, UINT64_MAX - 40,
};
#define LENGTH_CNT (sizeof(lengths) / sizeof(lengths[0]))

static void *code_long_names(unsigned int i)
{
	uint8_t *at = pages(4);
	void *name = str_at(at + PAGE, "long", lengths[i % LENGTH_CNT]);
	void *file = str_at(at + 2 * PAGE, "longer", lengths[i / LENGTH_CNT % LENGTH_CNT]);

	return code_at(at, name, file, bytes_at(at + 3 * PAGE, "", 0, 0), i);
}

static void lengths_of_names(void)
{
	each_code(code_long_names);
}

static void *code_long_table(unsigned int i)
{
	uint8_t *at = pages(8);
	void *table = bytes_at(at + 3 * PAGE, "\x87\x04", 2, lengths[i % LENGTH_CNT]);

	return code_at(at, str_at(at + PAGE, "f", 1), str_at(at + 2 * PAGE, "f.py", 4), table, i);
}

static void lengths_of_tables(void)
{
	each_code(code_long_table);
}

/* ---- code that is new with every sample ---- */

static uint8_t *codes[STACK];

static void *code_big(unsigned int i)
{
	uint8_t *at = codes[i] = pages(10);
	static uint8_t table[6 * PAGE];

	memset(table, 0x80 | 13 << 3 | 7, sizeof(table));
	memset(at + PAGE, 'n', 2 * PAGE);
	return code_at(at, str_at(at + PAGE, "new", 4000), str_at(at + 2 * PAGE, "new.py", 4000),
		       bytes_at(at + 3 * PAGE, table, sizeof(table), sizeof(table)), 1);
}

static void new_codes(void)
{
	each_code(code_big);
}

static void new_codes_step(void)
{
	static uint32_t line;
	unsigned int i;

	line++;
	for (i = 0; i < STACK; i++) {
		put32(codes[i], image.layout.co_firstlineno, line);
		memcpy(codes[i] + PAGE + image.layout.str_data, &line, sizeof(line));
		codes[i][PAGE + image.layout.str_data + 8] = i;
	}
}

/* ---- the thread, the interpreter ---- */

static void itself(void)
{
	const struct py_layout *l = &image.layout;
	uint32_t i;

	for (i = 0; i < 4 * PAGE; i += 8)
		put64(tstate, i, (uintptr_t)tstate);
	put64(tstate, l->ts_interp, (uintptr_t)tstate);
}

/* Wherever one looks there is a pointer to somewhere else in here. */
#define TANGLE_PAGES 64u
static uint8_t *tangled;

static void tangle_step(void)
{
	uint32_t off = random_u64() % (TANGLE_PAGES * PAGE / 8) * 8;

	put64(tangled, off,
	      (uintptr_t)tangled + random_u64() % (TANGLE_PAGES * PAGE - 512) / 8 * 8);
}

static void tangle(void)
{
	uint32_t i;

	tangled = pages(TANGLE_PAGES);
	for (i = 0; i < TANGLE_PAGES * PAGE / 4; i++)
		tangle_step();
	set_tstate(tangled + 512);
}

/* The lists of interpreters and threads lead in circles, and none is this thread's. */
static void lists(void)
{
	const struct py_layout *l = &image.layout;

	set_tstate(NULL);
	put64(tstate, l->ts_thread_id, 1);
	put64(tstate, l->ts_next, (uintptr_t)tstate);
	put64(interp, l->interp_next, (uintptr_t)interp);
}

/* The same, and each state is on another page. */
static void lists_scattered(void)
{
	const struct py_layout *l = &image.layout;
	unsigned int i;

	set_tstate(NULL);
	for (i = 0; i < MANY; i++)
		chain[i] = pages(2) + PAGE - 16;
	for (i = 0; i < MANY; i++) {
		put64(chain[i], l->ts_next, (uintptr_t)chain[(i * 2731 + 1) % MANY]);
		put64(chain[i], l->ts_thread_id, 1);
	}
	put64(interp, l->interp_threads_head, (uintptr_t)chain[0]);
	put64(interp, l->interp_next, (uintptr_t)interp);
}

static void lists_step(void)
{
	put64(interp, image.layout.interp_threads_head, (uintptr_t)chain[random_u64() % MANY]);
}

/* Exceptions handled within exceptions, for ever. */
static void exceptions(void)
{
	const struct py_layout *l = &image.layout;
	uint8_t *item = pages(1);

	put64(item, l->exc_previous, (uintptr_t)item);
	put64(tstate, l->ts_exc_info, (uintptr_t)item);
	plain();
}

/* ---- strange addresses ---- */

#define STRANGE_MAX 64
static uint64_t strange[STRANGE_MAX];
static size_t strange_cnt;

static const void *some_strange(void)
{
	return (const void *)(uintptr_t)strange[random_u64() % strange_cnt];
}

static void strange_tstate(void)
{
	strange_cnt = strange_addresses(strange, STRANGE_MAX);
}

static void strange_tstate_step(void)
{
	set_tstate(some_strange());
}

static void strange_frames(void)
{
	strange_tstate();
}

static void strange_frames_step(void)
{
	set_top(some_strange());
}

static void *strange_code(unsigned int i)
{
	return (void *)(uintptr_t)strange[i % strange_cnt];
}

static void strange_codes(void)
{
	strange_tstate();
	each_code(strange_code);
}

static void *code_strange_names(unsigned int i)
{
	void *a = strange_code(i), *good = new_str("good");

	switch (i / strange_cnt % 3) {
	case 0:
		return code_at(pages(1), a, good, a, i);
	case 1:
		return code_at(pages(1), good, a, a, i);
	default:
		return code_at(pages(1), good, good, a, i);
	}
}

static void strange_names(void)
{
	strange_tstate();
	each_code(code_strange_names);
}

/* ---- names that should not reach a terminal ---- */

static void *code_dirty(unsigned int i)
{
	static const char *const dirt[] = {
		"\033]0;owned\007", "\033[2J\033[H", "a\nb\tc\rd", "\x80\xff\xfe",
		"\xc0\xaf\xed\xa0\x80", "../../../etc/passwd", "<script>alert(1)</script>",
		"\"};{\"", ";;; 17\n", "\xe2\x80\xae" "evil",
	};
	const char *text = dirt[i % (sizeof(dirt) / sizeof(dirt[0]))];
	uint8_t *at = pages(4);
	void *name = str_at(at + PAGE, text, strlen(text) + i % 3);	/* NULs, too */
	uint32_t kind = i % 8, ascii = i & 8 ? image.objects.str_ascii_bit : 0;

	put32(name, image.objects.str_state,
	      kind << image.objects.str_kind_shift | image.objects.str_compact_bit | ascii);
	return code_at(at, name, str_at(at + 2 * PAGE, text, strlen(text)),
		       bytes_at(at + 3 * PAGE, text, strlen(text), strlen(text)), i);
}

static void dirty(void)
{
	each_code(code_dirty);
}

static void *code_huge_name(unsigned int i)
{
	static char text[10 * 1024 * 1024 + 1];
	uint8_t *at = pages(2);

	memset(text, 'h', sizeof(text) - 1);
	if (i >= 4)	/* four of them are enough to hold */
		return code_at(at, new_str("h"), new_str("h"), bytes_at(at + PAGE, "", 0, 0), i);
	return code_at(at, new_str(text), new_str(text), bytes_at(at + PAGE, "", 0, 0), i);
}

static void huge_names(void)
{
	each_code(code_huge_name);
}

/* ---- races ---- */

static void *code_racing(unsigned int i)
{
	codes[i] = pages(4);
	return code_at(codes[i], str_at(codes[i] + PAGE, "race", 4),
		       str_at(codes[i] + 2 * PAGE, "race.py", 7),
		       bytes_at(codes[i] + 3 * PAGE, "\x87\x04", 2, 2), i);
}

static void racing(void)
{
	each_code(code_racing);
}

static void racing_other(void)
{
	uint8_t *at = codes[random_u64() % STACK] + random_u64() % 4 * PAGE;
	uint32_t off = random_u64() % 32 * 8;

	put64(at, off, random_u64() & 1 ? lengths[random_u64() % LENGTH_CNT] :
					  (uintptr_t)codes[random_u64() % STACK] + PAGE);
}

/* Memory comes and goes while it is read. */
static void vanishing_other(void)
{
	madvise(codes[random_u64() % STACK] + PAGE, 3 * PAGE, MADV_DONTNEED);
	mprotect(codes[random_u64() % STACK], 4 * PAGE,
		 random_u64() & 1 ? PROT_NONE : PROT_READ | PROT_WRITE);
}

static void *short_thread(void *code)
{
	uint8_t *ts = pages(2);
	uint64_t i, end = random_u64() % 2000000;

	new_tstate(ts);
	put64(ts, image.layout.ts_frame, image.layout.cframe_frame == ABI_NO_OFF ?
	      (uintptr_t)frame_at(ts + PAGE, code, ts + PAGE, OWNER_THREAD) : (uintptr_t)ts);
	set_tstate(ts);
	for (i = 0; i < end; i++)
		__asm__ volatile("");
	munmap(ts, 2 * PAGE);	/* and the thread goes on to its end without */
	return NULL;
}

static void churn_step(void)
{
	static void *code;
	pthread_t t[4];
	int i, n;

	code = code ? code : new_code("brief", "/app/churn.py");
	for (n = 0; n < 4 && !pthread_create(&t[n], NULL, short_thread, code); n++)
		;
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

const struct scenario scenarios[] = {
	{ "plain", plain, NULL, NULL },
	{ "cycle-1", cycle_1, NULL, NULL },
	{ "cycle-2", cycle_2, NULL, NULL },
	{ "cycle-1000", cycle_1000, NULL, NULL },
	{ "cycle-shims", cycle_shims, NULL, NULL },
	{ "deep", deep, NULL, NULL },
	{ "scattered", scattered, scattered_step, NULL },
	{ "thrifty", scattered, thrifty_step, NULL },
	{ "hole", hole, NULL, NULL },
	{ "hole-below", hole_below, NULL, NULL },
	{ "codes-unmapped", codes_unmapped, NULL, NULL },
	{ "names-unmapped", names_unmapped, NULL, NULL },
	{ "names-cut", names_cut, NULL, NULL },
	{ "edges", edges, NULL, NULL },
	{ "lengths-names", lengths_of_names, NULL, NULL },
	{ "lengths-tables", lengths_of_tables, NULL, NULL },
	{ "new-codes", new_codes, new_codes_step, NULL },
	{ "itself", itself, NULL, NULL },
	{ "tangle", tangle, tangle_step, NULL },
	{ "lists", lists, NULL, NULL },
	{ "lists-scattered", lists_scattered, lists_step, NULL },
	{ "exceptions", exceptions, NULL, NULL },
	{ "strange-tstate", strange_tstate, strange_tstate_step, NULL },
	{ "strange-frames", strange_frames, strange_frames_step, NULL },
	{ "strange-codes", strange_codes, NULL, NULL },
	{ "strange-names", strange_names, NULL, NULL },
	{ "dirty", dirty, NULL, NULL },
	{ "huge-names", huge_names, NULL, NULL },
	{ "racing", racing, NULL, racing_other },
	{ "vanishing", racing, NULL, vanishing_other },
	{ "churn", plain, churn_step, NULL },
	{ "heap-lies", heap_lies, NULL, NULL },
	{ "heap-changes", heap_lies, heap_changes, NULL },
};
const size_t scenario_cnt = sizeof(scenarios) / sizeof(scenarios[0]);
