/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf_tracing.h - tracing programs are plain functions in user space. Their names begin with host_,
 * because the C library has an on_exit(), too.
 */
#ifndef HOSTBPF_TRACING_H
#define HOSTBPF_TRACING_H

#define BPF_PROG(name, ...) host_##name(__VA_ARGS__)
#define BPF_PROG_CTX ((void *)0)

#endif
