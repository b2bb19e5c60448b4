// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_direct.c - the target's memory is read through the direct map: the records are the same as
 * those by the helper, which reads whatever is not plain memory.
 */
#include "world.h"

#include "bpf/pystate.bpf.h"
#include "page_tables.h"

#define PAGE 4096ull
#define HIGH_47 (1ull << 47)
#define HIGH_51 (1ull << 51)
#define SPECIAL (1ull << 9)
/* Not every load of an entry changes, and fewer with sanitizers, which are slow. */
#ifdef __SANITIZE_ADDRESS__
#define STRIDE 37
#else
#define STRIDE 7
#endif

extern const volatile unsigned int cfg_event_every;

static struct world w;
static struct task_struct idle_task;

/* What one tick or switch has sent, and what it has read. */
struct seen {
	u8 bytes[1 << 18];
	size_t len;
	u64 reads, loads;
	u64 counters[CNT_BUSY + 1];	/* before; and from keep_records() on, what was counted */
};
static struct seen by_helper, direct;

/* Forget what the machine knows of the process, so that it begins anew. */
static void forget(void)
{
	u32 zero = 0;

	memset(bpf_map_lookup_elem(&sent_codes, &zero), 0, SENT_SLOTS * sizeof(u64));
	memset(bpf_map_lookup_elem(&scratches, &zero), 0, sizeof(struct scratch));
	memset(bpf_map_lookup_elem(&code_caches, &zero), 0, sizeof(struct code_cache));
	world_put_proc(&w);
	host.now_ns = 1000000;
}

static void keep_counters(struct seen *seen)
{
	int i;

	for (i = 0; i <= CNT_BUSY; i++)
		seen->counters[i] = host_counter(i);
}

static void keep_records(struct seen *seen)
{
	int i;

	seen->len = 0;
	for (i = 0; i < host.record_cnt; i++) {
		assert_true(seen->len + host.records[i].len <= sizeof(seen->bytes));
		memcpy(seen->bytes + seen->len, host.records[i].data, host.records[i].len);
		seen->len += host.records[i].len;
	}
	seen->reads = host.reads;
	seen->loads = page_tables.loads;
	for (i = 0; i <= CNT_BUSY; i++)
		seen->counters[i] = host_counter(i) - seen->counters[i];
}

/* The second of two ticks of a new machine: the first one has sent the code objects. */
static void tick_twice(struct seen *seen)
{
	forget();
	keep_counters(seen);
	host_tick();
	host.now_ns = 2000000;
	page_tables.loads = 0;
	host_tick();
	keep_records(seen);
}

static void tick_once(struct seen *seen)
{
	forget();
	keep_counters(seen);
	page_tables.loads = 0;
	host_tick();
	keep_records(seen);
}

static void tick_by_helper(void (*tick)(struct seen *seen))
{
	direct_map.base = 0;
	tick(&by_helper);
	assert_int_equal(by_helper.loads, 0);
}

static void assert_same(void)
{
	assert_int_equal(direct.len, by_helper.len);
	assert_memory_equal(direct.bytes, by_helper.bytes, direct.len);
	assert_memory_equal(direct.counters, by_helper.counters, sizeof(direct.counters));
}

/* A tick by the helper and one through these tables, whose records must be the same. */
static void compare(int levels, u64 encrypted, void (*tick)(struct seen *seen))
{
	tick_by_helper(tick);
	page_tables_build(levels, encrypted);
	tick(&direct);
	assert_same();
}

/* The same, through tables that the test has built, and perhaps changed. */
static void compare_built(void (*tick)(struct seen *seen))
{
	u64 base = direct_map.base;

	tick_by_helper(tick);
	direct_map.base = base;
	tick(&direct);
	assert_same();
}

/* A switch-out, as tick_twice(). */
static void switch_twice(struct seen *seen)
{
	int i;

	forget();
	keep_counters(seen);
	host.user_regs.orig_ax = host.user_regs.syscallno = 0;
	host.task.__state = 1;
	for (i = 0; i < 2; i++) {
		host_drop_records();
		host.now_ns = 2000000 * (i + 1);
		host.reads = 0;
		page_tables.loads = 0;
		host_on_switch(false, &host.task, &idle_task);
		if (i)
			keep_records(seen);
		host_on_switch(false, &idle_task, &host.task);
	}
}

static const struct direct *scratch_direct(void)
{
	u32 zero = 0;

	return &((struct scratch *)bpf_map_lookup_elem(&scratches, &zero))->direct;
}

/*
 * The reads by the helper that are left when all the rest is read directly: thread_pointer() looks
 * for arm64's, which this machine is, too.
 */
#define READS_LEFT 1

/* ---- the same sample ---- */

static void compare_rich(int build, int levels, u64 encrypted)
{
	world_rich(&w, build);
	compare(levels, encrypted, tick_once);	/* sends the code objects, by the helper */
	assert_true(direct.loads > 0);
	assert_true(direct.reads < by_helper.reads);
	compare(levels, encrypted, tick_twice);
	assert_true(direct.len > 0);
	assert_int_equal(direct.reads, READS_LEFT);
	assert_true(by_helper.reads > 20);
	compare(levels, encrypted, switch_twice);
	assert_int_equal(direct.reads, READS_LEFT);
}

static void test_frames_on_the_heap(void **state)
{
	int minor;

	for (minor = LAYOUT_MINOR_MIN; minor <= 10; minor++)
		compare_rich(minor, 4, 0);
}

static void test_data_stack(void **state)
{
	int minor;

	for (minor = 11; minor <= LAYOUT_MINOR_MAX; minor++)
		compare_rich(minor, 4, 0);
}

static void test_other_builds(void **state)
{
	compare_rich(12 + TRACE_REFS, 4, 0);
	compare_rich(13 + FREE_THREADED, 4, 0);
	compare_rich(14 + FREE_THREADED, 4, 0);
}

static void test_five_levels(void **state)
{
	int minor;

	EACH_MINOR(minor)
		compare_rich(minor, 5, 0);
}

/* AMD's memory encryption sets a bit in all entries. */
static void test_encrypted(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		compare_rich(minor, 4, HIGH_47);
		compare_rich(minor, 4, HIGH_51);
		compare_rich(minor, 5, HIGH_51);
	}
}

/* The thread state, code objects and frames are on large pages. */
static void test_large_pages(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		world_rich(&w, minor);
		page_tables_build(4, 0);
		page_tables_join(W_TSTATE & -TABLE_MIB2, TABLE_MIB2);
		page_tables_join(W_STRINGS & -TABLE_MIB2, TABLE_MIB2);
		page_tables_join(W_CODES & -TABLE_GIB, TABLE_GIB);
		page_tables_join(W_CHUNK & -TABLE_GIB, TABLE_GIB);
		page_tables_join(W_HEAP & -TABLE_GIB, TABLE_GIB);
		/* A bit that says more of a large page, where a small one has its address. */
		*page_tables_entry(W_TSTATE, TABLE_MIB2) |= 1 << 12;
		*page_tables_entry(W_CODES, TABLE_GIB) |= 1 << 12;
		compare_built(tick_twice);
		assert_int_equal(direct.reads, READS_LEFT);
		compare_built(tick_once);
	}
}

/* ---- what is left to the helper ---- */

/* The pages that a sample needs; what they need in place of a direct read is at least one read. */
static const u64 needed[] = { W_TSTATE, W_CODES };

/* One entry on the way to a page is changed by flipping these bits: the helper reads. */
static void flip(int levels, u64 encrypted, u64 bits, u64 up_to)
{
	u64 bytes;
	int minor;
	size_t i;

	EACH_MINOR(minor) {
		world_rich(&w, minor);
		for (i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
			for (bytes = PAGE; bytes <= up_to; bytes *= 512) {
				page_tables_build(levels, encrypted);
				*page_tables_entry(needed[i], bytes) ^= bits;
				compare_built(tick_once);
				compare_built(tick_twice);
				/* A cached code object may need no read. */
				if (needed[i] == W_TSTATE)
					assert_true(direct.reads > READS_LEFT);
			}
		}
	}
}

/* In swap, for example: nothing says that the helper cannot read it. */
static void test_not_present(void **state)
{
	flip(4, 0, ENTRY_PRESENT, 1ull << 39);
	flip(5, 0, ENTRY_PRESENT, 1ull << 48);
}

static void test_not_of_user_space(void **state)
{
	flip(4, 0, ENTRY_USER, 1ull << 39);
	flip(5, 0, ENTRY_USER, 1ull << 48);
}

/* Of a device, for example. */
static void test_special(void **state)
{
	flip(4, 0, SPECIAL, PAGE);
}

/* No memory is there; or it is encrypted, and is not known to be; or the reverse. */
static void test_high_bits(void **state)
{
	int bit;

	for (bit = 47; bit <= 51; bit++)
		flip(4, 0, 1ull << bit, 1ull << 39);
	flip(4, HIGH_51, HIGH_51, 1ull << 39);
	flip(4, HIGH_51, HIGH_47, 1ull << 39);
	flip(5, 0, HIGH_51, 1ull << 48);
}

/* A page that nobody has mapped: both fail in the same way. */
static void test_unmapped(void **state)
{
	static const u64 gone[] = { W_TSTATE, W_CODES, W_STRINGS, W_HEAP, W_INTERP, W_RUNTIME };
	int minor;
	size_t i;

	EACH_MINOR(minor) {
		for (i = 0; i < sizeof(gone) / sizeof(*gone); i++) {
			world_rich(&w, minor);
			host_mem_unmap(gone[i], 4096);
			compare(4, 0, tick_once);
		}
		for (i = 0; i < WORLD_RICH_FRAMES; i++) {
			world_rich(&w, minor);
			host_mem_unmap(w.at[i], 4096);
			compare(4, 0, tick_once);
		}
	}
}

/* ---- pages that change ---- */

static struct {
	u64 entry_at;		/* of this entry ... */
	u64 *entry;
	u64 bits;		/* ... these bits are others ... */
	int load;		/* ... when it is loaded for the n-th time (from 1) */
	bool is_now;
} change;

static void change_entry(u64 addr)
{
	if (change.is_now)
		*change.entry ^= change.bits;
	change.is_now = addr == change.entry_at && change.load && !--change.load;
	if (change.is_now)
		*change.entry ^= change.bits;
}

/* Returns the number of reads by the helper of a tick in which the entry of addr changes. */
static u64 tick_with_change(u64 addr, int load, u64 bits)
{
	page_tables_build(4, 0);
	change.entry_at = page_tables_entry_at(addr, PAGE);
	change.entry = page_tables_entry(addr, PAGE);
	change.bits = bits;
	change.load = 0;
	change.is_now = false;
	forget();
	keep_counters(&direct);
	host_tick();
	host.now_ns = 2000000;
	change.load = load;
	page_tables.before_load = change_entry;
	host_tick();
	keep_records(&direct);
	assert_int_equal(change.load, 0);	/* it has happened */
	return direct.reads;
}

/*
 * The first load of an entry finds the page, each other one checks it after it was read. So a
 * change before the second one makes the first read void.
 */
static void test_page_changes(void **state)
{
	/* The address of the first byte of each: another page's. */
	static const u64 changes[] = { ENTRY_PRESENT, ENTRY_USER, 1ull << 13, 1ull << 20 };
	int minor;
	size_t i;

	EACH_MINOR(minor) {
		world_rich(&w, minor);
		tick_by_helper(tick_twice);
		for (i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
			assert_true(tick_with_change(W_TSTATE, 2, changes[i]) > READS_LEFT);
			assert_same();
			assert_true(tick_with_change(w.top, 2, changes[i]) > READS_LEFT);
			assert_same();
		}
	}
}

/* The CPU notes that a page was accessed or written to; a fork takes the right to write to it. */
static void test_page_is_used(void **state)
{
	static const u64 changes[] = { ENTRY_ACCESSED, ENTRY_DIRTY, ENTRY_WRITE };
	int minor;
	size_t i;

	EACH_MINOR(minor) {
		world_rich(&w, minor);
		tick_by_helper(tick_twice);
		for (i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
			assert_int_equal(tick_with_change(W_TSTATE, 2, changes[i]), READS_LEFT);
			assert_same();
			assert_int_equal(tick_with_change(w.top, 2, changes[i]), READS_LEFT);
			assert_same();
		}
	}
}

static struct {
	u64 *entry;		/* is another one now; NULL: none is */
	u64 bits, loads;	/* before so many loads of entries of pages, from 1 */
} once;

static void change_once(u64 addr)
{
	u64 *entry = page_tables_loaded(addr);

	if (once.entry)
		*once.entry ^= once.bits;
	once.entry = NULL;
	if (!entry || !(*entry & ENTRY_DIRTY) || !once.loads || --once.loads)
		return;
	*entry ^= once.bits;
	once.entry = entry;
}

/* One load of an entry, whichever it is, finds another one. Nothing that was read so is used. */
static void test_any_page_changes(void **state)
{
	/* The second page is a whole one of zeros. */
	static const u64 changes[] = { ENTRY_PRESENT, PAGE };
	int minor;
	u64 n;
	size_t i;

	EACH_MINOR(minor) {
		world_rich(&w, minor);
		tick_by_helper(tick_once);
		page_tables_build(4, 0);
		page_tables.before_load = change_once;
		for (i = 0; i < 2; i++) {
			once.bits = changes[i];
			once.loads = 0;
			for (n = 1; !once.loads; n += STRIDE) {
				once.loads = n;
				tick_once(&direct);
				assert_same();
			}
			assert_true(n > 100);
		}
	}
}

/* ---- objects that are on two pages ---- */

/* Move the thread state to this address. */
static void move_state(u64 to)
{
	const struct py_layout *l = &w.img.layout;
	u8 bytes[2048];
	u64 word;
	u32 i;

	assert_int_equal(host_mem_read(NULL, W_TSTATE, bytes, sizeof(bytes)), 0);
	host_mem_map(to, sizeof(bytes));
	for (i = 0; i < sizeof(bytes); i += 8) {	/* pointers into itself, but to frames */
		memcpy(&word, bytes + i, 8);
		if (word - W_TSTATE < sizeof(bytes) && word != W_ROOT_CFRAME)
			word += to - W_TSTATE;
		memcpy(bytes + i, &word, 8);
	}
	host_mem_write(to, bytes, sizeof(bytes));
	host_mem_put64(W_TP - 64, to);
	host_mem_put64(W_TP + W_TSS + 16 * 3 + 8, to);
	host_mem_put64(W_INTERP + l->interp_threads_head, to);
	if (l->interp_threads_main != ABI_NO_OFF32)
		host_mem_put64(W_INTERP + l->interp_threads_main, to);
	if (l->gil_how == PY_GIL_RT_CURRENT)
		host_mem_put64(w.proc.current, to);
}

/* Is a word that a walk needs of the state on both pages? */
static bool has_word_on_both(u64 on_first)
{
	const struct py_layout *l = &w.img.layout;
	const u32 words[] = {
		l->ts_interp, l->ts_frame, l->ts_datastack, l->ts_gil, l->ts_gil_requested,
		l->ts_exc_current, l->ts_exc_info, l->ts_exc_state,
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i] != ABI_NO_OFF && words[i] < on_first && words[i] + 8 > on_first)
			return true;
	return false;
}

static void test_state_on_two_pages(void **state)
{
	u64 page = W_TSTATE + 16 * PAGE, on_first;
	int minor;

	EACH_MINOR(minor) {
		for (on_first = 4; on_first < 600; on_first += 12) {
			world_rich(&w, minor);
			move_state(page - on_first);
			compare(4, 0, tick_twice);
			assert_int_equal(direct.reads, READS_LEFT + has_word_on_both(on_first));
		}
	}
}

/* The second page of a state is not there, or changes. */
static void test_second_page_of_state(void **state)
{
	u64 page = W_TSTATE + 16 * PAGE;
	int minor;

	EACH_MINOR(minor) {
		world_rich(&w, minor);
		move_state(page - 16);
		tick_by_helper(tick_twice);
		assert_true(tick_with_change(page, 2, ENTRY_PRESENT) > READS_LEFT);
		assert_same();
		page_tables_build(4, 0);
		*page_tables_entry(page, PAGE) = 0;
		compare_built(tick_twice);
		assert_true(direct.reads > READS_LEFT);
	}
}

/* Frames at every place around the end of a page. */
static void test_frame_on_two_pages(void **state)
{
	u64 page = W_HEAP + 0x700000, others = 0;
	int minor, off;

	EACH_MINOR(minor) {
		for (off = 0; off < 160; off += 8) {
			world_init(&w, minor);
			world_recurse(&w, 3);
			host_mem_map(page - PAGE, 2 * PAGE);
			world_push_at(&w, page - off, OWNER_GENERATOR, 0, 8);
			world_recurse(&w, 3);
			compare(4, 0, tick_twice);
			assert_true(direct.reads < by_helper.reads);
			if (!off)	/* on one page: the helper reads other things only */
				others = direct.reads;
			assert_int_equal(direct.reads, others);
			world_sample();
		}
	}
}

/* ---- hostile targets ---- */

static void test_hostile_frame(void **state)
{
	const u64 frames[] = {
		1, 7, 4095, 1ull << 46, (1ull << 47) - 64, (1ull << 47) - 8, 1ull << 47,
		1ull << 48, W_HEAP | 1ull << 47, W_HEAP | 1ull << 48, W_HEAP | 1ull << 56,
		W_HEAP | 1ull << 63, 0x8000000000000000ull, 0xffff800000000000ull,
		0xffff8a1240000000ull + TABLES_GIB * TABLE_GIB, 0xffffffff81000000ull,
		UINT64_MAX - 4095, UINT64_MAX - 63, UINT64_MAX - 7, UINT64_MAX,
	};
	int minor, levels;
	size_t i;

	EACH_MINOR(minor) {
		for (i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
			for (levels = 4; levels <= 5; levels++) {
				world_rich(&w, minor);
				host_mem_put64(w.at[30] + w.img.layout.fr_base +
						       w.img.layout.fr_previous, frames[i]);
				compare(levels, 0, tick_twice);
				world_set_frame(&w, frames[i]);
				compare(levels, 0, tick_twice);
				host_mem_put64(W_TSTATE + w.img.layout.ts_frame, frames[i]);
				compare(levels, 0, tick_twice);
			}
		}
	}
}

/*
 * A process may say that a field of a code object is where none is. Nothing is read directly that
 * is far from the object: behind its page is another process' memory.
 */
static void test_hostile_code_offset(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		world_rich(&w, minor);
		w.proc.l.co_qualname = w.proc.l.co_filename + FIELD_MASK + 1;
		compare(4, 0, tick_once);
		compare(4, 0, tick_twice);
	}
}

/* A process with five levels can have memory that four do not reach: the helper reads it. */
static void test_above_2_47(void **state)
{
	u64 at = (1ull << 47) + W_HEAP + 0x3000;
	int minor, levels;

	EACH_MINOR(minor) {
		for (levels = 4; levels <= 5; levels++) {
			world_rich(&w, minor);
			host_mem_map(at, PAGE);
			world_push_at(&w, at, OWNER_GENERATOR, 0, 8);
			world_recurse(&w, 2);
			compare(levels, 0, tick_twice);
			assert_true(direct.reads > READS_LEFT);
			assert_int_equal(world_sample()->nframes, WORLD_RICH_FRAMES + 3);
		}
	}
}

/* ---- pages of the same place in struct direct ---- */

/*
 * A frame's page takes the place of another one, but cannot be read directly. Then the place has
 * neither.
 */
static void test_special_page_in_same_place(void **state)
{
	u64 page = W_HEAP + 0x700000, other = page + DIRECT_PAGES * PAGE;
	int minor, i;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		for (i = 0; i < 3; i++)
			world_code(&w);
		host_mem_map(page, PAGE);
		host_mem_map(other, PAGE);
		world_push_at(&w, page + 256, OWNER_GENERATOR, 0, 8);
		world_push_at(&w, other + 512, OWNER_GENERATOR, 1, 12);
		world_push_at(&w, page + 1024, OWNER_GENERATOR, 2, 16);
		page_tables_build(4, 0);
		*page_tables_entry(other, PAGE) |= SPECIAL;
		compare_built(tick_twice);
		world_expect(&w, 3, 0);
	}
}

/*
 * The end of a name is on a page that takes the place of the name's own one. So nobody can say any
 * more whether that has changed.
 */
static void test_end_of_name_in_same_place(void **state)
{
	u64 str = W_STRINGS + 0x4000000 + 64, other = W_STRINGS + 0x5000000 + 64, tail;
	char text[3 * DIRECT_PAGES * PAGE / 2];
	int minor;

	memset(text, 'x', sizeof(text));
	for (minor = LAYOUT_MINOR_MIN; minor <= 11; minor++) {
		const struct py_object_layout *o = &w.img.objects;

		world_init(&w, minor);
		world_code(&w);
		host_mem_map(str, sizeof(text) + PAGE);
		tail = (str & -PAGE) + DIRECT_PAGES * PAGE + 1024;
		text[tail - str - o->str_ascii_data - 1] = '\0';
		world_string_at(&w, str, text);
		host_mem_map(other, sizeof(text) + PAGE);
		text[3] = 'y';
		world_string_at(&w, other, text);
		text[3] = text[tail - str - o->str_ascii_data - 1] = 'x';
		host_mem_put64(W_CODES + w.img.layout.co_name, str);
		host_mem_put64(W_CODES + w.img.layout.co_qualname, str);
		w.code_ids[0] = world_code_identity(&w, 0);
		world_push(&w, OWNER_THREAD, 0, 8);
		tick_by_helper(tick_twice);
		page_tables_build(4, 0);
		tick_with_change(str, 1, *page_tables_entry(str, PAGE) ^
						 *page_tables_entry(other, PAGE));
		assert_same();
		world_expect(&w, 1, 0);
	}
}

/* ---- who reads directly ---- */

static void test_forgotten_at_the_end(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		world_rich(&w, minor);
		page_tables_build(4, 0);
		tick_once(&direct);
		assert_true(direct.loads > 0);
		assert_int_equal(scratch_direct()->table, 0);
		switch_twice(&direct);
		assert_int_equal(scratch_direct()->table, 0);
		host_mem_unmap(W_TSTATE, PAGE);	/* a walk that fails */
		page_tables_build(4, 0);
		host_tick();
		assert_int_equal(scratch_direct()->table, 0);
	}
}

/* read_first() also reads the interpreter's counter of code objects. */
static u32 has_counter(void)
{
	return w.img.layout.interp_epoch != ABI_NO_OFF32;
}

/* A program that has not asked for it does not, even where a tick has found the pages. */
static void test_not_without_begin(void **state)
{
	const unsigned int every = 1;
	int minor;

	EACH_MINOR(minor) {
		world_rich(&w, minor);
		page_tables_build(4, 0);
		tick_twice(&direct);
		page_tables.loads = host.reads = 0;
		assert_int_equal(read_words(W_TSTATE, 4), 0);
		assert_int_equal(read_state(W_TSTATE), 0);
		assert_int_equal(host.reads, 2 + has_counter());
		host_set(&cfg_event_every, &every, sizeof(every));
		host_drop_records();
		host.now_ns += 1000000;
		on_event_tracepoint(NULL);
		assert_true(host.reads > 4);
		assert_int_equal(page_tables.loads, 0);
	}
}

/* A thread without memory of its own has no tables, and its process may have no pages. */
static void test_without_tables(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		world_rich(&w, minor);
		page_tables_build(4, 0);
		host.mm.pgd = NULL;
		compare_built(tick_once);
		assert_int_equal(direct.reads, by_helper.reads);
	}
}

/* ---- where the direct map begins ---- */

static struct direct_trial trial;

static int find(u64 below)
{
	direct_map.base = direct_map.encrypted = 0;
	trial.below = below;
	return find_direct_map(&trial);
}

static void look_for_base(int levels, u64 encrypted)
{
	u64 below, lowest = levels == 4 ? 0xffff888000000000ull : 0xff11000000000000ull, top;

	host_reset();
	host_mem_map(W_HEAP, PAGE);
	host_mem_put64(W_HEAP, 0x123456789abcdef);
	page_tables_build(levels, encrypted);
	top = (u64)host.mm.pgd & -TABLE_GIB;
	trial = (struct direct_trial){ .addr = W_HEAP, .word = 0x123456789abcdef,
				       .encrypted = encrypted };
	for (below = 0; below < 40; below++) {
		assert_int_equal(find(below), below == TABLES_GIB);
		assert_int_equal(direct_map.base, below == TABLES_GIB ? page_tables_base() : 0);
		assert_int_equal(direct_map.encrypted, below == TABLES_GIB ? encrypted : 0);
	}
	below = (top - lowest) / TABLE_GIB;
	assert_int_equal(find(below), 0);
	assert_true(find(below + 1) < 0);
	trial.word++;			/* another word is there */
	assert_int_equal(find(TABLES_GIB), 0);
	trial.word--;
	trial.encrypted = HIGH_47 | HIGH_51;
	assert_int_equal(find(TABLES_GIB), 0);
	assert_int_equal(direct_map.base, 0);
}

static void test_find_base(void **state)
{
	look_for_base(4, 0);
	look_for_base(4, HIGH_47);
	look_for_base(4, HIGH_51);
	look_for_base(5, 0);
	look_for_base(5, HIGH_51);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_on_the_heap),
		cmocka_unit_test(test_data_stack),
		cmocka_unit_test(test_other_builds),
		cmocka_unit_test(test_five_levels),
		cmocka_unit_test(test_encrypted),
		cmocka_unit_test(test_large_pages),
		cmocka_unit_test(test_not_present),
		cmocka_unit_test(test_not_of_user_space),
		cmocka_unit_test(test_special),
		cmocka_unit_test(test_high_bits),
		cmocka_unit_test(test_unmapped),
		cmocka_unit_test(test_page_changes),
		cmocka_unit_test(test_page_is_used),
		cmocka_unit_test(test_any_page_changes),
		cmocka_unit_test(test_state_on_two_pages),
		cmocka_unit_test(test_second_page_of_state),
		cmocka_unit_test(test_frame_on_two_pages),
		cmocka_unit_test(test_hostile_frame),
		cmocka_unit_test(test_hostile_code_offset),
		cmocka_unit_test(test_above_2_47),
		cmocka_unit_test(test_special_page_in_same_place),
		cmocka_unit_test(test_end_of_name_in_same_place),
		cmocka_unit_test(test_forgotten_at_the_end),
		cmocka_unit_test(test_not_without_begin),
		cmocka_unit_test(test_without_tables),
		cmocka_unit_test(test_find_base),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
