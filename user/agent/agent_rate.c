// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_rate.c - see agent_rate.h. */
#include "agent/agent_rate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/burst.h"
#include "config/config.h"
#include "agent/own_cpu.h"
#include "base/json.h"
#include "capture/capture.h"
#include "resolve/process.h"

/* 1 / p as a fraction; p is a percentage in most configurations. */
#define WEIGHT_DIV 1000000ull
/* Estimated cost of a tick besides its stack walk, an interrupt: 1 us. */
#define TICK_NS 1000

/* The start is not judged: all Python processes are inspected and named for the first time. */
#define SETTLE_NS (15 * 1000000000ull)

struct agent_rate {
	struct capture *capture;
	uint64_t host;
	double probability;
	bool limited;			/* the budget has a target */
	struct budget budget;
	struct burst burst;
	bool cut;			/* the window must end */
	bool paused;
	uint32_t every;			/* thinning in force; 1: none */
	struct own_cpu own;
	uint64_t first_ns;		/* of the first tick; 0: no tick yet */
	/* At the last step. */
	uint64_t step_ns, cpu_ns, bytes;
	bool measured;			/* step_ns, cpu_ns and bytes are known */
	uint64_t windows_skipped;
	uint64_t beside_ns;		/* agent_rate_beside() */
	bool beside_open;
};

static struct budget_targets targets_of(const struct agent_config *c)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (struct budget_targets){
		.cpu_share = c->budget.cpu_percent / 100, .cpus = cpus > 0 ? (uint32_t)cpus : 1,
		.bytes_per_minute = c->budget.bytes_per_minute,
		.min_hz = c->budget.min_rate_hz, .max_hz = c->rate_hz,
	};
}

/* ---- applying it to the capture ---- */

/* capture_chosen_fn */
static bool burst_has_process(void *ctx, struct process *p)
{
	struct agent_rate *r = ctx;

	return burst_chooses(&r->burst, process_tgid(p));
}

static void set_rate(struct agent_rate *r, uint32_t hz)
{
	int err = hz == capture_rate(r->capture) ? 0 : capture_set_rate(r->capture, hz);

	if (err)
		log_warn("the rate remains at %u Hz: %s", capture_rate(r->capture), strerror(-err));
}

/* Other processes are walked as often as before the burst, or slightly more often. */
static uint32_t burst_thinning(const struct agent_rate *r)
{
	uint32_t before = r->budget.rate_hz, every = r->burst.asked.rate_hz / before;

	if (burst_is_of_all(&r->burst) || every < 1)
		return 1;
	return every < THINNING_MAX ? every : THINNING_MAX;
}

/* Applies the rate and the thinning that budget and burst want now. */
static void carry_out(struct agent_rate *r)
{
	bool burst = r->burst.active;
	uint32_t every = burst ? burst_thinning(r) : 1;

	r->measured = false;	/* the measurement was made at another rate */
	if (!burst)
		set_rate(r, r->budget.rate_hz);
	if ((every > 1 || r->every > 1) && capture_thin(r->capture, every, burst_has_process, r)) {
		log_warn("no room for the burst's list of processes: all processes are sampled at "
			 "its rate");
		every = 1;
	}
	r->every = every;
	if (burst)
		set_rate(r, r->burst.asked.rate_hz);
}

struct agent_rate *agent_rate_new(struct capture *capture, const struct agent_config *config,
				  uint64_t host)
{
	struct agent_rate *r = calloc(1, sizeof(*r));
	struct budget_targets targets = targets_of(config);

	if (!r)
		return NULL;
	r->capture = capture;
	r->host = host;
	r->every = 1;
	r->probability = config->probability;
	r->limited = targets.cpu_share > 0 || targets.bytes_per_minute;
	budget_init(&r->budget, &targets);
	return r;
}

void agent_rate_free(struct agent_rate *r)
{
	if (!r)
		return;
	burst_end(&r->burst);
	free(r);
}

void agent_rate_configure(struct agent_rate *r, const struct agent_config *config)
{
	struct budget_targets targets = targets_of(config);

	r->probability = config->probability;
	r->limited = targets.cpu_share > 0 || targets.bytes_per_minute;
	if (r->limited)
		budget_retarget(&r->budget, &targets);
	else
		budget_init(&r->budget, &targets);
	carry_out(r);
}

/* ---- windows ---- */

/* Makes neighbours independent: MurmurHash3's final mix (Appleby, public domain). */
static uint64_t mix_bits(uint64_t v)
{
	v = (v ^ v >> 33) * 0xff51afd7ed558ccdull;
	v = (v ^ v >> 33) * 0xc4ceb9fe1a85ec53ull;
	return v ^ v >> 33;
}

static bool is_chosen(const struct agent_rate *r, uint64_t start_ns)
{
	return mix_bits(mix_bits(r->host) ^ start_ns) >> 11 < r->probability * (1ull << 53);
}

struct agent_weight agent_rate_window(struct agent_rate *r, uint64_t start_ns)
{
	bool whole = r->probability >= 1 || r->burst.active;
	struct agent_weight w = { .profiled = whole || is_chosen(r, start_ns), .mul = 1, .div = 1 };

	if (!whole) {
		w.mul = (uint64_t)(WEIGHT_DIV / r->probability + 0.5);
		w.div = WEIGHT_DIV;
	}
	r->windows_skipped += !w.profiled;
	if (r->paused == w.profiled) {
		capture_pause(r->capture, !w.profiled);
		r->measured = false;
	}
	r->paused = !w.profiled;
	return w;
}

/* ---- the budget ---- */

static uint64_t bpf_ns(struct agent_rate *r)
{
	struct capture_counts counts;

	capture_counts(r->capture, &counts);
	return capture_walk_ns(r->capture) + counts.bpf[CNT_TICK] * TICK_NS;
}

void agent_rate_beside(struct agent_rate *r, uint64_t cpu_ns, bool open)
{
	r->beside_ns = cpu_ns;
	r->beside_open = open;
}

static void step_budget(struct agent_rate *r, uint64_t now_ns, uint64_t bytes)
{
	uint64_t all = own_cpu_ns(&r->own) + bpf_ns(r);
	uint64_t cpu = all > r->beside_ns ? all - r->beside_ns : 0;
	struct budget_used used = {
		.elapsed_ns = now_ns - r->step_ns, .cpu_ns = cpu > r->cpu_ns ? cpu - r->cpu_ns : 0,
		.bytes = bytes - r->bytes,
	};
	bool measured = r->measured;

	r->step_ns = now_ns;
	r->cpu_ns = cpu;
	r->bytes = bytes;
	r->measured = true;
	if (measured && budget_step(&r->budget, &used) != capture_rate(r->capture))
		set_rate(r, r->budget.rate_hz);
}

bool agent_rate_tick(struct agent_rate *r, uint64_t now_ns, uint64_t bytes)
{
	bool cut;

	if (!r->first_ns)
		r->first_ns = now_ns;
	if (burst_expired(&r->burst, now_ns)) {
		log_info("the burst is over");
		r->cut = true;
	}
	cut = r->cut;
	r->cut = false;
	if (cut)
		carry_out(r);
	else if (r->limited && !r->burst.active && !r->paused && !r->beside_open &&
		 now_ns - r->first_ns >= SETTLE_NS &&
		 (!r->measured || now_ns - r->step_ns >= BUDGET_STEP_NS))
		step_budget(r, now_ns, bytes);
	return cut;
}

/* ---- bursts ---- */

__attribute__((format(printf, 2, 3)))
static int say_line(struct buf *out, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return buf_add(out, line, strlen(line));
}

int agent_rate_burst(struct agent_rate *r, struct ctl_request *q, uint64_t now_ns, struct buf *out)
{
	double seconds = q->for_ns / 1e9;
	int err;

	r->cut = true;		/* also on failure: the old burst has ended */
	err = burst_begin(&r->burst, q, now_ns);
	if (err) {
		say_line(out, "cannot start a burst: %s", strerror(-err));
		return EXIT_FAILURE;
	}
	say_line(out, "a burst at %u Hz for %g s, of ", r->burst.asked.rate_hz, seconds);
	burst_text(&r->burst, out);
	say_line(out, "\n");
	return EXIT_SUCCESS;
}

int agent_rate_burst_stop(struct agent_rate *r, struct buf *out)
{
	if (!r->burst.active) {
		say_line(out, "there is no burst\n");
		return EXIT_SUCCESS;
	}
	burst_end(&r->burst);
	r->cut = true;
	say_line(out, "the burst has ended\n");
	return EXIT_SUCCESS;
}

/* ---- status ---- */

void agent_rate_now(struct agent_rate *r, uint64_t now_ns, struct agent_rate_now *out)
{
	*out = (struct agent_rate_now){
		.rate_hz = capture_rate(r->capture), .configured_hz = r->budget.targets.max_hz,
		.why = r->budget.why, .paused = r->paused, .probability = r->probability,
		.cpu_share = budget_cpu_share(&r->budget), .own_cpu_ns = own_cpu_ns(&r->own),
		.main_cpu_ns = own_cpu_main_ns(), .main_rss = own_cpu_main_rss(),
		.workers_rss = own_cpu_children_rss(&r->own),
		.bpf_ns = bpf_ns(r), .burst = r->burst.active, .others_every = r->every,
		.bursts = r->burst.begun, .windows_skipped = r->windows_skipped,
	};
	if (r->burst.active && r->burst.until_ns > now_ns)
		out->burst_left_s = (r->burst.until_ns - now_ns) / 1e9;
}

int agent_rate_text(struct agent_rate *r, uint64_t now_ns, struct buf *out)
{
	struct agent_rate_now now;

	agent_rate_now(r, now_ns, &now);
	say_line(out, "rate: %u Hz of %u Hz (%s)\n", now.rate_hz, now.configured_hz,
		 now.burst ? "burst" : budget_why_name(now.why));
	say_line(out, "probability: %g%s\n", now.probability,
		 now.paused ? ", this window is not profiled" : "");
	say_line(out, "own cost: %.3f s agent, %.3f s BPF so far", now.own_cpu_ns / 1e9,
		 now.bpf_ns / 1e9);
	if (now.cpu_share > 0)	/* otherwise it is not known yet, or nothing limits it */
		say_line(out, "; recently %.3f %% of the CPUs", now.cpu_share * 100);
	say_line(out, "\n");
	if (!now.burst)
		return say_line(out, "burst: none\n");
	say_line(out, "burst: %.1f s left, others at one tick of %u, of ", now.burst_left_s,
		 now.others_every);
	burst_text(&r->burst, out);
	return say_line(out, "\n");
}

void agent_rate_json(struct agent_rate *r, uint64_t now_ns, struct json *j)
{
	struct agent_rate_now now;
	struct buf text = { 0 };

	agent_rate_now(r, now_ns, &now);
	json_uint(j, "rate_hz", now.rate_hz);
	json_uint(j, "configured_rate_hz", now.configured_hz);
	json_string(j, "limited_by", budget_why_name(now.why));
	json_double(j, "probability", now.probability);
	json_bool(j, "paused", now.paused);
	json_double(j, "cpu_share", now.cpu_share);
	json_double(j, "own_cpu_s", now.own_cpu_ns / 1e9);
	json_double(j, "bpf_cpu_s", now.bpf_ns / 1e9);
	json_uint(j, "windows_skipped", now.windows_skipped);
	json_uint(j, "bursts", now.bursts);
	if (!now.burst) {
		json_null(j, "burst");
		return;
	}
	burst_text(&r->burst, &text);
	json_object(j, "burst");
	json_double(j, "left_s", now.burst_left_s);
	json_uint(j, "others_every", now.others_every);
	json_string_n(j, "of", text.data ? (char *)text.data : "", text.len);
	json_object_end(j);
	buf_free(&text);
}
