// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap.bpf.c - probes of one process' allocator (--allocations): sends each block with the Python
 * stack that requested it, and its free.
 *
 * User space probes the functions in the files that the process has mapped (user/probe). The kernel
 * runs the programs for that process only, in its own context, so they may insert and delete
 * entries of hash maps. A program that the scheduler interrupts keeps its CPU's struct scratch
 * (`busy`); a program that finds it busy sends no stack.
 *
 * Allocators call themselves: realloc() calls malloc(), and malloc() mmap(). Only the outermost
 * call of a thread counts. It is identified by its stack pointer, so that a call which never
 * returns does not hide later ones.
 *
 * Between the free inside realloc() and its return, a block may be given to another thread. So the
 * old block leaves live_blocks when realloc() is entered, and its RAW_FREE has that time, though it
 * is sent later: user space does not free younger blocks.
 *
 * In bursts (capture_bursts.c) the probes are removed between two of them, and all functions have
 * one program, on_heap_call(), so that one link has all of them: each one that is removed waits for
 * tens of ms. A call that a burst's end interrupts is not recorded.
 */
#include "abi_heap.h"
#include "memory.bpf.h"

#define MAP_PRIVATE_ANONYMOUS 0x22	/* include/uapi/asm-generic/mman-common.h */
#define MAP_TYPES 0x2f			/* MAP_TYPE and MAP_ANONYMOUS */
#define PROT_WRITE 2
/*
 * A call from inside an allocator has its stack this close below, or at the same place (a jump at
 * the function's end), and happens this soon: a call that never returns does not hide others for
 * longer.
 */
#define NESTED_BYTES (256 * 1024)
#define NESTED_NS 10000000000ull

/* Smaller blocks are not recorded. */
const volatile unsigned long long cfg_min_block = 512;
/* 1: only count calls, to estimate the cost. */
volatile unsigned int heap_counting = 0;
/* Number of the burst, if calls are recorded in bursts; 0: they are not. */
volatile unsigned int heap_burst = 0;

/* The stack pointer after the return, which is above that at the entry; arguments and result. */
#ifdef __TARGET_ARCH_arm64
#define RETURN_BYTES 0
#define ARG(ctx, n) (((const u64 *)(ctx))[n])
#define STACK(ctx) (((const u64 *)(ctx))[31])	/* struct user_pt_regs, sp */
#define RESULT(ctx) ARG(ctx, 0)
#else
/* arch/x86/include/asm/ptrace.h, struct pt_regs: r10, r9, r8, ax, cx, dx, si, di: 7 to 14 */
#define RETURN_BYTES 8
#define X86_ARG(n) ((n) == 0 ? 14 : (n) == 1 ? 13 : (n) == 2 ? 12 : (n) == 3 ? 11 : 9)
#define ARG(ctx, n) (((const u64 *)(ctx))[X86_ARG(n)])
#define STACK(ctx) (((const u64 *)(ctx))[19])
#define RESULT(ctx) (((const u64 *)(ctx))[10])
#endif

enum heap_call_kind {
	CALL_BLOCK = 1,		/* returns a block; frees `old`, if that has bytes */
	CALL_BLOCK_AT,		/* writes the block's address to `at`, and returns 0 */
	CALL_MAP,		/* returns a mapping; unmaps `old`, if that has bytes */
};

/* The outermost call that a thread is in. */
struct heap_call {
	u64 sp;			/* its stack pointer after the return */
	u64 entered_ns;
	u64 bytes;		/* requested */
	u64 old, old_bytes;	/* realloc(), mremap(): of a block that is recorded; 0: it is not */
	u64 at;
	u32 kind;
	u32 burst;		/* heap_burst: returns of later bursts are not of this call */
};

/* tid -> the call that the thread is in */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HEAP_THREADS);	/* user space sets 1 without --allocations */
	__type(key, u32);
	__type(value, struct heap_call);
} heap_calls SEC(".maps");

/* address, with bit 0 set for a mapping -> bytes: sent and not freed */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HEAP_BLOCKS);	/* as above */
	__type(key, u64);
	__type(value, u64);
} live_blocks SEC(".maps");
#define MAPPING 1ull

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct heap_counts);
} heap_counts SEC(".maps");

/* Returns true if a block of this size is recorded. A mapping consists of whole pages. */
static __always_inline bool is_wanted(const struct heap_call *c)
{
	u64 page = cfg_page_bytes - 1;

	if (c->kind == CALL_MAP)
		return c->bytes && ((c->bytes + page) & ~page) >= cfg_min_block;
	return c->bytes >= cfg_min_block;
}

/* Count a call. Returns true if only counts are wanted. */
static __always_inline bool only_counts(bool returns, bool kept)
{
	u32 zero = 0;
	struct heap_counts *c = bpf_map_lookup_elem(&heap_counts, &zero);

	if (c) {
		c->entries++;
		c->returns += returns;
		c->kept += kept;
	}
	return heap_counting || capture_paused;
}

static __always_inline void lose_record(enum counter which)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();

	count_loss(which, pid_tgid >> 32, (u32)pid_tgid, current_start_ns());
}

/* Saturates: nobody gets memory for a multiplication that overflows. */
static __always_inline u64 size_product(u64 a, u64 b)
{
	u64 large = a > b ? a : b, small = a > b ? b : a;

	return small >> 32 || (large >> 32) * small >> 32 ? ~0ull : a * b;
}

/* The call that the thread is in, if one with this stack pointer is inside it. */
static __always_inline struct heap_call *call_around(u64 sp)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct heap_call *c = bpf_map_lookup_elem(&heap_calls, &tid);

	if (!c || c->burst != heap_burst || c->sp < sp || c->sp - sp >= NESTED_BYTES)
		return NULL;
	return bpf_ktime_get_ns() - c->entered_ns < NESTED_NS ? c : NULL;
}

/* ---- records ---- */

/* Not a copy: the functions that call each other here have 512 bytes of stack. */
static __always_inline void fill_in_header(struct raw_header *h, u32 why, u32 tgid, u64 start_ns)
{
	*h = (struct raw_header){
		.kind = RAW_ALLOC,
		.why = why,
		.tgid = tgid,
		.time_ns = bpf_ktime_get_ns(),
		.start_ns = start_ns,
	};
}

/* Send a RAW_ALLOC without a stack, if this CPU's struct scratch is in use. */
static __always_inline int send_bare(u32 why, u32 tgid, u64 start_ns, const struct raw_memory *m)
{
	struct {
		struct raw_head head;
		struct raw_memory memory;
	} *r = bpf_ringbuf_reserve(&events, sizeof(*r), 0);

	if (!r)
		return -1;
	__builtin_memset(r, 0, sizeof(*r));
	fill_in_header(&r->head.h, why, tgid, start_ns);
	r->head.h.sysno = CNT_BUSY;
	r->head.tid = (u32)bpf_get_current_pid_tgid();
	r->head.cpu = bpf_get_smp_processor_id();
	r->head.status = STATUS_UNKNOWN;
	r->head.flags = RAW_WEIGHED | RAW_NOT_WALKED;
	r->memory = *m;
	bpf_ringbuf_submit(r, wakeup_flags());
	return 0;
}

/* Walk the current thread. The header of s->sample must be filled in. As unwind_python(). */
static __always_inline enum counter walk_caller(struct scratch *s, struct py_proc *p, u64 sp)
{
	struct native_scratch *ns;
	enum counter end;

	/* It runs in a call of the program's own, and may be interrupted: there is no budget. */
	start_clock(s, s->sample.h.time_ns, EVENT_MORE_NS);
	end = unwind_python(s, p, current_task(), sp, NULL);
	ns = cfg_native && (end == CNT_SAMPLE || is_without_stack(end)) ? native_scratch() : NULL;
	if (ns) {
		current_entry_regs(&ns->regs);
		native_walk(end == CNT_SAMPLE);
	}
	if (end == CNT_SAMPLE)
		send_new_codes(s, p, &s->sample.h);
	if (ns)
		send_native();
	return end;
}

int send_block(u64 addr, u64 bytes, u64 sp, u32 why);
/*
 * Send a RAW_ALLOC of the current thread, whose stack pointer is sp. Returns 0, or -1: it is lost,
 * or the process is not recorded. With external linkage, so that the verifier checks it only once.
 */
__weak __noinline int send_block(u64 addr, u64 bytes, u64 sp, u32 why)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), start_ns = current_start_ns();
	struct raw_memory m = { .addr = addr, .bytes = bytes, .weight = bytes };
	u32 tgid = pid_tgid >> 32, zero = 0;
	struct scratch *s;
	struct py_proc *p;
	enum counter end;

	p = bpf_map_lookup_elem(&py_procs, &tgid);
	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!p || !s || !is_recorded(p, tgid, start_ns))
		return -1;
	if (s->busy) {
		end = send_bare(why, tgid, start_ns, &m) ? CNT_ALLOC_LOST : CNT_ALLOC;
	} else {
		s->busy = 1;
		fill_in_header(&s->sample.h, why, tgid, start_ns);
		end = walk_caller(s, p, sp);
		end = send_alloc(s, p, pid_tgid, end, &m, false);
		s->busy = 0;
	}
	count_end(end);
	return end == CNT_ALLOC ? 0 : -1;
}

static __always_inline void send_free(u64 addr, u64 bytes, enum raw_alloc_why why, u64 time_ns)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct raw_free *r = bpf_ringbuf_reserve(&events, sizeof(*r), 0);

	if (!r) {
		lose_record(CNT_FREE_LOST);
		return;
	}
	*r = (struct raw_free){
		.h = {
			.kind = RAW_FREE,
			.why = why,
			.tgid = pid_tgid >> 32,
			.time_ns = time_ns,
			.start_ns = current_start_ns(),
		},
		.tid = (u32)pid_tgid,
		.addr = addr,
		.bytes = bytes,
	};
	bpf_ringbuf_submit(r, wakeup_flags());
}

/* ---- calls that allocate memory ---- */

/* The thread enters a function. Inside another one, it does not count. */
static __always_inline int enter_call(void *ctx, struct heap_call *c)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	u64 sp = STACK(ctx);

	if (only_counts(true, is_wanted(c)) || call_around(sp))
		return 0;
	c->sp = sp + RETURN_BYTES;
	c->entered_ns = bpf_ktime_get_ns();
	c->burst = heap_burst;
	if (c->old) {
		u64 key = c->old | (c->kind == CALL_MAP ? MAPPING : 0);
		u64 *bytes = bpf_map_lookup_elem(&live_blocks, &key);

		c->old_bytes = bytes ? *bytes : 0;
		if (bytes)
			bpf_map_delete_elem(&live_blocks, &key);
	}
	if (bpf_map_update_elem(&heap_calls, &tid, c, BPF_ANY))
		lose_record(CNT_BLOCK_LOST);
	return 0;
}

/* The thread got memory. */
static __always_inline void take_block(u64 addr, u64 bytes, u64 sp, enum raw_alloc_why why)
{
	u64 key = addr | (why == ALLOC_MAP ? MAPPING : 0);

	if (bpf_map_update_elem(&live_blocks, &key, &bytes, BPF_ANY)) {
		lose_record(CNT_BLOCK_LOST);
		return;
	}
	if (send_block(addr, bytes, sp, why))
		bpf_map_delete_elem(&live_blocks, &key);
}

/* The address that a function has returned; 0: it failed. */
static __always_inline u64 result_of(void *ctx, const struct heap_call *c)
{
	u64 rc = RESULT(ctx), addr = 0;

	if (c->kind == CALL_BLOCK)
		return rc;
	if (c->kind == CALL_MAP)
		return IS_ERROR(rc) ? 0 : rc;
	if (!(u32)rc)
		bpf_probe_read_user(&addr, sizeof(addr), (const void *)c->at);
	return addr;
}

/* The call c returns. c is in its map, not a copy: see fill_in_header(). */
static __always_inline void take_return(void *ctx, const struct heap_call *c)
{
	enum raw_alloc_why why = c->kind == CALL_MAP ? ALLOC_MAP : ALLOC_BLOCK;
	u64 addr = result_of(ctx, c), key;

	/* realloc(p, 0) frees p, and may return NULL. */
	if (c->old_bytes && !addr && c->bytes) {
		key = c->old | (why == ALLOC_MAP ? MAPPING : 0);
		bpf_map_update_elem(&live_blocks, &key, &c->old_bytes, BPF_ANY);
		return;
	}
	if (c->old_bytes)
		send_free(c->old, why == ALLOC_MAP ? c->old_bytes : 0, why, c->entered_ns);
	/* mremap() of a file, or of memory from before the recording: not allocated by it. */
	if (why == ALLOC_MAP && c->old && !c->old_bytes)
		return;
	if (addr && is_wanted(c))
		take_block(addr, c->bytes, c->sp, why);
}

static __always_inline int leave_call(void *ctx)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct heap_call *found = bpf_map_lookup_elem(&heap_calls, &tid);

	if (!found || found->sp != STACK(ctx))
		return 0;
	if (found->burst == heap_burst)
		take_return(ctx, found);
	bpf_map_delete_elem(&heap_calls, &tid);
	return 0;
}

/* ---- calls that free memory ---- */

static __always_inline int free_block(void *ctx)
{
	u64 addr = ARG(ctx, 0), *bytes;

	if (only_counts(false, false))
		return 0;
	bytes = bpf_map_lookup_elem(&live_blocks, &addr);
	if (!bytes)
		return 0;
	bpf_map_delete_elem(&live_blocks, &addr);
	send_free(addr, 0, ALLOC_BLOCK, bpf_ktime_get_ns());
	return 0;
}

static __always_inline int unmap_range(void *ctx)
{
	u64 addr = ARG(ctx, 0), bytes = ARG(ctx, 1), key = addr | MAPPING;

	if (only_counts(false, false) || call_around(STACK(ctx)))
		return 0;
	bpf_map_delete_elem(&live_blocks, &key);
	send_free(addr, bytes, ALLOC_MAP, bpf_ktime_get_ns());
	return 0;
}

/* ---- the functions ---- */

/*
 * Of mmap(), only private writable memory counts: not files, nor reserved addresses. Calls inside
 * it are nested in any case.
 */
static __always_inline u64 mapped_bytes(void *ctx)
{
	bool memory = (ARG(ctx, 3) & MAP_TYPES) == MAP_PRIVATE_ANONYMOUS &&
		      ARG(ctx, 2) & PROT_WRITE;

	return memory ? ARG(ctx, 1) : 0;
}

/* What the function's arguments request. Returns false if that is no memory. */
static __always_inline bool read_call(void *ctx, u64 shape, struct heap_call *c)
{
	c->kind = CALL_BLOCK;
	if (shape == HEAP_MALLOC) {	/* valloc, pvalloc, operator new */
		c->bytes = ARG(ctx, 0);
	} else if (shape == HEAP_CALLOC) {
		c->bytes = size_product(ARG(ctx, 0), ARG(ctx, 1));
	} else if (shape == HEAP_REALLOC) {
		c->old = ARG(ctx, 0);
		c->bytes = ARG(ctx, 1);
	} else if (shape == HEAP_REALLOCARRAY) {
		c->old = ARG(ctx, 0);
		c->bytes = size_product(ARG(ctx, 1), ARG(ctx, 2));
	} else if (shape == HEAP_ALIGNED_ALLOC) {	/* memalign */
		c->bytes = ARG(ctx, 1);
	} else if (shape == HEAP_POSIX_MEMALIGN) {
		c->kind = CALL_BLOCK_AT;
		c->at = ARG(ctx, 0);
		c->bytes = ARG(ctx, 2);
	} else if (shape == HEAP_MMAP) {
		c->kind = CALL_MAP;
		c->bytes = mapped_bytes(ctx);
	} else if (shape == HEAP_MREMAP) {
		c->kind = CALL_MAP;
		c->old = ARG(ctx, 0);
		c->bytes = ARG(ctx, 2);
	} else {
		return false;
	}
	return true;
}

/* A function of this enum heap_shape is entered. */
static __always_inline int take_call(void *ctx, u64 shape)
{
	struct heap_call c = { 0 };

	if (shape == HEAP_FREE)
		return free_block(ctx);
	if (shape == HEAP_MUNMAP)
		return unmap_range(ctx);
	return read_call(ctx, shape, &c) ? enter_call(ctx, &c) : 0;
}

#define ON_CALL(name, shape)			\
	SEC("?uprobe")				\
	int name(void *ctx)			\
	{					\
		return take_call(ctx, shape);	\
	}

ON_CALL(on_malloc, HEAP_MALLOC)
ON_CALL(on_calloc, HEAP_CALLOC)
ON_CALL(on_realloc, HEAP_REALLOC)
ON_CALL(on_reallocarray, HEAP_REALLOCARRAY)
ON_CALL(on_aligned_alloc, HEAP_ALIGNED_ALLOC)
ON_CALL(on_posix_memalign, HEAP_POSIX_MEMALIGN)
ON_CALL(on_mmap, HEAP_MMAP)
ON_CALL(on_mremap, HEAP_MREMAP)
ON_CALL(on_free, HEAP_FREE)
ON_CALL(on_munmap, HEAP_MUNMAP)

SEC("?uprobe")
int on_heap_return(void *ctx)
{
	return leave_call(ctx);
}

/* ---- in bursts ---- */

/* Any function's entry, by its enum heap_shape, which is the probe's cookie. */
SEC("?uprobe")
int on_heap_call(void *ctx)
{
	return take_call(ctx, bpf_get_attach_cookie(ctx));
}

/* As on_heap_return(); it is loaded for another way to attach it. */
SEC("?uprobe")
int on_heap_returned(void *ctx)
{
	return leave_call(ctx);
}
