/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf_helpers.h - the BPF helpers that bpf/ calls, for user space. tests/hostbpf/host.c and
 * user/capture/offcpu_scan_walk.c implement them.
 *
 * A map's type and size come from its declaration.
 */
#ifndef HOSTBPF_HELPERS_H
#define HOSTBPF_HELPERS_H

#include "vmlinux.h"

#define SEC(name)
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]
#define __noinline __attribute__((noinline))
#define __weak __attribute__((weak))
#define barrier() asm volatile("" ::: "memory")
#define barrier_var(var) asm volatile("" : "+r"(var))

/* A map, as its declaration describes it. */
struct host_map_def {
	const void *map;	/* the variable; it identifies the map */
	u32 type, max_entries, key_size, value_size;
};

#define HOST_MAP(m)                                                                               \
	(&(struct host_map_def){ (m), sizeof(*(m)->type) / sizeof(int),                           \
				 sizeof(*(m)->max_entries) / sizeof(int), sizeof(*(m)->key),      \
				 sizeof(*(m)->value) })

#define bpf_map_lookup_elem(m, key) host_map_lookup(HOST_MAP(m), key)
#define bpf_map_update_elem(m, key, value, flags) host_map_update(HOST_MAP(m), key, value)
#define bpf_map_delete_elem(m, key) host_map_delete(HOST_MAP(m), key)

/* As bpf_map_lookup_elem(), bpf_map_update_elem() and bpf_map_delete_elem() of the kernel. */
void *host_map_lookup(const struct host_map_def *def, const void *key);
int host_map_update(const struct host_map_def *def, const void *key, const void *value);
int host_map_delete(const struct host_map_def *def, const void *key);

long bpf_probe_read_user(void *dst, u32 size, const void *addr);
long bpf_probe_read_user_str(void *dst, u32 size, const void *addr);
long bpf_perf_prog_read_value(void *ctx, struct bpf_perf_event_value *buf, u32 size);
long bpf_get_stack(void *ctx, void *buf, u32 size, u64 flags);
long bpf_probe_read_kernel(void *dst, u32 size, const void *addr);
long bpf_ringbuf_output(void *ring, void *data, u64 size, u64 flags);
void *bpf_ringbuf_reserve(void *ring, u64 size, u64 flags);
void bpf_ringbuf_submit(void *data, u64 flags);
void bpf_ringbuf_discard(void *data, u64 flags);
u64 bpf_ringbuf_query(void *ring, u64 flags);
u32 bpf_get_prandom_u32(void);
u64 bpf_ktime_get_ns(void);
u64 bpf_ktime_get_boot_ns(void);
long bpf_probe_read_kernel_str(void *dst, u32 size, const void *addr);
u64 bpf_get_current_pid_tgid(void);
u64 bpf_get_attach_cookie(void *ctx);
long bpf_get_current_comm(void *buf, u32 size);
u32 bpf_get_smp_processor_id(void);
u64 bpf_get_current_task(void);
long bpf_task_pt_regs(struct task_struct *task);
long bpf_seq_write(struct seq_file *m, const void *data, u32 len);
struct task_struct *bpf_get_current_task_btf(void);
void *bpf_rdonly_cast(const void *obj, u32 btf_id);

#endif
