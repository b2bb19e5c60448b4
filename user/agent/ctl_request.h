/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ctl_request.h - what `tachbpf agent ctl` asks a running agent, and the answer, as lines of JSON.
 *
 * Both sides use it: ctl_command.c writes requests and reads answers, ctl.c does the reverse. A
 * request comes from root, but is not trusted: each of its sizes is limited.
 */
#ifndef TACHBPF_AGENT_CTL_REQUEST_H
#define TACHBPF_AGENT_CTL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/util.h"
#include "target/proc_filter.h"

#define CTL_REQUEST_MAX 4096		/* bytes, including the newline */
#define CTL_ANSWER_MAX (256 * 1024)
#define CTL_CONDITIONS_MAX 32
#define CTL_PIDS_MAX 64
#define CTL_RATE_MAX_HZ 50000
#define CTL_BURST_MAX_NS (3600 * 1000000000ull)

enum ctl_what { CTL_STATUS, CTL_BURST, CTL_BURST_STOP, CTL_RELOAD };

struct ctl_request {
	enum ctl_what what;
	bool limited;			/* ctl.c: it is from a member of the group */
	bool json;			/* CTL_STATUS: the output is JSON */
	uint32_t rate_hz;		/* CTL_BURST, like the next four */
	uint64_t for_ns;
	struct proc_filter filter;	/* conditions; none: all processes */
	pid_t pids[CTL_PIDS_MAX];	/* only these; none: all */
	size_t pid_cnt;
};

void ctl_request_free(struct ctl_request *r);

/* Appends the request as a line. Returns 0; -ENOMEM; or -E2BIG: longer than CTL_REQUEST_MAX. */
int ctl_request_write(const struct ctl_request *r, struct buf *line);

/*
 * Reads a line, without its newline, into *r, which the caller frees in any case. Returns 0; or
 * -EINVAL or -ENOMEM with a message for the user in why[].
 */
#define CTL_WHY_BYTES 256
int ctl_request_read(struct ctl_request *r, const void *line, size_t len, char why[CTL_WHY_BYTES]);

/* Appends the answer as a line. status: the client's; text: any bytes. Returns 0 or -ENOMEM. */
int ctl_answer_write(int status, const void *text, size_t len, struct buf *line);

/* Reads an answer and appends its text to *text. Returns the exit status, or -EINVAL. */
int ctl_answer_read(const void *line, size_t len, struct buf *text);

#endif
