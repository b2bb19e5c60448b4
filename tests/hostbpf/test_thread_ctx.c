// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_thread_ctx.c - the thread context (OTEP 4947) that is read with a sample: where a thread's
 * pointer to it can be, what is sent of it, and what a hostile one costs.
 */
#include "world.h"

#define RECORD  (W_HEAP + 0x600000)
#define DTV     (W_HEAP + 0x610800)
#define BLOCK   (W_HEAP + 0x620000)
#define DEPTH   5u

static struct world w;
static struct task_struct idle_task;

/* What a writer publishes. */
struct published {
	u8 trace_id[16], span_id[8], valid, flags;
	u16 attrs_bytes;
	u8 attrs[700];
};

static void set_cfg(bool on)
{
	host_set(&cfg_trace_context, &on, sizeof(on));
}

static struct published make(u16 attrs_bytes)
{
	struct published p = { .valid = 1, .flags = 1, .attrs_bytes = attrs_bytes };
	u32 i;

	for (i = 0; i < 16; i++)
		p.trace_id[i] = i + 1;
	for (i = 0; i < 8; i++)
		p.span_id[i] = 0xa0 + i;
	for (i = 0; i < sizeof(p.attrs); i++)
		p.attrs[i] = i;
	return p;
}

static void put(const struct published *p)
{
	host_mem_map(RECORD, 4096);
	host_mem_write(RECORD, p, sizeof(*p));
}

/* A process whose thread has its pointer at a fixed place. */
static void begin(void)
{
	world_init(&w, 13);
	world_recurse(&w, DEPTH);
	w.proc.trace = (struct thread_ctx_place){ .how = THREAD_CTX_TP, .off = -128 };
	world_put_proc(&w);
	host_mem_put64(W_TP - 128, RECORD);
	set_cfg(true);
}

/* The sample of a tick, and the context behind it, or NULL. *len: its bytes. */
static const struct raw_trace *trace(size_t *len)
{
	const struct raw_sample *s;
	size_t size;
	int i = 0;

	host_tick();
	s = host_record(RAW_SAMPLE, &i, &size);
	assert_non_null(s);
	world_check_frames(&w, s, DEPTH);
	*len = size - raw_sample_bytes(s->nframes, s->flags);
	if (!(s->flags & RAW_TRACED)) {
		assert_int_equal(*len, 0);
		return NULL;
	}
	assert_true(*len >= RAW_TRACE_HEAD);
	return (const void *)((const u8 *)s + raw_sample_bytes(s->nframes, s->flags));
}

static void expect(const struct published *p, u16 attrs_bytes)
{
	size_t len;
	const struct raw_trace *t = trace(&len);

	assert_non_null(t);
	assert_int_equal(len, RAW_TRACE_HEAD + attrs_bytes);
	assert_memory_equal(t->trace_id, p->trace_id, 16);
	assert_memory_equal(t->span_id, p->span_id, 8);
	assert_int_equal(t->valid, 1);
	assert_int_equal(t->flags, p->flags);
	assert_int_equal(t->attrs_bytes[0] | t->attrs_bytes[1] << 8, attrs_bytes);
	assert_memory_equal(t->attrs, p->attrs, attrs_bytes);
}

static void expect_none(void)
{
	size_t len;

	assert_null(trace(&len));
}

static void test_sizes(void **state)
{
	static const u16 sizes[] = { 0, 1, 35, 67, 68, 69, 611, 612 };
	struct published p;
	size_t i;

	begin();
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		p = make(sizes[i]);
		put(&p);
		expect(&p, sizes[i]);
	}
	/* The longest record with the deepest stack. */
	world_recurse(&w, ABI_MAX_FRAMES - DEPTH);
	host_tick();
	i = 0;
	assert_non_null(host_record(RAW_SAMPLE, &(int){ 0 }, &i));
	assert_int_equal(i, raw_sample_bytes(ABI_MAX_FRAMES, 0) + RAW_TRACE_HEAD + 612);
}

/* Switched off, not announced, and without a context. */
static void test_none(void **state)
{
	struct published p = make(10);

	begin();
	put(&p);
	expect(&p, 10);
	set_cfg(false);
	expect_none();
	set_cfg(true);
	w.proc.trace.how = THREAD_CTX_NONE;
	world_put_proc(&w);
	expect_none();
	begin();
	host_mem_put64(W_TP - 128, 0);
	expect_none();
	/* No ids: none is active. */
	host_mem_put64(W_TP - 128, RECORD);
	memset(&p, 0, 24);
	put(&p);
	expect_none();
	p.span_id[7] = 1;
	put(&p);
	expect(&p, 10);
}

/* The writer was interrupted: the flag says so. */
static void test_torn(void **state)
{
	struct published p = make(10);
	u32 valid;

	begin();
	for (valid = 0; valid < 256; valid++) {
		p.valid = valid;
		put(&p);
		if (valid == 1)
			expect(&p, 10);
		else
			expect_none();
	}
}

static void test_dtv(void **state)
{
	static const u8 hows[] = { THREAD_CTX_DTV, THREAD_CTX_DTV_MUSL };
	struct published p = make(3);
	u32 i, module, entry;

	for (i = 0; i < 2; i++) {
		entry = hows[i] == THREAD_CTX_DTV ? 16 : 8;
		for (module = 1; module < 40; module += 13) {
			begin();
			put(&p);
			w.proc.trace = (struct thread_ctx_place){ .how = hows[i], .off = 0x110,
								  .module = module };
			world_put_proc(&w);
			host_mem_map(DTV - 4096, 2 * 4096);
			host_mem_map(BLOCK, 4096);
			host_mem_put64(W_TP + (entry == 8 && W_DTV == 0 ? -8ull : W_DTV), DTV);
			host_mem_put64(DTV - 16, 39);
			host_mem_put64(DTV + entry * module, BLOCK);
			host_mem_put64(BLOCK + 0x110, RECORD);
			expect(&p, 3);
			expect(&p, 3);		/* by the cache */
			/* Another thread, which has not used the module yet. */
			host.task.pid++;
			host_mem_put64(DTV + entry * module, -1ull);
			expect_none();
			host_mem_put64(DTV + entry * module, 0);
			expect_none();
			/* The thread's DTV ends before it. */
			host_mem_put64(DTV + entry * module, BLOCK);
			host_mem_put64(DTV - 16, module - 1);
			if (entry == 16 && module > 14)
				expect_none();
			else
				expect(&p, 3);
		}
	}
}

/* What the cache knows of a thread is not used for another thread, program or place. */
static void test_slots_are_cached(void **state)
{
	struct published p = make(3), other = make(5);
	u64 dtv_reads;

	begin();
	put(&p);
	w.proc.trace = (struct thread_ctx_place){ .how = THREAD_CTX_DTV, .module = 2 };
	world_put_proc(&w);
	host_mem_map(DTV, 4096);
	host_mem_map(BLOCK, 4096);
	host_mem_put64(W_TP + W_DTV, DTV);
	host_mem_put64(DTV + 32, BLOCK);
	host_mem_put64(BLOCK, RECORD);
	expect(&p, 3);
	expect(&p, 3);
	dtv_reads = host.reads;
	/* The thread works on something else. */
	host_mem_map(RECORD + 0x1000, 4096);
	host_mem_write(RECORD + 0x1000, &other, sizeof(other));
	host_mem_put64(BLOCK, RECORD + 0x1000);
	expect(&other, 5);
	assert_int_equal(host.reads, dtv_reads);
	/* Another place. */
	host_mem_put64(BLOCK + 8, RECORD);
	world_proc()->trace.off = 8;
	expect(&p, 3);
	assert_int_equal(host.reads, dtv_reads + 2);
	/* Another program. */
	host_mem_put64(DTV + 32, BLOCK + 16);
	host_mem_put64(BLOCK + 24, RECORD + 0x1000);
	expect(&p, 3);
	world_proc()->ident += 2;
	expect(&other, 5);
	/* Another thread, with a tid that has the same place in the cache. */
	host_mem_put64(DTV + 32, BLOCK);
	host.task.pid += 64;
	expect(&p, 3);
}

static void test_thread_pointer_unknown(void **state)
{
	struct published p = make(3);

	begin();
	put(&p);
	host.task.THREAD_POINTER = 0;
	expect_none();		/* its stack is found in another way */
}

/* Pointers to nowhere, and a record that ends with its page. */
static void test_faults(void **state)
{
	static const u64 nowhere[] = { 1, 0xdead0000, -1ull, 1ull << 47, 0xffffffff81000000ull };
	struct published p = make(20);
	size_t i;

	begin();
	for (i = 0; i < 5; i++) {
		host_mem_put64(W_TP - 128, nowhere[i]);
		expect_none();
	}
	/* 28 + 20 bytes to the page's end. */
	host_mem_map(RECORD, 4096);
	host_mem_unmap(RECORD + 4096, 4096);
	host_mem_write(RECORD + 4096 - 48, &p, 48);
	host_mem_put64(W_TP - 128, RECORD + 4096 - 48);
	expect(&p, 20);
	/* Attributes that are not there: the ids are. */
	p.attrs_bytes = 21;
	host_mem_write(RECORD + 4096 - 48, &p, 48);
	expect(&p, 0);
	/* A place that is nowhere. */
	w.proc.trace.off = 1ll << 40;
	world_put_proc(&w);
	expect_none();
}

/* Attributes that never end are cut; a record says at most 64 KiB of itself. */
static void test_endless_attributes(void **state)
{
	static const u16 sizes[] = { 613, 700, 0x7fff, 0x8000, 0xffff };
	struct published p;
	size_t i;

	begin();
	for (i = 0; i < 5; i++) {
		p = make(sizes[i]);
		put(&p);
		expect(&p, RAW_TRACE_ATTRS);
	}
}

/* Whichever read fails: the sample comes, and a context with it is whole. */
static void test_each_read_fails(void **state)
{
	struct published p = make(200);
	const struct raw_sample *s;
	u64 without, reads, i;
	size_t len;

	begin();
	put(&p);
	set_cfg(false);
	expect_none();		/* sends the code objects */
	expect_none();
	without = host.reads;
	set_cfg(true);
	expect(&p, 200);
	reads = host.reads;
	/* Arm64's check of the thread pointer, the pointer, the head, all attributes. */
	assert_int_equal(reads - without, 4);
	for (i = without + 1; i <= reads + 2; i++) {
		int at = 0;

		host.fail_read = i;
		host_tick();
		s = host_record(RAW_SAMPLE, &at, &len);
		assert_non_null(s);
		assert_int_equal(s->nframes, DEPTH);
		len -= raw_sample_bytes(s->nframes, s->flags);
		assert_true(!(s->flags & RAW_TRACED) ? !len :
			    len == RAW_TRACE_HEAD || len == RAW_TRACE_HEAD + 200);
	}
	host.fail_read = 0;
}

static void test_switch_out(void **state)
{
	struct published p = make(12);
	const struct raw_sample *s;
	size_t len;
	int i;

	begin();
	put(&p);
	host.user_regs.orig_ax = host.user_regs.syscallno = 0;
	host.task.stack = NULL;
	host.task.__state = 1;
	host_drop_records();
	host_on_switch(false, &host.task, &idle_task);
	i = 0;
	s = host_record(RAW_SWITCH_OUT, &i, &len);
	assert_non_null(s);
	assert_true(s->flags & RAW_TRACED);
	assert_int_equal(len, raw_sample_bytes(s->nframes, s->flags) + RAW_TRACE_HEAD + 12);
	/* One that is not walked has none: it is a guess. */
	host_mem_unmap(W_TSTATE, 4096);
	host_drop_records();
	host_on_switch(false, &host.task, &idle_task);
	i = 0;
	s = host_record(RAW_SWITCH_OUT, &i, &len);
	assert_non_null(s);
	assert_int_equal(s->flags, RAW_NOT_WALKED);
	assert_int_equal(len, raw_sample_bytes(0, 0));
}

/* A child has its parent's memory, so its threads' pointers are at the same places. */
static void test_fork(void **state)
{
	struct task_struct child = host.task;
	struct published p = make(1);
	struct py_proc *its;
	u32 tgid = 2002;

	begin();
	put(&p);
	host_set(&cfg_all, &(bool){ true }, sizeof(bool));
	child = host.task;
	child.tgid = child.pid = (int)tgid;
	host_on_fork(&host.task, &child);
	its = bpf_map_lookup_elem(&py_procs, &tgid);
	assert_non_null(its);
	assert_memory_equal(&its->trace, &w.proc.trace, sizeof(its->trace));
	assert_int_not_equal(its->ident, w.proc.ident);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_dtv),
		cmocka_unit_test(test_slots_are_cached),
		cmocka_unit_test(test_thread_pointer_unknown),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_endless_attributes),
		cmocka_unit_test(test_each_read_fails),
		cmocka_unit_test(test_switch_out),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
