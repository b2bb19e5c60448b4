// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * offcpu_scan_walk.c - bpf/pyunwind and bpf/native_walk, compiled for user space. This file has the
 * helpers that the kernel offers to BPF programs: the current task is the thread to walk,
 * process_vm_readv() reads its memory, the ring buffer is the caller's memory, and the maps with
 * unwind tables are mapped here.
 *
 * Its state is global: one walk at a time. bpf/host has the types and declarations.
 */
#include "bpf/native_walk.bpf.h"
#include "bpf/pysend.bpf.h"
#include "bpf/pyunwind.bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>

#include "capture/offcpu_scan_walk.h"
#include "cpython/pages.h"

const volatile bool cfg_gc = true;
const volatile unsigned char cfg_need_status = 0;
const volatile bool cfg_trace_context = false;
const volatile bool cfg_native = true;	/* what a walk without it does more is little */
const volatile bool cfg_async = false;
const volatile bool cfg_stamps = false;
const volatile bool cfg_task_names = false;
const volatile unsigned int cfg_wakeup_bytes = 0;
const volatile unsigned int cfg_codes_bytes = 0xffffffff;
const volatile unsigned int cfg_limit_ns = 0;
const volatile unsigned int cfg_period_ns = 0;
volatile unsigned int waits_long = 0;
volatile unsigned int chains_wait = 0;
volatile struct direct_map direct_map;	/* unknown: process_vm_readv() reads */
bool host_task_btf = true;
struct counters_map counters;
struct events_map events;

static struct {
	const struct raw_offcpu_scan *who;
	struct task_struct task;
	struct signal_struct signal;
	struct mm_struct mm;
	struct native_place place;
	u8 *out;
	size_t room, used;
} now;

static int read_thread(void *ctx, uint64_t addr, void *buf, size_t len);

/* The BPF side's maps, as offcpu_scan_map() has mapped them; NULL: not mapped. */
static struct {
	const u8 *tables;
	const u8 *slabs[NATIVE_SLABS];
	u32 slab_cnt;
} maps;

/* Of the process that is walked. A thread is valid only if it has not run since they were read. */
static struct pages pages;
static uint32_t pages_tgid;

/* ---- the kernel's helpers ---- */

/* Returns NULL also if the element does not exist. */
static const void *native_map(const struct host_map_def *def, u32 key)
{
	static struct native_scratch scratch;
	static struct native_code codes[NATIVE_CODES];

	if (def->map == &native_scratches)
		return &scratch;
	if (def->map == &native_codes)
		return key < NATIVE_CODES ? &codes[key] : NULL;
	if (def->map == &native_places)
		return now.place.cnt && key == now.who->tgid ? &now.place : NULL;
	if (def->map == &unwind_tables)
		return maps.tables && key < UNWIND_TABLES ?
			       maps.tables + key * sizeof(struct unwind_table) : NULL;
	if (def->map == &native_memory)
		return key < maps.slab_cnt ? maps.slabs[key] : NULL;
	/* A slab: native_memory has answered with its memory. */
	if (def->value_size == NATIVE_CHUNK && key < NATIVE_SLAB_CHUNKS)
		return (const u8 *)def->map + (size_t)key * NATIVE_CHUNK;
	return NULL;
}

void *host_map_lookup(const struct host_map_def *def, const void *key)
{
	static struct scratch scratch;
	static struct code_cache cache;
	static struct raw_code code;
	static u64 counts[CNT_MAX], sent[SENT_SLOTS];

	if (def->map == &scratches)
		return &scratch;
	if (def->map == &code_caches)
		return &cache;
	if (def->map == &code_records)
		return &code;
	if (def->map == &counters)
		return counts;
	if (def->map == &sent_codes)
		return &sent[*(const u32 *)key & (SENT_SLOTS - 1)];
	return (void *)native_map(def, *(const u32 *)key);
}

/* A target_mem.read of the thread that is walked; ctx is not used. */
static int read_thread(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)addr, len };

	return process_vm_readv(now.who->tid, &to, 1, &from, 1, 0) == (ssize_t)len ? 0 : -EFAULT;
}

long bpf_probe_read_user(void *dst, u32 size, const void *addr)
{
	if (!pages_read(&pages, (uint64_t)addr, dst, size))
		return 0;
	memset(dst, 0, size);
	return -1;
}

long bpf_probe_read_kernel(void *dst, u32 size, const void *addr)
{
	memcpy(dst, addr, size);
	return 0;
}

/* Never called: see direct_map. */
void *bpf_rdonly_cast(const void *obj, u32 btf_id)
{
	return (void *)obj;
}

u64 bpf_ktime_get_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

u64 bpf_get_current_pid_tgid(void)
{
	return (u64)now.who->tgid << 32 | now.who->tid;
}

u32 bpf_get_smp_processor_id(void)
{
	return 0;
}

u64 bpf_get_current_task(void)
{
	return (u64)&now.task;
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return &now.task;
}

/* Never called: the registers are in struct raw_offcpu_scan. */
long bpf_task_pt_regs(struct task_struct *task)
{
	abort();
}

u64 bpf_ringbuf_query(void *ring, u64 flags)
{
	return 0;
}

long bpf_ringbuf_output(void *ring, void *data, u64 size, u64 flags)
{
	u32 head[2] = { (u32)size, 0 };
	size_t padded = (size + 7) & ~7ull;

	if (now.room - now.used < sizeof(head) + padded)
		return -1;
	memcpy(now.out + now.used, head, sizeof(head));
	memcpy(now.out + now.used + sizeof(head), data, size);
	now.used += sizeof(head) + padded;
	return 0;
}

/* ---- walks ---- */

void offcpu_scan_forget(void)
{
	const struct target_mem mem = { read_thread, NULL };

	pages_begin(&pages, &mem);
	pages_tgid = 0;
}

static const u8 *map_array(int fd, size_t bytes)
{
	const u8 *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

int offcpu_scan_map(int tables, int slab)
{
	if (tables != -1 && !maps.tables) {
		maps.tables = map_array(tables, UNWIND_TABLES * sizeof(struct unwind_table));
		if (!maps.tables)
			return -errno;
	}
	if (slab != -1 && maps.slab_cnt < NATIVE_SLABS) {
		maps.slabs[maps.slab_cnt] = map_array(slab, NATIVE_SLAB_CHUNKS * NATIVE_CHUNK);
		if (!maps.slabs[maps.slab_cnt])
			return -errno;
		maps.slab_cnt++;
	}
	return (int)maps.slab_cnt;
}

/* Walks the machine code of the thread that was just walked. */
static void walk_native(const struct raw_offcpu_scan *a)
{
	native_scratch()->regs = (struct user_regs){ a->pc, a->sp, a->fp, a->lr };
	native_walk(1);
}

static void become_thread(const struct raw_offcpu_scan *a)
{
	now.who = a;
	now.signal.nr_threads = a->nr_threads;
	now.mm.start_code = 1;
	now.task = (struct task_struct){
		.pid = a->tid,
		.tgid = a->tgid,
		.mm = &now.mm,
		.signal = &now.signal,
		.thread = { .fsbase = a->thread_pointer, .uw = { .tp_value = a->thread_pointer } },
	};
}

size_t offcpu_scan_walk(const struct raw_offcpu_scan *a, struct py_proc *proc,
			const struct native_place *place, void *out, size_t room)
{
	struct user_call call = {
		.sp = a->sp,
		.nr = a->sysno < RAW_WAIT_STOPPED ? a->sysno : -1,
		.args = { a->args[0], a->args[1] },
	};
	u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);

	become_thread(a);
	if (pages_tgid != a->tgid)
		offcpu_scan_forget();
	pages_tgid = a->tgid;
	now.place = place ? *place : (struct native_place){ 0 };
	now.out = out;
	now.room = room;
	now.used = 0;
	if (unwind_python(s, proc, &now.task, a->sp, &call) != CNT_SAMPLE)
		return 0;
	s->sample.h = (struct raw_header){
		.kind = RAW_SWITCH_OUT,
		.why = a->why,
		.sysno = a->sysno,
		.tgid = a->tgid,
		.time_ns = a->time_ns,
		.start_ns = a->start_ns,
	};
	if (place)
		walk_native(a);
	send_new_codes(s, proc, &s->sample.h);
	if (place)
		send_native();
	return send_sample(s, NULL, bpf_get_current_pid_tgid()) == CNT_SAMPLE ? now.used : 0;
}
