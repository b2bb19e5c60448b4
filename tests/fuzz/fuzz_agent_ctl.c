// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_agent_ctl.c - any bytes as a request to the agent's socket, and as its answer. What is taken
 * is within its bounds, and is taken again when it was written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ctl_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right)
{
	if (!right)
		abort();
}

static void read_again(const struct ctl_request *r)
{
	struct ctl_request again;
	char why[CTL_WHY_BYTES];
	struct buf line = { 0 };
	int err = ctl_request_write(r, &line);

	if (!err) {
		check(!ctl_request_read(&again, line.data, line.len - 1, why));
		check(again.what == r->what && again.rate_hz == r->rate_hz &&
		      again.for_ns == r->for_ns && again.filter.cnt == r->filter.cnt &&
		      again.pid_cnt == r->pid_cnt);
		ctl_request_free(&again);
	}
	buf_free(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf text = { 0 };
	struct ctl_request r;
	char why[CTL_WHY_BYTES];
	int status;

	if (ctl_request_read(&r, data, size, why)) {
		check(memchr(why, '\0', sizeof(why)) && why[0]);
	} else if (r.what == CTL_BURST) {
		check(r.rate_hz && r.rate_hz <= CTL_RATE_MAX_HZ && r.for_ns &&
		      r.for_ns <= CTL_BURST_MAX_NS && r.pid_cnt <= CTL_PIDS_MAX);
		read_again(&r);
	}
	ctl_request_free(&r);
	status = ctl_answer_read(data, size, &text);
	check(status == -EINVAL || (status >= 0 && status <= 255));
	buf_free(&text);
	return 0;
}
