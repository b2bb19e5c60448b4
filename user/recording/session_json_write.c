// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * session_json_write.c - writes a recording's results as JSON, for session.json, FILE.json and
 * --json. session_json.h has the keys that are also read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/json.h"
#include "base/util.h"
#include "recording/row_service.h"
#include "recording/session_json.h"
#include "recording/totals.h"

static void json_losses(struct json *j, const struct totals *t)
{
	int i;

	json_object(j, SESSION_LOST);
	for (i = 0; i < LOSS_CNT; i++)
		json_uint(j, loss_names[i].key, t->lost[i]);
	json_object_end(j);
	json_uint(j, "lost_total", t->lost_total);
	json_object(j, "lost_unnamed");
	for (i = 0; i < LOSS_CNT; i++)
		if (t->lost[i] > t->named[i])
			json_uint(j, loss_names[i].key, t->lost[i] - t->named[i]);
	json_object_end(j);
}

static void json_cpu_time(struct json *j, const struct recording *r,
			  const struct capture_counts *c, const struct totals *t)
{
	struct tick_sums ticks;

	if (!r->args.mode->ticks)
		return;
	tick_sums(&ticks, c, t, r->args.mode->waits);
	tick_sums_json(&ticks, j);
}

/* Returns true for causes that each process has, even if nothing was lost. */
static bool is_always_there(enum loss_cause cause)
{
	return cause == LOSS_LATE_DISCOVERY || cause == LOSS_WRITE || cause == LOSS_NO_FILE ||
	       cause == LOSS_MEMORY;
}

/* Writes the losses of the row's threads, as far as known. Often there are none. */
static void json_thread_losses(struct json *j, const struct row *row)
{
	bool no_file = row_has_no_file(row);
	const struct thread_losses *t;
	uint32_t n;
	char tid[16];
	int i;

	if (!row->losses)
		return;
	json_object(j, SESSION_LOST_THREADS);
	for (n = 0; n < row->losses->cnt; n++) {
		t = &row->losses->list[n];
		snprintf(tid, sizeof(tid), "%u", t->tid);
		json_object(j, tid);
		for (i = 0; i < LOSS_CNT; i++)
			if (t->lost[i])
				json_uint(j, loss_names[i == LOSS_WRITE && no_file ? LOSS_NO_FILE :
								i].key, t->lost[i]);
		json_object_end(j);
	}
	json_object_end(j);
}

static void json_row_losses(struct json *j, const struct row *row)
{
	bool no_file = row_has_no_file(row);
	uint64_t cnt;
	int i;

	json_object(j, SESSION_LOST);
	for (i = 0; i < LOSS_CNT; i++) {
		cnt = row_lost(&row->stats, i, no_file);
		if (cnt || is_always_there(i))
			json_uint(j, loss_names[i].key, cnt);
	}
	json_object_end(j);
	json_thread_losses(j, row);
}

static void json_member_losses(struct json *j, const struct shared_profile_member *m)
{
	bool any = false;
	int i;

	for (i = 0; i < LOSS_CNT; i++) {
		if (!m->lost[i])
			continue;
		if (!any)
			json_object(j, SESSION_LOST);
		any = true;
		json_uint(j, loss_names[i].key, m->lost[i]);
	}
	if (any)
		json_object_end(j);
}

/* A counter of the BPF side, and its key. */
struct counted {
	const char *key;
	enum counter cnt;
};

static void json_counters(struct json *j, const struct counted *list, size_t cnt,
			  const struct capture_counts *c)
{
	for (; cnt; cnt--, list++)
		json_uint(j, list->key, c->bpf[list->cnt]);
}

/*
 * Each delivered tick counts in exactly one member of "ticks" from `ends`; in a recording of
 * events, where ticks only find processes, these members are left out.
 */
static void json_ticks(struct json *j, const struct recording *r, const struct capture_counts *c)
{
	static const struct counted ends[] = {
		{ "samples", CNT_SAMPLE },
		{ "idle", CNT_IDLE },
		{ "kernel_thread", CNT_KERNEL_THREAD },
		{ "unselected", CNT_UNSELECTED },
		{ "other", CNT_OTHER },
		{ "unknown", CNT_UNKNOWN },
		{ "not_ready", CNT_NOT_READY },
		{ "ended", CNT_ENDED },
		{ "native_thread", CNT_NATIVE_THREAD },
		{ "no_frames", CNT_NO_FRAMES },
		{ "thread_state_unreadable", CNT_TSTATE_UNREADABLE },
		{ "thread_state_uncertain", CNT_TSTATE_UNCERTAIN },
		{ "ring_full", CNT_RING_FULL },
		{ "unwanted", CNT_UNWANTED },
		{ "busy", CNT_BUSY },
	};
	size_t i;

	json_object(j, "ticks");
	json_uint(j, "delivered", c->bpf[CNT_TICK]);
	json_uint(j, "missed", c->bpf[CNT_MISSED]);
	json_uint(j, "expected", c->bpf[CNT_TICK] + c->bpf[CNT_MISSED]);
	json_string(j, "source", c->hardware_cycles ? "cycles" : "cpu-clock");
	if (!r->args.mode->events)
		json_counters(j, ends, ARRAY_SIZE(ends), c);
	json_uint(j, "without_stack", r->args.mode->events ? 0 : c->bpf[CNT_NO_STACK]);
	json_uint(j, "no_event", c->no_event);
	json_uint(j, "received", c->received);
	json_array(j, "cpus");
	for (i = 0; i < c->cpu_cnt; i++) {
		json_object(j, NULL);
		json_uint(j, "cpu", c->cpus[i].cpu);
		json_uint(j, "delivered", c->cpus[i].delivered);
		json_uint(j, "missed", c->cpus[i].missed);
		json_uint(j, "expected", c->cpus[i].delivered + c->cpus[i].missed);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

/* Writes the outcome of switch-outs, in modes with waits. */
static void json_switches(struct json *j, const struct recording *r,
			  const struct capture_counts *c, const struct totals *t)
{
	static const struct counted counters[] = {
		{ "looked_at", CNT_SWITCH },
		{ "stacks", CNT_WAIT },
		{ "not_python", CNT_WAIT_NOT_PYTHON },
		{ "unwanted", CNT_WAIT_UNWANTED },
		{ "unreadable", CNT_WAIT_UNREADABLE },
		{ "ring_full", CNT_WAIT_LOST },
		{ "repeated", CNT_WAIT_SAME },
		{ "over_budget", CNT_WAIT_NOT_WALKED },
		{ "returns_lost", CNT_SWITCH_IN_LOST },
		{ "slots_taken", CNT_WAIT_SLOT_TAKEN },
	};

	if (!r->args.mode->waits)
		return;
	json_object(j, "switches");
	json_counters(j, counters, ARRAY_SIZE(counters), c);
	json_uint(j, "asleep", c->scan.threads);
	json_uint(j, "asleep_moved", c->scan.moved);
	json_uint(j, "asleep_unreadable", c->scan.lost);
	json_uint(j, "waits", t->waits.waits);
	json_uint(j, "waits_repaired", t->waits.repaired);
	json_uint(j, "waits_guessed", t->waits.guessed);
	json_object_end(j);
}

/* Writes events, with -e EVENT: each one counts in exactly one member from `ends`. */
static void json_events(struct json *j, const struct recording *r, const struct capture_counts *c)
{
	static const struct counted ends[] = {
		{ "samples", CNT_SAMPLE },
		{ "other", CNT_EVENT_OTHER },
		{ "unknown", CNT_EVENT_UNKNOWN },
		{ "passed_over", CNT_EVENT_PASSED },
		{ "native_thread", CNT_NATIVE_THREAD },
		{ "no_frames", CNT_NO_FRAMES },
		{ "beyond", CNT_EVENT_BEYOND },
		{ "busy", CNT_BUSY },
		{ "ring_full", CNT_RING_FULL },
		{ "thread_state_unreadable", CNT_TSTATE_UNREADABLE },
		{ "thread_state_uncertain", CNT_TSTATE_UNCERTAIN },
	};

	if (!r->args.mode->events)
		return;
	json_object(j, "events");
	json_uint_known(j, "every", r->args.event_every);
	json_uint(j, "seen", c->bpf[CNT_EVENT]);
	json_counters(j, ends, ARRAY_SIZE(ends), c);
	json_uint(j, "without_stack", c->bpf[CNT_NO_STACK]);
	json_object_end(j);
}

/* Writes processes that share a file. Processes without a sample count in "merged" only. */
static void json_members(struct json *j, const struct recording *r, const struct row *row)
{
	size_t i;

	json_uint(j, "merged", row->merged_cnt);
	json_array(j, SESSION_MEMBERS);
	for (i = 0; i < row->member_cnt; i++) {
		json_object(j, NULL);
		json_uint(j, SESSION_PID, row->members[i].tgid);
		identity_json(j, &row->members[i].identity, row->members[i].tgid);
		if (!row->identity.container && row->members[i].identity.container)
			container_json(j, row->members[i].identity.container);
		row_service_json(r->services, row->members[i].service, j);
		json_double(j, "begin_s", row->members[i].begin_s);
		json_double(j, "end_s", row->members[i].end_s);
		json_uint(j, "samples", row->members[i].samples);
		json_member_losses(j, &row->members[i]);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Writes how long samples took, with --self-time. */
static void json_cost(struct json *j, const struct capture_counts *c)
{
	if (!c->cost.cnt)
		return;
	json_object(j, "sample_time");
	json_uint(j, "mean_ns", c->cost.mean_ns);
	json_uint(j, "p999_ns", c->cost.p999_ns);
	json_uint(j, "max_ns", c->cost.max_ns);
	json_uint(j, "stalls", c->cost.stalls);
	json_uint(j, "stalled_ns", c->cost.stalled_ns);
	json_object_end(j);
}

/* The output that rows are written to. */
struct writing {
	struct json *j;
	const struct recording *r;
	const char *only;	/* a file's name: only its row; NULL: all */
	char version[sizeof(((struct row *)0)->version)];
	bool any, several;	/* versions of Python */
};

static bool is_left_out(const struct writing *w, const struct row *row)
{
	return w->only && (!row->named || strcmp(w->only, row->file));
}

/* Writes where a row's file is, relative to `output` if a directory, else to its directory. */
static void row_path(const struct recording *r, const struct row *row, char out[PATH_MAX])
{
	const char *slash = strrchr(r->dir_path, '/');

	if (r->args.place != PLACE_COMMAND || row->named)
		snprintf(out, PATH_MAX, "%s", row->file);
	else
		snprintf(out, PATH_MAX, "%.*s/%s", PATH_MAX - OUTPUT_NAME_MAX - 1,
			 slash ? slash + 1 : r->dir_path, row->file);
}

/* Returns true if the process, or one of those that share the file, has another root. */
static bool has_other_root(const struct row *row)
{
	size_t i;

	for (i = 0; i < row->member_cnt; i++)
		if (row->members[i].identity.root == IDENTITY_ROOT_OTHER)
			return true;
	return row->identity.root == IDENTITY_ROOT_OTHER;
}

static void json_row(void *ctx, const struct row *row)
{
	const struct process_stats *s = &row->stats;
	struct writing *w = ctx;
	struct json *j = w->j;
	char path[PATH_MAX];

	if (is_left_out(w, row))
		return;
	row_path(w->r, row, path);
	json_object(j, NULL);
	json_string(j, SESSION_FILE, row->file[0] ? path : NULL);
	if (row->merged_cnt) {
		json_null(j, SESSION_PID);
		json_null(j, "ns_pid");
		json_null(j, "uid");
		json_members(j, w->r, row);
	} else {
		json_uint(j, SESSION_PID, row->tgid);
		identity_json(j, &row->identity, row->tgid);
	}
	json_string(j, SESSION_COMM, row->comm);
	json_string(j, SESSION_COMMAND, row->command);
	container_json(j, row->identity.container);
	row_service_json(w->r->services, row->service, j);
	if (has_other_root(row))
		json_bool(j, SESSION_OTHER_ROOT, true);
	json_string(j, "python", row->version);
	json_bool(j, SESSION_FREE_THREADED, row->free_threaded);
	json_bool(j, SESSION_JIT, s->jit);
	json_double(j, "begin_s", row->begin_s);
	json_double(j, "end_s", row->end_s);
	json_uint(j, "samples", s->samples);
	json_uint(j, "native_thread", s->native_thread);
	json_uint(j, "no_frames", s->no_frames);
	json_uint(j, "threads", s->threads);
	thread_names_json(j, row->names);
	json_uint(j, "code_objects", s->code_cnt);
	json_uint(j, "code_without_lines", s->code_without_lines);
	json_uint(j, "process_reads", s->process_reads);
	json_uint(j, "truncated", s->truncated);
	json_uint(j, "shortened", s->shortened);
	json_uint(j, "frames_left_out", s->frames_left_out);
	json_uint(j, "unreadable", s->unreadable);
	json_uint(j, "switching", s->switching);
	json_uint(j, "unresolved", s->unresolved);
	if (w->r->args.features & FEATURE_NATIVE)
		native_json_process(j, s);
	if (w->r->args.async)
		async_json(j, &s->async, NULL, false);
	if (w->r->args.mode->memory)
		memory_json_process(j, &row->memory);
	json_row_losses(j, row);
	if (row->err)
		json_string(j, "error", strerror(-row->err));
	json_object_end(j);
}

static void json_processes(struct json *j, const struct recording *r, struct writing *w)
{
	size_t i;

	json_array(j, SESSION_PROCESSES);
	recording_each_row(r, json_row, w);
	json_array_end(j);
	json_uint(j, "refused_more", r->remarks.more);	/* without names */
	json_array(j, "refused");
	for (i = 0; i < r->remarks.cnt; i++) {
		json_object(j, NULL);
		json_uint(j, SESSION_PID, r->remarks.list[i].tgid);
		json_string(j, SESSION_COMM, r->remarks.list[i].comm);
		json_string(j, "reason", r->remarks.list[i].why);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Writes the platform in the format of Python's platform module: "Linux-6.1.0-13-amd64-x86_64". */
static void json_platform(struct json *j, const struct utsname *u)
{
	char platform[3 * sizeof(u->release)];

	snprintf(platform, sizeof(platform), "%s-%s-%s", u->sysname, u->release, u->machine);
	json_string(j, "platform", platform);
}

static void add_version(void *ctx, const struct row *row)
{
	struct writing *w = ctx;

	if (is_left_out(w, row))
		return;
	w->several |= w->any && strcmp(w->version, row->version);
	w->any = true;
	memcpy(w->version, row->version, sizeof(w->version));
}

/* Writes the Python version of all processes; null: it differs, or there is no process. */
static void json_python_version(struct json *j, const struct recording *r, struct writing *w)
{
	recording_each_row(r, add_version, w);
	json_string(j, "python_version", w->any && !w->several ? w->version : NULL);
}

/* Reads the environment that the DaemonSet in packaging/kubernetes sets. */
static void json_kubernetes(struct json *j)
{
	static const struct {
		const char *key, *variable;
	} names[] = {
		{ "node", "NODE_NAME" }, { "pod", "POD_NAME" }, { "namespace", "POD_NAMESPACE" },
	};
	size_t i;

	if (!getenv("NODE_NAME")) {
		json_null(j, "kubernetes");
		return;
	}
	json_object(j, "kubernetes");
	for (i = 0; i < ARRAY_SIZE(names); i++)
		json_string(j, names[i].key, getenv(names[i].variable));
	json_object_end(j);
}

static void json_where_and_when(struct json *j, const struct recording *r, struct writing *w)
{
	struct utsname u = { .sysname = "" };
	char when[32];

	uname(&u);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime(&r->start_time));
	json_string(j, "version", TACHBPF_VERSION);
	json_string(j, "host", u.nodename);
	json_kubernetes(j);
	json_string(j, SESSION_KERNEL, u.release);
	json_platform(j, &u);
	json_python_version(j, r, w);
	json_string(j, SESSION_START_TIME, when);
	json_uint(j, SESSION_START_MONOTONIC_US, r->start_ns / 1000);
	json_string(j, "output", r->args.shown ? r->args.shown : r->path);
	json_string(j, "selection", r->selection);
	if (r->trigger)
		json_string(j, "trigger", r->trigger);
	json_string(j, SESSION_MODE, r->args.mode->name);
	if (r->args.mode->events)
		json_string(j, SESSION_EVENT, r->args.event);
	json_uint(j, "rate_hz", r->args.rate_hz);
}

/* An eviction costs one more record or read, but no name is lost. */
static void json_code_cache(struct json *j, const struct capture_counts *c, const struct totals *t)
{
	json_object(j, "code_cache");
	json_uint(j, "entries", SENT_SLOTS);
	json_uint(j, "evictions", c->bpf[CNT_SENT_EVICTED]);
	json_uint(j, "records_repeated", t->repeated);
	json_uint(j, "fingerprint_evictions", c->bpf[CNT_CACHE_EVICTED]);
	json_object_end(j);
}

void recording_write_json(const struct recording *r, const struct capture_counts *c,
			  const char *only, FILE *out)
{
	struct totals t;
	struct json j;
	struct writing w = { .j = &j, .r = r, .only = only };

	totals_sum(r, c, &t);
	json_start(&j, out, true);
	json_object(&j, NULL);
	json_where_and_when(&j, r, &w);
	json_double(&j, SESSION_DURATION_S, t.elapsed_s);
	json_uint(&j, "files", r->file_cnt);
	json_uint(&j, "samples", t.samples);
	json_uint(&j, "frames", t.frames);
	json_losses(&j, &t);
	json_cpu_time(&j, r, c, &t);
	json_uint(&j, "processes_lost", r->lost_cnt);
	json_uint(&j, "unidentified", c->unidentified);
	json_uint(&j, "files_stuck", c->files_stuck);
	json_uint(&j, "workers_lost", c->workers_lost);
	json_uint(&j, "containers_beyond", c->containers_beyond);
	json_uint(&j, "containers_unnamed", c->containers_unnamed);
	json_uint(&j, "truncated", t.truncated);
	json_uint(&j, "shortened", t.shortened);
	json_uint(&j, "frames_left_out", t.frames_left_out);
	json_uint(&j, "unreadable", t.unreadable);
	json_uint(&j, "switching", t.switching);
	json_uint(&j, "unresolved", t.unresolved);
	json_uint(&j, "unverified_code", c->bpf[CNT_UNVERIFIED_CODE]);
	json_uint(&j, "unknown_bytecode", c->bpf[CNT_NO_BYTECODE]);
	json_uint(&j, "late", c->bpf[CNT_CUT_OFF]);
	json_uint(&j, "entering", c->bpf[CNT_ENTERING]);
	json_uint(&j, "code_records", c->bpf[CNT_CODE]);
	json_uint(&j, "code_records_deferred", c->bpf[CNT_CODE_LOST]);
	json_code_cache(&j, c, &t);
	if (r->args.features & FEATURE_NATIVE)
		native_json(&j, &t.native, c);
	if (r->args.async)
		async_json(&j, &t.async, c->async_others, true);
	if (r->args.mode->memory)
		memory_json(&j, &t.memory, &r->args.memory);
	json_events(&j, r, c);
	json_ticks(&j, r, c);
	json_switches(&j, r, c, &t);
	json_cost(&j, c);
	json_double(&j, "startup_cpu_s", c->startup_cpu_s);
	json_double(&j, "consumer_cpu_s", t.cpu_s);
	json_double(&j, "cpu_percent", t.elapsed_s > 0 ? 100 * t.cpu_s / t.elapsed_s : 0);
	json_processes(&j, r, &w);
	json_object_end(&j);
	fputc('\n', out);
}

void recording_print_json(const struct recording *r, const struct capture_counts *c, FILE *out)
{
	recording_write_json(r, c, NULL, out);
}
