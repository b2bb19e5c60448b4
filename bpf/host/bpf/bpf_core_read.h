/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bpf_core_read.h - libbpf's CO-RE macros for user space: fields are where the compiler put them.
 */
#ifndef HOSTBPF_CORE_READ_H
#define HOSTBPF_CORE_READ_H

/* true: the kernel has the helpers that bpf/ asks for by bpf_core_enum_value_exists(). */
extern bool host_task_btf;

#define bpf_core_enum_value_exists(type, value) host_task_btf
#define bpf_core_field_exists(field) 1
#define bpf_core_type_size(type) sizeof(type)
#define HOST_CORE_READ1(src, a) (src)->a
#define HOST_CORE_READ2(src, a, b) (src)->a->b
#define HOST_CORE_READ3(src, a, b, c) (src)->a->b->c
#define HOST_CORE_READ4(src, a, b, c, d) (src)->a->b->c->d
#define HOST_CORE_PICK(src, a, b, c, d, name, ...) name
#define BPF_CORE_READ(...)                                                                        \
	HOST_CORE_PICK(__VA_ARGS__, HOST_CORE_READ4, HOST_CORE_READ3, HOST_CORE_READ2,            \
		       HOST_CORE_READ1)(__VA_ARGS__)

#define bpf_core_type_id_kernel(type) 0
#define bpf_core_field_offset(type, field) offsetof(type, field)

#endif
