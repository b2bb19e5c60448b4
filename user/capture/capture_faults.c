// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* capture_faults.c - see capture_faults.h. */
#include "capture/capture_faults.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_state.h"
#include "capture/event_sampler.h"
#include "tachbpf.skel.h"

/* Page faults are the events, not blocks of an allocator. */
static bool is_on(const struct capture *s)
{
	return s->mode->memory && !s->args.allocations;
}

/* Does the kernel say where it finds free addresses? (5.10 does, if it was built with BTF.) */
static bool has_tracepoint(void)
{
	return libbpf_find_vmlinux_btf_id("vm_unmapped_area", BPF_TRACE_RAW_TP) > 0;
}

void capture_faults_configure(struct capture *s)
{
	struct tachbpf_bpf *skel = s->skel;

	bpf_program__set_autoload(skel->progs.on_page_fault, is_on(s));
	bpf_program__set_autoload(skel->progs.on_unmapped_area, is_on(s) && has_tracepoint());
	bpf_program__set_autoattach(skel->progs.on_unmapped_area, false);
	skel->rodata->cfg_page_bytes = (unsigned int)sysconf(_SC_PAGESIZE);
}

int capture_faults_open(struct capture *s)
{
	struct event_sampler_args args = {
		.program = s->skel->progs.on_page_fault,
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.what = "page faults",
		.every_bytes = s->args.every_bytes,
		.page_bytes = s->skel->rodata->cfg_page_bytes,
		.cpu_list = s->args.cpu_list,
	};

	if (!is_on(s))
		return 0;
	s->faults = event_sampler_new(&args);
	return s->faults ? 0 : -errno;
}

int capture_faults_start(struct capture *s)
{
	int err;

	if (!s->faults)
		return 0;
	if (bpf_program__autoload(s->skel->progs.on_unmapped_area)) {
		s->skel->links.on_unmapped_area =
			bpf_program__attach(s->skel->progs.on_unmapped_area);
		if (!s->skel->links.on_unmapped_area) {
			err = -errno;
			log_error("cannot follow moves of memory: %s", strerror(-err));
			return err;
		}
	}
	return event_sampler_start(s->faults);
}

void capture_faults_pause(struct capture *s, bool pause)
{
	if (s->faults)
		event_sampler_pause(s->faults, pause);
}

void capture_faults_vary(struct capture *s)
{
	if (s->faults)
		event_sampler_vary(s->faults);
}

void capture_faults_refresh(struct capture *s)
{
	if (s->faults)
		event_sampler_refresh(s->faults);
}

void capture_faults_stop(struct capture *s)
{
	if (!s->faults)
		return;
	event_sampler_stop(s->faults);
	bpf_link__destroy(s->skel->links.on_unmapped_area);
	s->skel->links.on_unmapped_area = NULL;
}

void capture_faults_free(struct capture *s)
{
	event_sampler_free(s->faults);
	s->faults = NULL;
}
