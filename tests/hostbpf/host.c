// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * host.c - the BPF helpers on a simulated machine. See host.h.
 *
 * The helpers behave as the kernel's do, as far as bpf/ can see: a read that fails zeroes its
 * destination, a look-up returns a pointer into the map, a per-CPU map has a value for each CPU,
 * the ring buffer takes a whole record or nothing.
 */
#include "host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ull
#define PAGES_MAX 65536		/* hash of target pages, at most half full */
#define MAPS_MAX 64

struct page {
	u64 addr;		/* of its first byte; valid if data */
	u8 *data;		/* NULL: never used */
	bool mapped;
};

/* An entry of a hash map, or all of an array. */
struct map {
	struct host_map_def def;
	u32 cnt;
	u8 *values;		/* array: [cpu][index]; hash: of [max_entries] */
	u8 *keys;
	bool *used;
};

/* Sizes in place of those in the maps' declarations. */
static struct {
	const void *map;
	u32 max_entries;
} sizes[MAPS_MAX];
static int size_cnt;

struct host host;
bool host_task_btf = true;
static struct page pages[PAGES_MAX];
static u32 page_cnt;
static struct map maps[MAPS_MAX];
static int map_cnt;

static void die(const char *what, u64 v)
{
	fprintf(stderr, "hostbpf: %s (%llx)\n", what, (unsigned long long)v);
	abort();
}

/* ---- memory ---- */

static struct page *page_slot(u64 addr)
{
	u64 i = (addr / PAGE * 0x9e3779b97f4a7c15ULL) >> 48;

	while (pages[i].data && pages[i].addr != addr)
		i = (i + 1) & (PAGES_MAX - 1);
	return &pages[i];
}

void host_mem_map(u64 addr, u64 len)
{
	u64 a, end = addr + len;

	for (a = addr & ~(PAGE - 1); a < end; a += PAGE) {
		struct page *p = page_slot(a);

		if (!p->data) {
			if (++page_cnt > PAGES_MAX / 2)
				die("too many pages", page_cnt);
			p->addr = a;
			p->data = malloc(PAGE);
		}
		if (!p->mapped)
			memset(p->data, 0, PAGE);
		p->mapped = true;
	}
	host.mem_version++;
}

void host_mem_unmap(u64 addr, u64 len)
{
	u64 a;

	for (a = addr & ~(PAGE - 1); a < addr + len; a += PAGE)
		page_slot(a)->mapped = false;
	host.mem_version++;
}

static u8 *mem_at(u64 addr)
{
	struct page *p = page_slot(addr & ~(PAGE - 1));

	return p->mapped ? p->data + (addr & (PAGE - 1)) : NULL;
}

const u8 *host_mem_at(u64 addr)
{
	return mem_at(addr);
}

void host_mem_each(void (*each)(u64 addr))
{
	u32 i;

	for (i = 0; i < PAGES_MAX; i++)
		if (pages[i].mapped)
			each(pages[i].addr);
}

/* How many of len bytes from addr on lie on addr's page. */
static size_t on_page(u64 addr, size_t len)
{
	size_t n = PAGE - (addr & (PAGE - 1));

	return n < len ? n : len;
}

void host_mem_write(u64 addr, const void *data, size_t len)
{
	const u8 *from = data;
	size_t n;

	for (; len; addr += n, from += n, len -= n) {
		u8 *to = mem_at(addr);

		n = on_page(addr, len);
		if (!to)
			die("write to a hole", addr);
		memcpy(to, from, n);
	}
}

void host_mem_put64(u64 addr, u64 v)
{
	host_mem_write(addr, &v, sizeof(v));
}

void host_mem_put32(u64 addr, u32 v)
{
	host_mem_write(addr, &v, sizeof(v));
}

void host_mem_put8(u64 addr, u8 v)
{
	host_mem_write(addr, &v, sizeof(v));
}

int host_mem_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	u8 *to = buf;
	size_t n;

	for (; len; addr += n, to += n, len -= n) {
		u8 *from = mem_at(addr);

		n = on_page(addr, len);
		if (!from)
			return -EFAULT;
		memcpy(to, from, n);
	}
	return 0;
}

long bpf_probe_read_user(void *dst, u32 size, const void *addr)
{
	host.reads++;
	if (host.fail_read &&
	    (host.fail_on ? host.reads >= host.fail_read : host.reads == host.fail_read))
		goto fail;
	if (!host_mem_read(NULL, (u64)addr, dst, size))
		return 0;
fail:
	memset(dst, 0, size);
	return -EFAULT;
}

long bpf_probe_read_user_str(void *dst, u32 size, const void *addr)
{
	char *out = dst;
	u32 n = 0;

	host.reads++;
	while (n < size) {
		if (host_mem_read(NULL, (u64)addr + n, &out[n], 1)) {
			out[0] = '\0';
			return -EFAULT;
		}
		if (!out[n++])
			return n;
	}
	out[size - 1] = '\0';
	return size;
}

long bpf_perf_prog_read_value(void *ctx, struct bpf_perf_event_value *buf, u32 size)
{
	*buf = (struct bpf_perf_event_value){ .counter = host.event_count };
	return 0;
}

long bpf_get_stack(void *ctx, void *buf, u32 size, u64 flags)
{
	u32 want = host.kernel_frames * sizeof(host.kernel_stack[0]);

	if (size > want)
		size = want;
	memcpy(buf, host.kernel_stack, size);
	return size;
}

/* The kernel's own structures can always be read. */
long bpf_probe_read_kernel(void *dst, u32 size, const void *addr)
{
	memcpy(dst, addr, size);
	return 0;
}

long bpf_probe_read_kernel_str(void *dst, u32 size, const void *addr)
{
	size_t len = strnlen(addr, size - 1);

	memcpy(dst, addr, len);
	((char *)dst)[len] = '\0';
	return (long)len + 1;
}

void host_set(const volatile void *setting, const void *value, size_t size)
{
	uintptr_t at = (uintptr_t)setting, page = at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);

	if (mprotect((void *)page, at + size - page, PROT_READ | PROT_WRITE))
		die("mprotect", errno);
	memcpy((void *)at, value, size);
}

/* ---- maps ---- */

static bool is_hash(const struct host_map_def *def)
{
	return def->type == BPF_MAP_TYPE_HASH;
}

void host_map_size(const void *map, u32 max_entries)
{
	if (size_cnt == MAPS_MAX)
		die("too many sizes", size_cnt);
	sizes[size_cnt].map = map;
	sizes[size_cnt++].max_entries = max_entries;
}

static struct map *map_of(const struct host_map_def *def)
{
	u32 cpus = def->type == BPF_MAP_TYPE_PERCPU_ARRAY ? HOST_CPUS : 1;
	struct map *m;
	int i;

	for (i = 0; i < map_cnt; i++)
		if (maps[i].def.map == def->map)
			return &maps[i];
	if (map_cnt == MAPS_MAX)
		die("too many maps", map_cnt);
	m = &maps[map_cnt++];
	m->def = *def;
	m->cnt = 0;
	for (i = 0; i < size_cnt; i++)
		if (sizes[i].map == def->map)
			m->def.max_entries = sizes[i].max_entries;
	def = &m->def;
	m->values = calloc((size_t)cpus * def->max_entries, def->value_size);
	m->keys = is_hash(def) ? calloc(def->max_entries, def->key_size) : NULL;
	m->used = is_hash(def) ? calloc(def->max_entries, sizeof(bool)) : NULL;
	return m;
}

/* The entry's index in a hash map; -1: there is no such entry. */
static int hash_index(const struct map *m, const void *key)
{
	u32 i, seen = 0;

	for (i = 0; i < m->def.max_entries && seen < m->cnt; i++) {
		seen += m->used[i];
		if (m->used[i] && !memcmp(m->keys + i * m->def.key_size, key, m->def.key_size))
			return i;
	}
	return -1;
}

void *host_map_lookup(const struct host_map_def *def, const void *key)
{
	struct map *m = map_of(def);
	int i;

	if (is_hash(def)) {
		i = hash_index(m, key);
		return i < 0 ? NULL : m->values + (size_t)i * def->value_size;
	}
	i = *(const u32 *)key;
	if ((u32)i >= m->def.max_entries)
		return NULL;
	/* Of an array of maps, the value's address identifies the inner map. */
	if (def->type == BPF_MAP_TYPE_ARRAY_OF_MAPS && (u32)i >= host.inner_maps)
		return NULL;
	if (def->type == BPF_MAP_TYPE_PERCPU_ARRAY)
		i += host.cpu * m->def.max_entries;
	return m->values + (size_t)i * def->value_size;
}

int host_map_update(const struct host_map_def *def, const void *key, const void *value)
{
	struct map *m = map_of(def);
	int i;

	if (!is_hash(def))
		die("update of an array", def->type);
	i = hash_index(m, key);
	if (i < 0) {
		if (m->cnt == m->def.max_entries)
			return -E2BIG;
		for (i = 0; m->used[i]; i++)
			;
		m->used[i] = true;
		m->cnt++;
		memcpy(m->keys + i * def->key_size, key, def->key_size);
	}
	memcpy(m->values + (size_t)i * def->value_size, value, def->value_size);
	return 0;
}

int host_map_delete(const struct host_map_def *def, const void *key)
{
	struct map *m = map_of(def);
	int i = hash_index(m, key);

	if (i < 0)
		return -ENOENT;
	m->used[i] = false;
	m->cnt--;
	return 0;
}

/* ---- ring buffer ---- */

/* A record of the entry that was begun last. */
static u8 *add_record(size_t len)
{
	if (host.record_cnt == HOST_RECORDS_MAX)
		die("too many records", host.record_cnt);
	host.records[host.record_cnt].data = malloc(len);
	host.records[host.record_cnt].len = len;
	host.records[host.record_cnt].entry = host.entry_cnt - 1;
	return host.records[host.record_cnt++].data;
}

/* The record is an entry of its own. NULL: there is no room. */
static u8 *new_record(size_t len)
{
	if (host.entry_cnt >= host.ring_room)
		return NULL;
	host.entry_cnt++;
	return add_record(len);
}

/* Bytes of the first record of an entry, as capture_take() sees them. */
static u64 first_bytes(const struct raw_header *h, u64 size)
{
	const u64 first = sizeof(struct raw_switch_in);

	return h->kind == RAW_SWITCH_IN && size >= first + sizeof(*h) ? first : size;
}

long bpf_ringbuf_output(void *ring, void *data, u64 size, u64 flags)
{
	u64 first = first_bytes(data, size);
	u8 *to = new_record(first);

	if (!to)
		return -EAGAIN;
	if (flags & BPF_RB_FORCE_WAKEUP)
		host.woken = true;
	memcpy(to, data, first);
	if (first < size)
		memcpy(add_record(size - first), (u8 *)data + first, size - first);
	return 0;
}

void *bpf_ringbuf_reserve(void *ring, u64 size, u64 flags)
{
	return new_record(size);
}

void bpf_ringbuf_submit(void *data, u64 flags)
{
}

/* data must be the record that was reserved last. */
void bpf_ringbuf_discard(void *data, u64 flags)
{
	if (!host.record_cnt || host.records[host.record_cnt - 1].data != data)
		die("discard of another record", host.record_cnt);
	free(host.records[--host.record_cnt].data);
	host.entry_cnt--;
}

u32 bpf_get_prandom_u32(void)
{
	return host.random;
}

u64 bpf_ringbuf_query(void *ring, u64 flags)
{
	return host.ring_waits ? host.ring_waits : (u64)host.record_cnt;
}

void host_drop_records(void)
{
	while (host.record_cnt)
		free(host.records[--host.record_cnt].data);
	host.entry_cnt = 0;
}

const void *host_record(u8 kind, int *i, size_t *len)
{
	for (; *i < host.record_cnt; (*i)++) {
		const struct raw_header *h = (const void *)host.records[*i].data;

		if (h->kind != kind)
			continue;
		if (len)
			*len = host.records[*i].len;
		(*i)++;
		return h;
	}
	return NULL;
}

/* ---- the machine ---- */

u64 bpf_ktime_get_ns(void)
{
	host.now_ns += host.clock_step_ns;
	if (host.stall_ns && !host.stall_after--) {
		host.now_ns += host.stall_ns;
		host.stall_ns = 0;
	}
	return host.now_ns++;
}

/* The machine was never suspended. */
u64 bpf_ktime_get_boot_ns(void)
{
	return host.now_ns;
}

u64 bpf_get_current_pid_tgid(void)
{
	return (u64)host.task.tgid << 32 | (u32)host.task.pid;
}

u64 bpf_get_attach_cookie(void *ctx)
{
	return host.attach_cookie;
}

long bpf_get_current_comm(void *buf, u32 size)
{
	memcpy(buf, host.task.comm, size < sizeof(host.task.comm) ? size : sizeof(host.task.comm));
	return 0;
}

u32 bpf_get_smp_processor_id(void)
{
	return host.cpu;
}

u64 bpf_get_current_task(void)
{
	return (u64)&host.task;
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return &host.task;
}

long bpf_task_pt_regs(struct task_struct *task)
{
	return (long)&host.user_regs;
}

/* Adds the data to the records, as the ring buffer would. */
long bpf_seq_write(struct seq_file *m, const void *data, u32 len)
{
	u8 *to = new_record(len);

	if (!to)
		return -EOVERFLOW;
	memcpy(to, data, len);
	return 0;
}

u64 host_counter(enum counter which)
{
	u32 zero = 0, cpu = host.cpu;
	u64 sum = 0;

	for (host.cpu = 0; host.cpu < HOST_CPUS; host.cpu++)
		sum += ((u64 *)bpf_map_lookup_elem(&counters, &zero))[which];
	host.cpu = cpu;
	return sum;
}

void host_tick(void)
{
	host_drop_records();
	host.reads = 0;
	on_cpu_tick((struct bpf_perf_event_data *)&host.regs);
}

static void free_maps(void)
{
	while (map_cnt) {
		struct map *m = &maps[--map_cnt];

		free(m->values);
		free(m->keys);
		free(m->used);
	}
	size_cnt = 0;
}

void host_free(void)
{
	u32 i;

	host_drop_records();
	free_maps();
	for (i = 0; i < PAGES_MAX; i++)
		free(pages[i].data);
	memset(pages, 0, sizeof(pages));
	page_cnt = 0;
}

int host_done(void **state)
{
	host_free();
	return 0;
}

void host_reset(void)
{
	host_free();
	memset(&host, 0, sizeof(host));
	direct_map.base = 0;
	direct_map.encrypted = 0;
	host.inode = (struct inode){ .i_ino = 4711, .i_size = 6000000 };
	host.super_block = (struct super_block){ .s_dev = 0xfe00000 };
	host.inode.i_ctime_sec = 1700000000;
	host.inode.i_ctime_nsec = 123456789;
	host.inode.i_sb = &host.super_block;
	host.mm.exe_file = &host.file;
	host.file.f_inode = &host.inode;
	host.bprm.file = &host.file;
	host.task = (struct task_struct){
		.pid = 1001,
		.tgid = 1001,
		.mm = &host.mm,
		.group_leader = &host.leader,
		.signal = &host.signal,
		.thread_pid = &host.pid,
		.cred = &host.cred,
		.cgroups = &host.cgroups,
	};
	host.kn.id = 4242;
	host.cgroup.kn = &host.kn;
	host.cgroup.root = &host.cgroup_root;
	host.kn_v1.id = 77;
	host.cgroup_v1.kn = &host.kn_v1;
	host.cgroup_v1.root = &host.cgroup_root_v1;
	host.cgroup_root_v1.hierarchy_id = 3;
	host.cgroup_links[0].cgrp = &host.cgroup;
	host.cgroup_links[0].cgrp_link.next = &host.cgroup_links[1].cgrp_link;
	host.cgroup_links[1].cgrp = &host.cgroup_v1;
	host.cgroup_links[1].cgrp_link.next = &host.cgroups.cgrp_links;
	host.cgroups.cgrp_links.next = &host.cgroup_links[0].cgrp_link;
	host.cred.euid.val = 1000;
	host.pid.level = 2;
	host.pid.numbers[0].nr = 1001;
	host.pid.numbers[1].nr = 12;
	host.pid.numbers[2].nr = 7;
	host.regs.cs = 0x33;	/* user space */
	host.signal.nr_threads = 1;
	host.mm.start_code = 0x401000;
	host.leader = host.task;
	host.leader.start_boottime = 77;
	host.now_ns = 1000;
	host.ring_room = HOST_RECORDS_MAX;
	host_task_btf = true;
}
