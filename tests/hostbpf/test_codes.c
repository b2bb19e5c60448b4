// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_codes.c - fingerprints of code objects, when the cache may be used, and the snapshots with
 * the names: from the walk to symbolize.c.
 */
#include "model/intern.h"
#include "resolve/symbolize.h"
#include "world.h"

#include "bpf/pyscratch.bpf.h"

static struct world w;

#define EACH_MINOR(minor) for ((minor) = LAYOUT_MINOR_MIN; (minor) <= LAYOUT_MINOR_MAX; (minor)++)
#define NEW_CODES_MAX 128	/* of one sample */
#define DEFERRED_CODES 200

static u64 code_addr(u32 code)
{
	return W_CODES + code * W_CODE_STEP;
}

/* Put another code object at the same address. */
static void replace_code(u32 code, u32 line)
{
	host_mem_put32(code_addr(code) + w.img.layout.co_firstlineno, line);
}

/* Where the cache of a CPU has the code object: as cache_set(). */
static u64 set_of(u32 code)
{
	uint64_t at = code_addr(code) >> 8;

	return (at + (at / 512 * 0x9e3779b97f4a7c15ULL >> 32)) & 511;
}

/* Make code objects until some others have the set of the first one; their numbers. */
static void make_same_set(u32 *codes, u32 cnt)
{
	u32 found = 0, code;

	while (found < cnt) {
		code = world_code(&w);
		if (set_of(code) == set_of(0))
			codes[found++] = code;
	}
}

static int sent_records(void)
{
	int i = 0, n = 0;

	while (host_record(RAW_CODE, &i, NULL))
		n++;
	return n;
}

/* The epoch changes whenever an address may have another code object. */
static void test_epoch(void **state)
{
	const struct py_layout *l = &w.img.layout;
	u64 reads;
	int minor;

	EACH_MINOR(minor) {
		if (minor < 13)
			continue;
		world_init(&w, minor);
		world_recurse(&w, 10);
		world_expect(&w, 10, 0);
		world_expect(&w, 10, 0);
		reads = host.reads;
		/* The epoch is the same, so nothing is read again ... */
		replace_code(3, 9999);
		world_expect(&w, 10, 0);
		assert_int_equal(host.reads, reads);
		/* ... until it changes. CPython changes it first. */
		host_mem_put32(W_INTERP + l->interp_epoch, 41);
		w.want[3].id = world_code_identity(&w, 3);
		assert_int_not_equal(w.want[3].id, w.code_ids[3]);
		world_expect(&w, 10, 0);
		assert_int_equal(sent_records(), 1);
		/* After an overflow (3.12, 3.13) the counter is 0, and every sample reads again. */
		host_mem_put32(W_INTERP + l->interp_epoch, 0);
		world_expect(&w, 10, 0);
		replace_code(4, 9999);
		w.want[4].id = world_code_identity(&w, 4);
		world_expect(&w, 10, 0);
	}
}

/* Without an epoch every sample reads a code object again, but only once. */
static void test_no_epoch(void **state)
{
	int minor, i;

	for (minor = 11; minor <= 12; minor++) {
		world_init(&w, minor);
		world_code(&w);
		for (i = 0; i < 100; i++)
			world_push(&w, OWNER_THREAD, 0, 2 * i);
		world_expect(&w, 100, 0);
		replace_code(0, 4321);
		for (i = 0; i < 100; i++)
			w.want[i].id = world_code_identity(&w, 0);
		world_expect(&w, 100, 0);
		assert_int_equal(sent_records(), 1);
		assert_in_range(host.reads, 1, 40);
	}
}

/* 3.12's counter is a static variable, which all interpreters share. */
static void test_shared_epoch(void **state)
{
	const u64 counter = W_RUNTIME + 0x3000;

	world_init(&w, 12);
	host_mem_put32(counter, 40);
	w.proc.epoch = counter;
	world_put_proc(&w);
	world_recurse(&w, 10);
	world_expect(&w, 10, 0);
	replace_code(3, 9999);
	world_expect(&w, 10, 0);	/* the counter is the same: not read again */
	host_mem_put32(counter, 41);
	w.want[3].id = world_code_identity(&w, 3);
	world_expect(&w, 10, 0);
	/* The counter has overflowed, or is unreadable: every sample reads again. */
	host_mem_put32(counter, 0);
	world_expect(&w, 10, 0);
	replace_code(4, 9999);
	w.want[4].id = world_code_identity(&w, 4);
	world_expect(&w, 10, 0);
	w.proc.epoch = 0x10;
	world_put_proc(&w);
	world_expect(&w, 10, 0);
	replace_code(5, 9999);
	w.want[5].id = world_code_identity(&w, 5);
	world_expect(&w, 10, 0);
}

/* Each interpreter and each process has its own epoch. */
static void test_epochs_apart(void **state)
{
	const struct py_layout *l = &w.img.layout;
	const u64 other = W_INTERP + 0x1000000;

	world_init(&w, 14);
	world_recurse(&w, 3);
	world_expect(&w, 3, 0);
	host_mem_map(other, 256 * 1024);
	host_mem_put32(other + l->interp_epoch, 40);
	host_mem_put64(W_TSTATE + l->ts_interp, other);
	replace_code(1, 777);
	w.want[1].id = world_code_identity(&w, 1);
	world_expect(&w, 3, 0);
	w.proc.ident++;
	world_put_proc(&w);
	replace_code(1, 778);
	w.want[1].id = world_code_identity(&w, 1);
	world_expect(&w, 3, 0);
	assert_int_equal(sent_records(), 3);	/* nothing was sent of the other process */
}

/*
 * Two code objects in one set of the cache do not evict each other. The third one evicts the one
 * that was read longest ago, which is known by its frame's place, and is not read again; each has
 * its own names.
 */
static void test_two_places(void **state)
{
	u32 codes[3];
	u64 reads;
	int i;

	world_init(&w, 14);
	make_same_set(codes, 3);
	for (i = 0; i < 2; i++)
		world_push(&w, OWNER_THREAD, codes[i], 2 * i);
	world_expect(&w, 2, 0);
	world_expect(&w, 2, 0);
	reads = host.reads;
	world_expect(&w, 2, 0);
	assert_int_equal(host.reads, reads);	/* of this sample: no code object */
	assert_int_equal(host_counter(CNT_CACHE_EVICTED), 0);
	world_push(&w, OWNER_THREAD, codes[2], 4);
	world_expect(&w, 3, 0);
	assert_int_equal(host_counter(CNT_CACHE_EVICTED), 1);
	assert_true(host.reads > reads);
	for (i = 0; i < 2; i++) {
		world_expect(&w, 3, 0);
		assert_int_equal(host.reads, reads);	/* each is known by its frame's place */
	}
	assert_int_equal(sent_records(), 0);	/* all were sent before */
}

static void test_unverified(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_recurse(&w, 20);
		host_mem_unmap(code_addr(8), 8 * W_CODE_STEP);
		for (u32 i = 8; i < 16; i++)
			w.want[i].id = 0;
		world_expect(&w, 20, 0);
		assert_int_equal(host_counter(CNT_UNVERIFIED_CODE), 8);
		assert_int_equal(sent_records(), 12);
	}
}

/* Each code object is sent once. A sample sends 128 at most, the next samples the others. */
static void test_deferred(void **state)
{
	bool sent[DEFERRED_CODES] = { false };
	int minor, sample, i;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		memset(sent, 0, sizeof(sent));
		for (i = 0; i < DEFERRED_CODES; i++)
			world_push(&w, OWNER_THREAD, world_code(&w), 2);
		for (sample = 0; sample < 2; sample++) {
			const struct raw_code *c;

			world_expect(&w, DEFERRED_CODES, 0);
			assert_int_equal(sent_records(), sample ? DEFERRED_CODES - NEW_CODES_MAX :
								  NEW_CODES_MAX);
			for (i = 0; (c = host_record(RAW_CODE, &i, NULL));) {
				u32 n = (c->code - W_CODES) / W_CODE_STEP;

				assert_in_range(n, 0, DEFERRED_CODES - 1);
				assert_false(sent[n]);
				sent[n] = true;
				assert_int_equal(c->id, w.code_ids[n]);
				assert_int_equal(c->h.tgid, 1001);
				assert_int_equal(c->h.start_ns, 77);
			}
			/* before the sample */
			assert_int_equal(host.records[host.record_cnt - 1].data[0], RAW_SAMPLE);
		}
		world_expect(&w, DEFERRED_CODES, 0);
		assert_int_equal(sent_records(), 0);
		assert_int_equal(host_counter(CNT_CODE), DEFERRED_CODES);
		assert_int_equal(host_counter(CNT_CODE_LOST), 0);
	}
}

/*
 * The first sample of a process may be its only one: what its CPU has put aside is used for its
 * names. Later, some are sent with each sample, though its time is used up.
 */
static void test_names_beyond_the_limit(void **state)
{
	unsigned int limit = 60000, none = 0;
	int i, sent;

	world_init(&w, 11);
	for (i = 0; i < 60; i++)
		world_push(&w, OWNER_THREAD, world_code(&w), 2);
	host_set(&cfg_limit_ns, &limit, sizeof(limit));
	tick_periods[0].rate_hz = 99;
	host.now_ns += 1ull << 30;
	host.clock_step_ns = 3000;	/* a reading of the clock for each code object */
	assert_non_null(world_sample());
	assert_int_equal(sent_records(), 60);
	assert_int_equal(host_counter(CNT_CODE_LOST), 0);
	for (i = 0; i < 20; i++) {	/* now others, again and again: nothing is left */
		w.proc.ident += 2;
		world_put_proc(&w);
		assert_non_null(world_sample());
	}
	sent = sent_records();
	assert_in_range(sent, 1, 20);
	assert_int_not_equal(host_counter(CNT_CODE_LOST), 0);
	host.now_ns += 1ull << 30;
	w.proc.ident += 2;
	world_put_proc(&w);
	assert_non_null(world_sample());
	assert_int_equal(sent_records(), 60);
	host.clock_step_ns = 0;
	host_set(&cfg_limit_ns, &none, sizeof(none));
	tick_periods[0].rate_hz = 0;
}

/* A code object for which the ring buffer had no room is sent later, with or without an epoch. */
static void test_ring_full(void **state)
{
	int minor, room, i;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		for (i = 0; i < 20; i++)
			world_push(&w, OWNER_THREAD, world_code(&w), 2);
		for (room = 0; room <= 8; room += 4) {
			host.ring_room = room;
			host_tick();
			assert_int_equal(sent_records(), room);
			assert_int_equal(host_counter(CNT_RING_FULL), 1 + room / 4);
		}
		assert_int_equal(host_counter(CNT_CODE_LOST), 20 + 16 + 8);
		host.ring_room = HOST_RECORDS_MAX;
		world_expect(&w, 20, 0);
		assert_int_equal(sent_records(), 8);
		assert_int_equal(host_counter(CNT_CODE), 20);
		world_expect(&w, 20, 0);
		assert_int_equal(sent_records(), 0);
	}
}

/* A code object that the other CPU has sent is not sent again. */
static void test_two_cpus(void **state)
{
	world_init(&w, 13);
	world_recurse(&w, 10);
	world_expect(&w, 10, 0);
	assert_int_equal(sent_records(), 10);
	host.cpu = 1;
	world_expect(&w, 10, 0);
	assert_int_equal(sent_records(), 0);
}

/* Code objects whose slots others have taken are sent once more: a record each, and no name. */
static void test_sent_evicted(void **state)
{
	u32 first = 0;
	int minor, i;
	u64 *slots;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		for (i = 0; i < 10; i++)
			world_push(&w, OWNER_THREAD, world_code(&w), 2);
		world_expect(&w, 10, 0);
		assert_int_equal(sent_records(), 10);
		assert_int_equal(host_counter(CNT_SENT_EVICTED), 0);
		slots = bpf_map_lookup_elem(&sent_codes, &first);
		for (i = 0; i < SENT_SLOTS; i++)
			slots[i] ^= slots[i] ? 1ull << 40 : 0;
		host.cpu = 1;
		world_expect(&w, 10, 0);
		assert_int_equal(sent_records(), 10);
		assert_int_equal(host_counter(CNT_SENT_EVICTED), 10);
		world_expect(&w, 10, 0);
		assert_int_equal(sent_records(), 0);
	}
}

/* Code objects that share a cache entry have their own fingerprints. */
static void test_same_slot(void **state)
{
	int i;

	world_init(&w, 14);
	for (i = 0; i < 1400; i++)
		world_code(&w);
	for (i = 0; i < 200; i++)
		world_push(&w, OWNER_THREAD, i % 2 ? i % 7 : 1024 + i % 64, 2);
	for (i = 0; i < 10; i++)
		world_expect(&w, 200, 0);
}

/* ---- names in user space ---- */

static struct intern *in;
static struct symbolizer *sym;
static bool has_ended;		/* the process: its memory cannot be read */

static int read_target(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return has_ended ? -ESRCH : host_mem_read(ctx, addr, buf, len);
}

static void new_symbolizer(bool ended)
{
	struct target_mem mem = { read_target, NULL };

	symbolizer_free(sym);
	intern_free(in);
	in = intern_new();
	has_ended = ended;
	sym = symbolizer_new(&w.img, mem, in, false);
	assert_non_null(sym);
}

static void learn_all(void)
{
	const struct raw_code *c;
	size_t len;
	int i = 0;

	while ((c = host_record(RAW_CODE, &i, &len)))
		assert_int_equal(symbolizer_learn(sym, c, len), 0);
}

static void check_name(const struct raw_frame *raw, const char *func, const char *file, int line)
{
	const struct profile_tables *t = intern_tables(in);
	const struct frame *f;
	uint32_t id;

	assert_int_equal(symbolizer_frame(sym, raw, &id, NULL), 0);
	assert_in_range(id, 0, t->frame_cnt - 1);
	f = &t->frames[id];
	assert_int_equal(t->strings[f->func].len, strlen(func));
	assert_memory_equal(t->strings[f->func].data, func, strlen(func));
	assert_int_equal(t->strings[f->file].len, strlen(file));
	assert_memory_equal(t->strings[f->file].data, file, strlen(file));
	assert_int_equal(f->line, line);
}

/* The snapshots suffice to name every frame after the process has ended. */
static void check_names_of(int build)
{
	const struct raw_sample *s;
	char func[32], file[32];
	u32 i, n;

	world_init(&w, build);
	for (i = 0; i < 30; i++)
		world_push(&w, OWNER_THREAD, world_code(&w), 10 * i);
	s = world_expect(&w, 30, 0);
	new_symbolizer(true);
	learn_all();
	for (i = 0; i < 30; i++) {
		n = 29 - i;
		snprintf(func, sizeof(func), "func_%u", n);
		snprintf(file, sizeof(file), "file_%u.py", n);
		check_name(&s->frames[i], func, file, 100 + n + 10 * n / 16 + 1);
	}
	assert_int_equal(symbolizer_stats(sym)->process_reads, 0);
	assert_int_equal(symbolizer_stats(sym)->unresolved, 0);
}

static void test_names(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		check_names_of(minor);
		if (minor <= 12)
			check_names_of(minor + TRACE_REFS);
	}
}

/* Objects at every distance from the end of the mapped memory: the snapshots suffice. */
static void test_page_ends(void **state)
{
	const struct py_layout *l;
	const u64 page = W_HEAP + 0x700000;
	const char *name = "a_name_of_some_length.<locals>.<lambda>";
	u32 gap, table_len, code;
	const struct raw_sample *s;
	int minor;

	EACH_MINOR(minor) {
		for (gap = 0; gap < 700; gap += 24) {
			u64 name_len, name_at, table_at;

			world_init(&w, minor);
			l = &w.img.layout;
			table_len = minor <= 10 ? 16 : 24;
			code = world_code(&w);
			name_len = (w.img.objects.str_ascii_data + strlen(name) + 1 + 31) & ~15ull;
			host_mem_map(page, 2 * 4096);
			name_at = page + 4096 - name_len - gap;
			table_at = page + 2 * 4096 - l->bytes_data - table_len - gap;
			world_string_at(&w, name_at, name);
			host_mem_put64(table_at + l->bytes_size, table_len);
			world_fill_table(&w, table_at + l->bytes_data, 8);
			host_mem_put64(code_addr(code) + l->co_qualname, name_at);
			host_mem_put64(code_addr(code) + l->co_filename, name_at);
			host_mem_put64(code_addr(code) + l->co_linetable, table_at);
			w.code_ids[code] = world_code_identity(&w, code);
			/* No page is mapped after the objects. */
			if (gap % 16)
				host_mem_unmap(page + 4096, 2 * 4096);
			else
				host_mem_unmap(page + 2 * 4096, 2 * 4096);
			if (gap % 16) {	/* the table in the first page, too */
				table_at -= 4096 + name_len;
				host_mem_put64(table_at + l->bytes_size, table_len);
				world_fill_table(&w, table_at + l->bytes_data, 8);
				host_mem_put64(code_addr(code) + l->co_linetable, table_at);
				w.code_ids[code] = world_code_identity(&w, code);
			}
			world_push(&w, OWNER_THREAD, code, 36);
			s = world_expect(&w, 1, 0);
			new_symbolizer(true);
			learn_all();
			check_name(&s->frames[0], name, name, 100 + 36 / 16 + 1);
		}
	}
}

/* Line tables up to RAW_CODE_TABLE are sent whole; a longer one is read from the process. */
static void test_big_tables(void **state)
{
	static const u32 entries[] = { 0, 1, 100, 160, 200, 1000, 4000, 4085, 4086, 4200, 20000 };
	const struct py_layout *l = &w.img.layout;
	const struct raw_sample *s;
	size_t i;

	for (i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		u32 code, n = entries[i], last = n ? n - 1 : 0;
		bool fits = 3 * n + 32 <= RAW_CODE_TABLE;

		world_init(&w, 13);
		code = world_code(&w);
		host_mem_put64(code_addr(code) + l->co_linetable, world_table(&w, n));
		w.code_ids[code] = world_code_identity(&w, code);
		world_push(&w, OWNER_THREAD, code, 16 * last);
		s = world_expect(&w, 1, 0);
		new_symbolizer(fits);
		learn_all();
		check_name(&s->frames[0], "func_0", "file_0.py", n ? 100 + (int)n : 100);
		assert_int_equal(symbolizer_stats(sym)->process_reads != 0, !fits);
	}
}

/* A page that is copied at this moment cannot be read: the next sample sends its contents. */
static void test_piece_missing(void **state)
{
	const struct raw_sample *s;
	u64 n, reads;
	int minor;

	EACH_MINOR(minor) {
		for (n = reads = 1; n <= reads; n++) {
			world_init(&w, minor);
			world_push(&w, OWNER_THREAD, world_code(&w), 36);
			new_symbolizer(true);
			host.fail_read = n;
			world_sample();
			learn_all();
			if (n == 1)
				reads = 0;
			reads = host.reads > reads ? host.reads : reads;
			host.fail_read = 0;
			s = world_expect(&w, 1, 0);
			learn_all();
			check_name(&s->frames[0], "func_0", "file_0.py", 100 + 36 / 16 + 1);
			world_expect(&w, 1, 0);
			assert_int_equal(sent_records(), 0);
		}
	}
}

static int done(void **state)
{
	symbolizer_free(sym);
	intern_free(in);
	host_free();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epoch),
		cmocka_unit_test(test_no_epoch),
		cmocka_unit_test(test_shared_epoch),
		cmocka_unit_test(test_epochs_apart),
		cmocka_unit_test(test_two_places),
		cmocka_unit_test(test_unverified),
		cmocka_unit_test(test_deferred),
		cmocka_unit_test(test_names_beyond_the_limit),
		cmocka_unit_test(test_ring_full),
		cmocka_unit_test(test_two_cpus),
		cmocka_unit_test(test_sent_evicted),
		cmocka_unit_test(test_same_slot),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_page_ends),
		cmocka_unit_test(test_big_tables),
		cmocka_unit_test(test_piece_missing),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
