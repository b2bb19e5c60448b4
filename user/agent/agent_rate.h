/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_rate.h - how densely the agent samples at each moment: applies the budget (rate_budget.h),
 * the choice of windows to profile (probability) and bursts (burst.h) to the capture.
 *
 * Runs in the agent's main process and never waits. A window must be of one kind: when
 * agent_rate_tick() says so, the caller ends the window, then calls agent_rate_window(), then
 * begins the next window with the weight that this returned.
 */
#ifndef TACHBPF_AGENT_RATE_H
#define TACHBPF_AGENT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/rate_budget.h"
#include "agent/ctl_request.h"

struct agent_config;
struct agent_rate;
struct capture;

/*
 * The capture was started with the configuration's rate, with .self_time if budget.cpu is not 0,
 * and with .bursts; it outlives this object. host: a stable number of this host (a hash of its
 * machine id). Returns NULL with errno on failure.
 */
struct agent_rate *agent_rate_new(struct capture *capture, const struct agent_config *config,
				  uint64_t host);
void agent_rate_free(struct agent_rate *r);

/* Applies another configuration: rate, probability, budget. A burst goes on. */
void agent_rate_configure(struct agent_rate *r, const struct agent_config *config);

/* The weight of samples: mul / div. */
struct agent_weight {
	bool profiled;		/* false: the capture is paused, the window stays empty */
	uint64_t mul, div;
};

/*
 * A window begins. Decides whether to profile it, and pauses or resumes the capture. With
 * probability p a hash of host and window decides, so that hosts choose different windows; samples
 * then count 1 / p. In a burst every window is profiled and counts 1. start_ns: the window's begin
 * on the wall clock, the same for the parts of one window.
 */
struct agent_weight agent_rate_window(struct agent_rate *r, uint64_t start_ns);

/*
 * The CPU time so far of work that has a limit of its own, mode heap: it does not depend on the
 * rate and comes at once, so the budget does not see it. open: such work goes on, and its time is
 * not known yet: the next step of the budget waits for it.
 */
void agent_rate_beside(struct agent_rate *r, uint64_t cpu_ns, bool open);

/*
 * Call it in the loop: it reads two clocks, and takes a step of the budget every BUDGET_STEP_NS.
 * bytes: handed to exporters so far. Returns true if the window must end now because a burst began
 * or ended.
 */
bool agent_rate_tick(struct agent_rate *r, uint64_t now_ns, uint64_t bytes);

/*
 * ctl: begins a burst (takes what q owns) or ends it with the next agent_rate_tick(). Appends a
 * line for the user to *out. Returns the exit status.
 */
int agent_rate_burst(struct agent_rate *r, struct ctl_request *q, uint64_t now_ns, struct buf *out);
int agent_rate_burst_stop(struct agent_rate *r, struct buf *out);

/* For metrics and status. */
struct agent_rate_now {
	uint32_t rate_hz;		/* in force; of the chosen processes in a burst */
	uint32_t configured_hz;
	enum budget_why why;		/* what lowers the rate */
	bool paused;			/* this window is not profiled */
	double probability;
	double cpu_share;		/* share of the host's CPUs that we used recently, 0 to 1 */
	uint64_t own_cpu_ns, main_cpu_ns;	/* agent and workers so far; main process only */
	uint64_t main_rss, workers_rss;	/* bytes */
	uint64_t bpf_ns;		/* stack walks of the BPF programs so far */
	bool burst;
	double burst_left_s;
	uint32_t others_every;		/* in a burst: others are walked at every Nth tick */
	uint64_t bursts;		/* so far */
	uint64_t windows_skipped;	/* not profiled, so far */
};
void agent_rate_now(struct agent_rate *r, uint64_t now_ns, struct agent_rate_now *out);

/* Writes lines "name: value" for people; or members of an open object. */
struct json;
int agent_rate_text(struct agent_rate *r, uint64_t now_ns, struct buf *out);
void agent_rate_json(struct agent_rate *r, uint64_t now_ns, struct json *j);

#endif
