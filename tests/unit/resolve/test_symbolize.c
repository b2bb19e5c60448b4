// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_symbolize.c - frames get the names of their code objects, or are <unresolved>. */
#include <errno.h>
#include <limits.h>

#include "tests/unit/resolve/fake_code.h"

/* as in symbolize.c */
#define KNOWN_MAX (64 * 1024)
#define READS_A_SECOND 4096
#define PENDING_MAX 1024

static struct fake_codes fake;
static struct intern *in;
static struct symbolizer *sym;
static struct raw_code raw;

static void begin(uint32_t codes)
{
	fake_codes_init(&fake, codes);
	in = intern_new();
	sym = symbolizer_new(&fake.img, fake_mem(&fake), in, false);
	assert_non_null(in);
	assert_non_null(sym);
}

/* A process of which only the first reads_in_time reads are in time. */
static unsigned int reads_in_time;
static bool refused;

static int hurried_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct target_mem mem = fake_mem(ctx);

	if (!reads_in_time) {
		refused = true;
		return -EBUSY;
	}
	reads_in_time--;
	return mem.read(mem.ctx, addr, buf, len);
}

static void begin_hurried(uint32_t codes, unsigned int reads)
{
	begin(codes);
	symbolizer_free(sym);
	sym = symbolizer_new(&fake.img, (struct target_mem){ hurried_read, &fake }, in, false);
	assert_non_null(sym);
	reads_in_time = reads;
	refused = false;
}

static void end(void)
{
	symbolizer_free(sym);
	intern_free(in);
	fake_codes_free(&fake);
}

static uint32_t id_of(struct raw_frame frame)
{
	uint32_t id = UINT32_MAX;

	symbolizer_refill(sym);
	assert_int_equal(symbolizer_frame(sym, &frame, &id, NULL), 0);
	assert_in_range(id, 0, intern_tables(in)->frame_cnt - 1);
	return id;
}

static void check(uint32_t n, uint32_t lasti, uint32_t as)
{
	assert_true(frame_is_fake(intern_tables(in), id_of(fake_frame(&fake, n, lasti)), as,
				  lasti));
}

static void check_unresolved(struct raw_frame frame)
{
	uint64_t before = symbolizer_stats(sym)->unresolved;

	assert_true(frame_is_synthetic(intern_tables(in), id_of(frame), "<unresolved>"));
	assert_int_equal(symbolizer_stats(sym)->unresolved, before + 1);
}

#define PIECE_TABLE 3	/* the line table; without it a frame has the code object's first line */

static void check_without(int piece, struct raw_frame frame)
{
	uint32_t id;

	if (piece != PIECE_TABLE) {
		check_unresolved(frame);
		return;
	}
	id = id_of(frame);
	assert_int_equal(symbolizer_stats(sym)->without_lines, 1);
	assert_true(frame_is(intern_tables(in), id, "/src/m0.py", "f1", 10));
}

static void test_from_process(void **state)
{
	uint32_t i, lasti;
	unsigned int reads;

	begin(40);
	for (i = 0; i < 40; i++)
		for (lasti = 0; lasti < 200; lasti += 14)
			check(i, lasti, i);
	check(3, RAW_LASTI_NONE, 3);
	assert_int_equal(symbolizer_stats(sym)->code_cnt, 40);
	assert_int_equal(symbolizer_stats(sym)->process_reads, 40);
	/* The code objects are known: the process is not read again. */
	reads = fake.reads;
	for (i = 0; i < 40; i++)
		check(i, 28, i);
	check(7, 30, 7);
	assert_int_equal(fake.reads, reads);
	assert_int_equal(symbolizer_stats(sym)->unresolved, 0);
	end();
}

static void test_from_snapshot(void **state)
{
	uint32_t i;

	begin(40);
	fake.err = -EFAULT;
	for (i = 0; i < 40; i++) {
		size_t len = fake_snapshot(&fake, i, &raw);

		assert_int_equal(symbolizer_learn(sym, &raw, len), 0);
		assert_int_equal(symbolizer_learn(sym, &raw, len), 0);
	}
	for (i = 0; i < 40; i++)
		check(i, 2 * i, i);
	assert_int_equal(fake.reads, 0);
	assert_int_equal(symbolizer_stats(sym)->code_cnt, 40);
	assert_int_equal(symbolizer_stats(sym)->process_reads, 0);
	end();
}

/* A snapshot's gaps are filled from the process, if that can still be read. */
static void test_gaps(void **state)
{
	int piece;

	for (piece = 0; piece <= PIECE_TABLE; piece++) {
		size_t len;

		begin(2);
		len = fake_snapshot(&fake, 1, &raw);
		(&raw.head_at)[piece].len = 0;
		assert_int_equal(symbolizer_learn(sym, &raw, len), 0);
		assert_true(symbolizer_stats(sym)->process_reads > 0);
		fake.err = -EFAULT;
		check(1, 20, 1);
		end();

		begin(2);
		fake.err = -ESRCH;
		len = fake_snapshot(&fake, 1, &raw);
		(&raw.head_at)[piece].len = 0;
		assert_int_equal(symbolizer_learn(sym, &raw, len), 0);
		check_without(piece, fake_frame(&fake, 1, 20));
		assert_int_equal(fake.reads, 1);
		end();
	}
}

/* The process has another code object there by now: names of the two must not be mixed. */
static void test_gaps_filled_too_late(void **state)
{
	int piece;

	for (piece = 1; piece <= PIECE_TABLE; piece++) {
		struct raw_frame frame;
		size_t len;

		begin(2);
		frame = fake_frame(&fake, 1, 20);
		len = fake_snapshot(&fake, 1, &raw);
		(&raw.head_at)[piece].len = 0;
		fake_write(&fake, 1, 55);
		assert_int_equal(symbolizer_learn(sym, &raw, len), 0);
		check_without(piece, frame);
		check(1, 20, 55);
		end();
	}
}

/* The address was used again: old and new frames have the names of their own code objects. */
static void test_identity(void **state)
{
	struct raw_frame old, new;

	begin(4);
	old = fake_frame(&fake, 2, 20);
	check(2, 20, 2);
	fake_write(&fake, 2, 77);
	new = fake_frame(&fake, 2, 20);
	assert_int_equal(old.code, new.code);
	assert_int_not_equal(old.id, new.id);
	check(2, 20, 77);
	/* The old frame keeps its name. */
	assert_true(frame_is_fake(intern_tables(in), id_of(old), 2, 20));
	/* An old code object that was not read in time has no name. */
	old = fake_frame(&fake, 3, 20);
	fake_write(&fake, 3, 78);
	check_unresolved(old);
	check_unresolved(old);
	check(3, 20, 78);
	/* A snapshot with another fingerprint is not used. */
	fake_snapshot(&fake, 1, &raw);
	raw.id ^= 2;
	fake.err = -EFAULT;
	assert_int_equal(symbolizer_learn(sym, &raw, sizeof(raw)), 0);
	check_unresolved((struct raw_frame){ raw.code, 20, raw.id });
	end();
}

/* The BPF side could not compute the fingerprint: the code object is read each time. */
static void test_no_fingerprint(void **state)
{
	struct raw_frame frame;

	begin(4);
	frame = fake_frame(&fake, 2, 20);
	frame.id = 0;
	assert_true(frame_is_fake(intern_tables(in), id_of(frame), 2, 20));
	fake_write(&fake, 2, 55);
	assert_true(frame_is_fake(intern_tables(in), id_of(frame), 55, 20));
	fake.err = -ESRCH;
	check_unresolved(frame);
	frame.code = 0;
	check_unresolved(frame);
	end();
}

/* The process could not be read; then the BPF side sends the code object. */
static void test_learned_late(void **state)
{
	size_t len;

	begin(4);
	len = fake_snapshot(&fake, 1, &raw);
	fake.err = -EPERM;
	check_unresolved(fake_frame(&fake, 1, 20));
	check_unresolved(fake_frame(&fake, 1, 20));
	assert_int_equal(fake.reads, 1);	/* it is read once */
	assert_int_equal(symbolizer_learn(sym, &raw, len), 0);
	check(1, 20, 1);
	check(1, 40, 1);
	end();
}

static void test_gone(void **state)
{
	begin(4);
	check(0, 20, 0);
	fake.err = -ESRCH;
	check_unresolved(fake_frame(&fake, 1, 20));
	/* The process has ended: it is not read again. */
	fake.reads = 0;
	check_unresolved(fake_frame(&fake, 2, 20));
	assert_int_equal(fake.reads, 0);
	check(0, 20, 0);
	check(0, 60, 0);
	end();
}

static void test_lengths(void **state)
{
	size_t len, full;

	begin(2);
	full = fake_snapshot(&fake, 1, &raw);
	for (len = 0; len < full; len++) {
		/* A copy without a byte behind it, so that a sanitizer sees reads beyond len. */
		struct raw_code *cut = malloc(len ? len : 1);

		memcpy(cut, &raw, len);
		assert_int_equal(symbolizer_learn(sym, cut, len), -EBADMSG);
		free(cut);
	}
	assert_int_equal(symbolizer_learn(sym, &raw, full), 0);
	check(1, 20, 1);
	raw.id++;
	raw.table_at.len = RAW_CODE_TABLE + 1;
	assert_int_equal(symbolizer_learn(sym, &raw, sizeof(raw)), -EBADMSG);
	raw.table_at.len = 512;
	raw.name_at.len = RAW_CODE_NAME + 1;
	assert_int_equal(symbolizer_learn(sym, &raw, sizeof(raw)), -EBADMSG);
	raw.name_at.len = UINT32_MAX;
	assert_int_equal(symbolizer_learn(sym, &raw, sizeof(raw)), -EBADMSG);
	end();
}

static void test_hostile(void **state)
{
	uint64_t seed = 99;
	int round, i;

	begin(16);
	for (round = 0; round < 20000; round++) {
		size_t len = fake_snapshot(&fake, round % 8, &raw), at;
		struct raw_code *copy;
		int err;

		if (round % 4 == 0)
			for (at = 0; at + 8 <= sizeof(raw); at += 8)
				*(uint64_t *)((char *)&raw + at) = rnd(&seed) >> rnd(&seed) % 64;
		for (i = 0; i < (int)(rnd(&seed) % 12); i++) {
			at = rnd(&seed) % (round % 2 ? len : 400);
			((uint8_t *)&raw)[at] = rnd(&seed);
		}
		if (round % 3 == 0)
			raw.id = 0;	/* its fingerprint is not compared */
		if (rnd(&seed) % 3 == 0)
			len = rnd(&seed) % (sizeof(raw) + 1);
		copy = malloc(len ? len : 1);
		memcpy(copy, &raw, len);
		err = symbolizer_learn(sym, copy, len);
		assert_true(err == 0 || err == -EBADMSG);
		free(copy);
		id_of((struct raw_frame){ raw.code, rnd(&seed), raw.id });
	}
	/* Other code objects keep their names. */
	for (i = 8; i < 16; i++)
		check(i, 20, i);
	end();
}

/* More code objects than the cache holds: they are forgotten, and read again when needed. */
static void test_bounded(void **state)
{
	const uint32_t cnt = KNOWN_MAX + 3000;
	uint32_t i;

	begin(cnt);
	for (i = 0; i < cnt; i++)
		check(i, 20, i);
	assert_int_equal(symbolizer_stats(sym)->process_reads, cnt);
	/* The last one is known, the first one was forgotten and is read again. */
	check(cnt - 1, 20, cnt - 1);
	assert_int_equal(symbolizer_stats(sym)->process_reads, cnt);
	check(0, 20, 0);
	assert_int_equal(symbolizer_stats(sym)->process_reads, cnt + 1);
	for (i = 0; i < cnt; i += 37)
		check(i, 34, i);
	/* The same with snapshots. */
	for (i = 0; i < cnt; i++)
		assert_int_equal(symbolizer_learn(sym, &raw, fake_snapshot(&fake, i, &raw)), 0);
	fake.err = -ESRCH;
	for (i = cnt - 100; i < cnt; i++)
		check(i, 50, i);
	check_unresolved(fake_frame(&fake, 0, 50));
	end();
}

/* Addresses that cannot be read count, too. */
static void test_bounded_without_fingerprint(void **state)
{
	struct raw_frame frame = { .lasti = 0, .id = 0 };
	uint32_t i;

	begin(2);
	check(1, 20, 1);
	for (i = 0; i < KNOWN_MAX + 10; i++) {
		frame.code = 0x10000 + 16ull * i;
		id_of(frame);
	}
	/* Code object 1 was forgotten with all the others: it is read again. */
	assert_int_equal(symbolizer_stats(sym)->process_reads, KNOWN_MAX + 11);
	check(1, 20, 1);
	assert_int_equal(symbolizer_stats(sym)->process_reads, KNOWN_MAX + 12);
	end();
}

/* A process is read READS_A_SECOND times at most, until a second has passed. */
static void test_reads_a_second(void **state)
{
	struct raw_frame frame = { .code = 0x10000, .lasti = 0, .id = 77 };
	uint64_t reads;
	uint32_t i, id;

	begin(4);
	for (i = 0; i < READS_A_SECOND; i++, frame.code += 16)
		assert_int_equal(symbolizer_frame(sym, &frame, &id, NULL), 0);
	reads = symbolizer_stats(sym)->process_reads;
	assert_in_range(reads, READS_A_SECOND / 10, READS_A_SECOND);
	/* A code object that must be read is <unresolved> until then; a snapshot needs no read. */
	frame = fake_frame(&fake, 2, 20);
	assert_int_equal(symbolizer_frame(sym, &frame, &id, NULL), 0);
	assert_true(frame_is_synthetic(intern_tables(in), id, "<unresolved>"));
	assert_int_equal(symbolizer_stats(sym)->process_reads, reads);
	assert_int_equal(symbolizer_learn(sym, &raw, fake_snapshot(&fake, 3, &raw)), 0);
	frame = fake_frame(&fake, 3, 20);
	assert_int_equal(symbolizer_frame(sym, &frame, &id, NULL), 0);
	assert_true(frame_is_fake(intern_tables(in), id, 3, 20));
	check(2, 20, 2);
	end();
}

/* There was no time for a read: it is tried again. */
static void test_busy(void **state)
{
	begin_hurried(3, 0);
	check_unresolved(fake_frame(&fake, 1, 20));
	check_unresolved(fake_frame(&fake, 1, 20));
	reads_in_time = UINT_MAX;
	check(1, 20, 1);
	end();
}

/* Frames returned while there was no time get their name later, and no longer count. */
static void test_named_late(void **state)
{
	const struct profile_tables *tables;
	uint32_t first, other, again, i;

	begin_hurried(3, 0);
	tables = intern_tables(in);
	first = id_of(fake_frame(&fake, 1, 20));
	other = id_of(fake_frame(&fake, 1, 40));
	assert_int_equal(id_of(fake_frame(&fake, 1, 20)), first);
	assert_int_not_equal(first, other);
	assert_true(frame_is_synthetic(tables, first, "<unresolved>"));
	assert_int_equal(symbolizer_stats(sym)->unresolved, 3);
	assert_int_equal(symbolizer_retry(sym), 0);	/* there is still no time */
	assert_true(frame_is_synthetic(tables, other, "<unresolved>"));
	reads_in_time = UINT_MAX;
	assert_int_equal(symbolizer_retry(sym), 0);
	assert_true(frame_is_fake(tables, first, 1, 20));
	assert_true(frame_is_fake(tables, other, 1, 40));
	assert_int_equal(symbolizer_stats(sym)->unresolved, 0);
	/* They keep their ids and names when the tables grow. */
	for (i = 0; i < 1000; i++)
		check(2, 2 * (i % 40), 2);
	again = id_of(fake_frame(&fake, 1, 20));
	assert_true(frame_is_fake(tables, again, 1, 20));
	assert_int_equal(id_of(fake_frame(&fake, 1, 20)), again);
	end();
}

/* A pending frame gets its name from a snapshot, without a read. */
static void test_named_late_by_snapshot(void **state)
{
	uint32_t id;
	size_t len;

	begin_hurried(2, 0);
	id = id_of(fake_frame(&fake, 1, 20));
	len = fake_snapshot(&fake, 1, &raw);
	assert_int_equal(symbolizer_learn(sym, &raw, len), 0);
	assert_int_equal(symbolizer_retry(sym), 0);
	assert_int_equal(fake.reads, 0);
	assert_true(frame_is_fake(intern_tables(in), id, 1, 20));
	assert_int_equal(symbolizer_stats(sym)->unresolved, 0);
	end();
}

/* A pending frame does not get the name of a later code object at its address. */
static void test_too_late_for_a_name(void **state)
{
	struct raw_frame old;
	uint32_t id;

	begin_hurried(3, 0);
	old = fake_frame(&fake, 1, 20);
	id = id_of(old);
	fake_write(&fake, 1, 77);
	reads_in_time = UINT_MAX;
	assert_int_equal(symbolizer_retry(sym), 0);
	assert_true(frame_is_synthetic(intern_tables(in), id, "<unresolved>"));
	check(1, 20, 77);
	assert_true(frame_is_synthetic(intern_tables(in), id, "<unresolved>"));
	assert_int_equal(symbolizer_stats(sym)->unresolved, 1);
	fake.reads = 0;
	assert_int_equal(symbolizer_retry(sym), 0);
	assert_int_equal(fake.reads, 0);	/* it is no longer pending */
	check_unresolved(old);
	end();
}

/* Of more pending frames than PENDING_MAX, only so many get a row of their own. */
static void test_named_late_is_bounded(void **state)
{
	struct raw_frame frame = { .code = 0x10000, .id = 77 };
	uint32_t i;

	begin_hurried(2, 0);
	for (i = 0; i < 10 * PENDING_MAX; i++, frame.code += 16)
		id_of(frame);
	assert_int_equal(intern_tables(in)->frame_cnt, PENDING_MAX + 1);
	for (i = 0; i < KNOWN_MAX; i++, frame.code += 16)	/* the cache is emptied */
		id_of(frame);
	reads_in_time = UINT_MAX;
	assert_int_equal(symbolizer_retry(sym), 0);
	check(1, 20, 1);
	reads_in_time = 0;
	frame = fake_frame(&fake, 0, 20);	/* there is room for pending frames again */
	i = id_of(frame);
	reads_in_time = UINT_MAX;
	assert_int_equal(symbolizer_retry(sym), 0);
	assert_true(frame_is_fake(intern_tables(in), i, 0, 20));
	end();
}

/*
 * There was no time to fill a snapshot's gap, or to read the fingerprint after that: it is tried
 * again. Until then frames have what the snapshot has.
 */
static void test_busy_in_a_gap(void **state)
{
	unsigned int in_time;
	int piece;

	for (piece = 2; piece <= PIECE_TABLE; piece++) {
		for (in_time = 0; !in_time || refused; in_time++) {
			size_t len;

			assert_true(in_time < 16);
			begin_hurried(2, in_time);
			len = fake_snapshot(&fake, 1, &raw);
			(&raw.head_at)[piece].len = 0;
			assert_int_equal(symbolizer_learn(sym, &raw, len), 0);
			if (refused)
				check_without(piece, fake_frame(&fake, 1, 40));
			reads_in_time = UINT_MAX;
			check(1, 20, 1);
			check(1, 60, 1);
			assert_int_equal(symbolizer_stats(sym)->without_lines, 0);
			assert_int_equal(symbolizer_stats(sym)->code_cnt, 1);
			end();
		}
		assert_true(in_time > 2);
	}
}

/* If the gap cannot be filled at the second try either, frames keep what the snapshot has. */
static void test_gone_in_a_gap(void **state)
{
	size_t len;

	begin_hurried(2, 0);
	len = fake_snapshot(&fake, 1, &raw);
	raw.table_at.len = 0;
	assert_int_equal(symbolizer_learn(sym, &raw, len), 0);
	reads_in_time = UINT_MAX;
	fake.err = -EFAULT;
	check_without(PIECE_TABLE, fake_frame(&fake, 1, 20));
	check_without(PIECE_TABLE, fake_frame(&fake, 1, 40));
	assert_in_range(fake.reads, 1, 4);	/* and it is not read for ever */
	end();
}

/* The same without a fingerprint: the snapshot is not used for later frames. */
static void test_busy_without_fingerprint(void **state)
{
	size_t len;

	begin_hurried(2, 0);
	len = fake_snapshot(&fake, 1, &raw);
	raw.id = 0;
	raw.table_at.len = 0;
	assert_int_equal(symbolizer_learn(sym, &raw, len), 0);
	fake_write(&fake, 1, 55);
	check_unresolved((struct raw_frame){ raw.code, 20, 0 });
	reads_in_time = UINT_MAX;
	assert_true(frame_is_fake(intern_tables(in), id_of((struct raw_frame){ raw.code, 20, 0 }),
				  55, 20));
	end();
}

static uint8_t opcode_at(uint32_t lasti)
{
	uint32_t id = id_of(fake_frame(&fake, 0, lasti));

	return intern_tables(in)->frames[id].opcode;
}

static void test_opcodes(void **state)
{
	begin(2);
	assert_int_equal(opcode_at(4), OPCODE_NONE);	/* opcodes were not wanted */
	symbolizer_free(sym);
	fake.img.minor = fake.img.objects.minor = 13;	/* no inline caches to step over */
	sym = symbolizer_new(&fake.img, fake_mem(&fake), in, true);
	fake.mem[fake.img.layout.co_code + 6] = 42;
	assert_int_equal(opcode_at(6), 42);
	assert_int_equal(opcode_at(RAW_LASTI_NONE), OPCODE_NONE);
	fake.err = -ESRCH;
	assert_int_equal(opcode_at(8), OPCODE_NONE);
	end();
}

/* What is quick is what symbolizer_frame() returns; frames that are not known yet end it. */
static void test_known(void **state)
{
	struct raw_frame frames[30];
	uint32_t ids[30], coroutines, i, n, known = 0;

	begin(40);
	for (i = 0; i < 30; i++)
		frames[i] = fake_frame(&fake, i, 14 * (i % 5));
	assert_int_equal(symbolizer_known(sym, frames, 30, ids, &coroutines), 0);
	for (i = 0; i < 20; i++)
		id_of(frames[i]);
	for (i = 0; i < 30; i += n + 1) {
		n = symbolizer_known(sym, &frames[i], 30 - i, &ids[i], &coroutines);
		assert_true(!n || i + n <= 20);
		known += n;
	}
	assert_true(known > 10);
	for (i = 0; i < 20; i++)
		if (symbolizer_known(sym, &frames[i], 1, &ids[i], &coroutines))
			assert_int_equal(ids[i], id_of(frames[i]));
	frames[0].id = 0;	/* without a fingerprint a frame is read each time */
	id_of(frames[0]);
	assert_int_equal(symbolizer_known(sym, frames, 1, ids, &coroutines), 0);
	end();
}

static bool is_coroutine(struct raw_frame frame)
{
	bool coroutine = false;
	uint32_t id;

	assert_int_equal(symbolizer_frame(sym, &frame, &id, &coroutine), 0);
	return coroutine;
}

/* From a snapshot and from the process; also of a frame that is known, or gets its name late. */
static void test_coroutines(void **state)
{
	struct raw_frame frame;
	size_t len;

	begin(4);
	fake_coroutine(&fake, 1);
	fake_coroutine(&fake, 2);
	fake_coroutine(&fake, 3);
	len = fake_snapshot(&fake, 1, &raw);
	assert_int_equal(symbolizer_learn(sym, &raw, len), 0);
	assert_true(is_coroutine(fake_frame(&fake, 1, 8)));
	assert_true(is_coroutine(fake_frame(&fake, 1, 8)));
	assert_false(is_coroutine(fake_frame(&fake, 0, 8)));
	assert_true(is_coroutine(fake_frame(&fake, 2, 8)));
	frame = fake_frame(&fake, 2, 8);
	frame.id = 0;
	assert_true(is_coroutine(frame));
	fake.err = -EBUSY;
	frame = fake_frame(&fake, 3, 8);
	assert_false(is_coroutine(frame));
	fake.err = 0;
	assert_int_equal(symbolizer_retry(sym), 0);
	assert_true(is_coroutine(frame));
	end();
}

/* A sample with frames that get their names late counts once, if one of them is a coroutine's. */
static void test_late_coroutines(void **state)
{
	struct raw_frame frames[4];
	uint32_t i, id;

	begin(80);
	for (i = 0; i < 80; i++)
		fake_coroutine(&fake, i);
	fake_put32(&fake, py_code_layout(12)->flags, 3);	/* the first one is none */
	fake.err = -EBUSY;
	for (i = 0; i < 4; i++) {
		frames[i] = fake_frame(&fake, i, 8);
		assert_int_equal(symbolizer_frame(sym, &frames[i], &id, NULL), 0);
	}
	symbolizer_judge_later(sym, frames, 1);		/* no coroutine */
	symbolizer_judge_later(sym, frames, 3);		/* two */
	symbolizer_judge_later(sym, &frames[1], 1);
	assert_int_equal(symbolizer_stats(sym)->late_coroutines, 0);
	fake.err = 0;
	assert_int_equal(symbolizer_retry(sym), 0);
	assert_int_equal(symbolizer_pending(sym), 0);
	assert_int_equal(symbolizer_stats(sym)->late_coroutines, 2);
	symbolizer_judge_later(sym, frames, 4);
	assert_int_equal(symbolizer_stats(sym)->late_coroutines, 2);
	/* At most 64 of them. */
	fake.err = -EBUSY;
	for (i = 10; i < 80; i++) {
		frames[0] = fake_frame(&fake, i, 8);
		assert_int_equal(symbolizer_frame(sym, &frames[0], &id, NULL), 0);
		symbolizer_judge_later(sym, frames, 1);
	}
	fake.err = 0;
	assert_int_equal(symbolizer_retry(sym), 0);
	assert_int_equal(symbolizer_stats(sym)->late_coroutines, 66);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_process),
		cmocka_unit_test(test_from_snapshot),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_gaps_filled_too_late),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_no_fingerprint),
		cmocka_unit_test(test_learned_late),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_reads_a_second),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_named_late),
		cmocka_unit_test(test_named_late_by_snapshot),
		cmocka_unit_test(test_too_late_for_a_name),
		cmocka_unit_test(test_named_late_is_bounded),
		cmocka_unit_test(test_busy_in_a_gap),
		cmocka_unit_test(test_gone_in_a_gap),
		cmocka_unit_test(test_busy_without_fingerprint),
		cmocka_unit_test(test_bounded_without_fingerprint),
		cmocka_unit_test(test_opcodes),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_coroutines),
		cmocka_unit_test(test_late_coroutines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
