// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* multi_probe.c - see multi_probe.h. The system call itself: libbpf 1.1 does not know it. */
#include "probe/multi_probe.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* include/uapi/linux/bpf.h: BPF_F_UPROBE_MULTI_RETURN, and union bpf_attr.link_create */
#define FLAG_RETURN 1
struct link_attr {
	uint32_t program, target, type, flags;
	struct {
		uint64_t path, offsets, semaphores, cookies;
		uint32_t cnt, flags, tgid, pad;
	} multi;
};

static int create_link(const struct link_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

int multi_probe_open(const struct multi_probe *p)
{
	char path[32];
	struct link_attr attr = {
		.program = (uint32_t)p->program, .type = MULTI_PROBE_TYPE,
		.multi = {
			.path = (uint64_t)(uintptr_t)path,
			.offsets = (uint64_t)(uintptr_t)p->places,
			.cookies = (uint64_t)(uintptr_t)p->cookies,
			.cnt = p->cnt,
			.flags = p->returns ? FLAG_RETURN : 0,
			.tgid = (uint32_t)p->tgid,
		},
	};

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->file);
	return create_link(&attr);
}

/* A program that does nothing. Returns its descriptor or -errno. */
static int load_nothing(void)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },	/* r0 = 0 */
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.expected_attach_type = MULTI_PROBE_TYPE;
	attr.insns = (uint64_t)(uintptr_t)insns;
	attr.insn_cnt = sizeof(insns) / sizeof(insns[0]);
	attr.license = (uint64_t)(uintptr_t)"GPL";
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

/* Kernels that know it look at the path, which is no file; others refuse the type. */
bool multi_probe_is_known(void)
{
	static const uint64_t place;
	struct link_attr attr = {
		.type = MULTI_PROBE_TYPE,
		.multi = { .path = (uint64_t)(uintptr_t)"/", .cnt = 1,
			   .offsets = (uint64_t)(uintptr_t)&place },
	};
	int program = load_nothing(), err;

	if (program < 0)
		return false;
	attr.program = (uint32_t)program;
	err = create_link(&attr);
	close(program);
	if (err >= 0)
		close(err);
	return err == -EBADF;
}
