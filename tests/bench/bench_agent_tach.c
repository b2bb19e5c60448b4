// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_agent_tach.c - what an event costs in a plain recording and in the agent's exporter of
 * recordings, switched off and on; and how long a rotation takes: bench_agent_tach [PROCESSES]
 *
 * Processes have 2,000 code objects; events are stacks of 20 frames, whose inner ones differ.
 */
#include <time.h>

#include "agent/tach_exporter.h"
#include "recording/capture_counts.h"
#include "recording/recording.h"
#include "resolve/observer.h"
#include "resolve/process.h"
#include "resolve/record_mode.h"
#define GOLDEN_DIR ""	/* no golden file is read */
#include "tests/unit/resolve/fake_code.h"

#define EVENTS 1000000
#define STACKS 512
#define DEPTH 20
#define CODES 2000
#define ROUNDS 5

enum what { NOTHING, PLAIN, OFF, ON, WHAT_CNT };
static const char *const names[] = {
	"no observer's work", "a recording", "exporter, off", "exporter, on",
};

static struct fake_codes fake;
static char dir[64];
static uint32_t ids[STACKS][DEPTH];
static struct tach_exporter *exporter;
static struct recording *recording;

static int no_event(struct observer *o, struct process *p, const struct event *ev)
{
	return 0;
}

static const struct observer_ops no_ops = { .event = no_event };
static struct observer nobody = { &no_ops };

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* Its frames have the ids 0 to CODES - 1 or so, in the order of their first samples. */
static struct process *new_process(pid_t tgid)
{
	const struct process_args args = {
		.tgid = tgid, .start_ns = 1, .comm = "python3", .command = "bench",
		.image = &fake.img, .observer = &nobody,
	};
	struct process *p = process_new(&args);
	struct raw_sample raw = { .h = { .kind = RAW_SAMPLE, .time_ns = 1 }, .nframes = 1 };
	static struct raw_code code;
	uint32_t i;

	for (i = 0; i < CODES; i++) {
		process_take(p, &code, fake_snapshot(&fake, i, &code));
		raw.frames[0] = fake_frame(&fake, i, 2);
		process_take(p, &raw, raw_sample_bytes(raw.nframes, raw.flags));
	}
	return p;
}

static void pass(enum what what, struct process *p, const struct event *ev)
{
	switch (what) {
	case PLAIN:
		recording_observer(recording)->ops->event(recording_observer(recording), p, ev);
		break;
	case OFF:
	case ON:
		tach_exporter_event(exporter, p, ev, 0);
		break;
	default:
		no_event(NULL, p, ev);
	}
}

/* ns of CPU time an event. */
static double events(enum what what, struct process **p, int cnt)
{
	struct event ev = { .time_us = now_ns() / 1000, .nframes = DEPTH, .weight = 1 };
	double begin = cpu_ns();
	uint64_t seed = 1;
	int i;

	for (i = 0; i < EVENTS; i++) {
		ev.thread_id = 7 + (uint32_t)(i % cnt);
		ev.time_us += 10;
		ev.frames = ids[rnd(&seed) % STACKS];
		pass(what, p[i % cnt], &ev);
	}
	return (cpu_ns() - begin) / EVENTS;
}

static struct tach_exporter *new_exporter(const char *to)
{
	const struct tach_exporter_args args = {
		.dir = to, .rotate_time_ns = 1000000000000, .rotate_size_bytes = 1ull << 40,
		.keep = 2, .rate_hz = 19, .mode = &record_modes[RECORD_CPU],
	};

	return tach_exporter_new(&args);
}

static void clean(void)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -rf %s/2* %s/plain", dir, dir);
	if (system(command))
		exit(1);
}

static double round_of(enum what what, struct process **p, int cnt)
{
	struct capture_counts counts = { .bpf = (uint64_t[CNT_MAX]){ 0 } };
	char path[80];
	struct recording_args args = {
		.output = path, .place = PLACE_DIR, .compress = true, .rate_hz = 19,
		.mode = &record_modes[RECORD_CPU], .selection = "-a",
	};
	double ns;
	int i;

	snprintf(path, sizeof(path), "%s/plain", dir);
	recording = what == PLAIN ? recording_new(&args) : NULL;
	exporter = what >= OFF ? new_exporter(what == ON ? dir : "") : NULL;
	for (i = 0; i < cnt; i++) {
		if (recording)
			recording_observer(recording)->ops->begin(recording_observer(recording),
								  p[i]);
		if (exporter)
			tach_exporter_begin(exporter, p[i]);
	}
	ns = events(what, p, cnt);
	for (i = 0; i < cnt && recording; i++)
		recording_observer(recording)->ops->end(recording_observer(recording), p[i], 0);
	if (recording)
		recording_finish(recording, &counts);
	recording_free(recording);
	tach_exporter_free(exporter);
	clean();
	return ns;
}

static void rotations(struct process **p, int cnt)
{
	uint64_t now = now_ns();
	double begin;
	int i;

	exporter = new_exporter(dir);
	for (i = 0; i < cnt; i++)
		tach_exporter_begin(exporter, p[i]);
	for (i = 0; i < 4; i++) {
		events(ON, p, cnt);
		tach_exporter_tick(exporter, now);	/* flushed, as each second */
		now += 1000000000001;
		begin = cpu_ns();
		tach_exporter_tick(exporter, now);
	}
	printf("a rotation: %.1f ms of CPU, %.0f us a process\n", (cpu_ns() - begin) / 1e6,
	       (cpu_ns() - begin) / 1e3 / cnt);
	tach_exporter_free(exporter);
	clean();
}

int main(int argc, char **argv)
{
	int cnt = argc > 1 ? atoi(argv[1]) : 50, i, k;
	struct process **p = calloc(cnt, sizeof(*p));
	double best[WHAT_CNT], ns;
	uint64_t seed = 7;

	snprintf(dir, sizeof(dir), "/tmp/tachbpf-bench-XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	fake_codes_in_self(&fake, CODES);
	for (i = 0; i < cnt; i++)
		p[i] = new_process(1000001 + i);
	for (i = 0; i < STACKS; i++)
		for (k = 0; k < DEPTH; k++)
			ids[i][k] = k < 6 ? (uint32_t)(rnd(&seed) % CODES) : (uint32_t)k;
	printf("%d processes, %u frames each\n", cnt, process_tables(p[0])->frame_cnt);
	for (i = 0; i < WHAT_CNT; i++) {
		best[i] = 1e9;
		for (k = 0; k < ROUNDS; k++) {
			ns = round_of(i, p, cnt);
			best[i] = ns < best[i] ? ns : best[i];
		}
		printf("%-20s %6.1f ns an event\n", names[i], best[i]);
	}
	rotations(p, cnt);
	for (i = 0; i < cnt; i++)
		process_free(p[i]);
	free(p);
	fake_codes_free(&fake);
	return rmdir(dir);
}
