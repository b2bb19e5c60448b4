// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_metrics.c - see agent_metrics.h: tables of families, and how each row is written. */
#include "agent/agent_metrics.h"

#include <stddef.h>

#include "base/util.h"

/* How a value is stored in its struct. */
enum field { FIELD_U64, FIELD_U32, FIELD_NS, FIELD_REAL, FIELD_BOOL };

struct family {
	const char *name;
	enum metric_type type;
	enum field field;
	size_t offset;
	const char *help;
};

#define PREFIX "tachbpf_agent_"
#define COUNTER(name, field, member, help)                                                         \
	{ PREFIX name, METRIC_COUNTER, field, offsetof(struct agent_metrics, member), help }
#define GAUGE(name, field, member, help)                                                           \
	{ PREFIX name, METRIC_GAUGE, field, offsetof(struct agent_metrics, member), help }

static const struct family plain[] = {
	GAUGE("start_time_seconds", FIELD_NS, started_wall_ns,
	      "Start time of the agent since the epoch."),
	GAUGE("config_last_reload_successful", FIELD_BOOL, reload_ok,
	      "Whether the last configuration load succeeded."),
	GAUGE("config_last_reload_success_timestamp_seconds", FIELD_NS, reload_wall_ns,
	      "Time of the last successful configuration load since the epoch."),
	COUNTER("config_reloads", FIELD_U64, reloads,
		"Reloads of the configuration (SIGHUP)."),
	COUNTER("ticks", FIELD_U64, ticks, "Sampling clock ticks on all CPUs."),
	COUNTER("ticks_missed", FIELD_U64, ticks_missed,
		"Missing ticks of Python processes while a thread kept its CPU."),
	GAUGE("processes", FIELD_U32, processes, "Python processes being profiled."),
	GAUGE("processes_pending", FIELD_U32, processes_pending,
	      "Processes that may become Python processes soon."),
	COUNTER("processes_seen", FIELD_U64, processes_seen,
		"Python processes profiled so far."),
	GAUGE("rate_hertz", FIELD_U32, rate_hz,
	      "Effective sampling rate per CPU, after the budget."),
	GAUGE("rate_configured_hertz", FIELD_U32, rate_configured_hz,
	      "Configured sampling rate per CPU (rate)."),
	GAUGE("probability_ratio", FIELD_REAL, probability,
	      "Share of windows that are recorded."),
	GAUGE("budget_cpu_ratio", FIELD_REAL, budget_ratio,
	      "Share of the host's CPUs that the agent may use (budget.cpu); 0: no limit."),
	GAUGE("cost_cpu_ratio", FIELD_REAL, cost_ratio,
	      "Share of the host's CPUs used by the agent, as last measured by the budget."),
	GAUGE("cpus", FIELD_U32, cpus, "Online CPUs of the host."),
	COUNTER("workers_lost", FIELD_U64, workers_lost,
		"Agent processes that ended and were restarted."),
	COUNTER("windows", FIELD_U64, windows, "Finished windows."),
	COUNTER("windows_skipped", FIELD_U64, windows_skipped,
		"Windows that were skipped because of the probability."),
	GAUGE("window_seconds", FIELD_NS, window_ns, "Length of a window."),
	GAUGE("window_stacks", FIELD_U32, stacks, "Distinct stacks in the last window."),
	GAUGE("window_memory_bytes", FIELD_U64, window_bytes, "Memory used by the "
							      "window's tables."),
	GAUGE("services", FIELD_U32, services, "Known services."),
	COUNTER("encode_cpu_seconds", FIELD_NS, encode_cpu_ns,
		"CPU time spent encoding windows."),
	COUNTER("encode_failures", FIELD_U64, encode_failures,
		"Windows, or rests of windows, that were lost because they could not be encoded."),
	COUNTER("too_large_samples", FIELD_U64, too_large_samples,
		"Samples whose stack is larger than a request; they are counted under <other>."),
	COUNTER("links_left_out", FIELD_U64, links_beyond,
		"Events that lost their link to a trace, or their thread's name, because the "
		"window had too many."),
	COUNTER("held_stacks_left_out", FIELD_U64, held_beyond,
		"Allocated memory without a stack, because there were too many stacks."),
	COUNTER("services_beyond", FIELD_U64, services_beyond,
		"Processes whose service did not fit into the table; they are counted under "
		"\"other\"."),
	COUNTER("metrics_texts", FIELD_U64, scrapes, "Renderings of these metrics."),
	GAUGE("metrics_left_out", FIELD_U64, left_out,
	      "Metric samples that did not fit into the previous response."),
};

#define SPOOL_COUNTER(name, member, help) COUNTER("spool_" name, FIELD_U64, spool.member, help)
static const struct family of_spool[] = {
	GAUGE("spool_bytes", FIELD_U64, spool_bytes, "Size of the spool files."),
	GAUGE("spool_limit_bytes", FIELD_U64, spool_limit_bytes,
	      "Maximum size of the spool (spool.size)."),
	GAUGE("spool_entries", FIELD_U64, spool_entries, "Requests in the spool."),
	SPOOL_COUNTER("found_entries", found, "Requests in the spool when the agent started."),
	SPOOL_COUNTER("damaged_entries", damaged, "Damaged spool entries."),
	SPOOL_COUNTER("other_version_entries", other_version,
		      "Spool entries that were removed because another version of the agent wrote "
		      "them."),
	COUNTER("spool_killed_samples", FIELD_U64, killed_samples,
		"Samples that were lost because the last agent was killed."),
	SPOOL_COUNTER("disk_failures", disk_failures,
		      "Requests that could not be written to disk because it was full or broken."),
};

/* Machine code. */
static const struct family of_native[] = {
	COUNTER("native_frames", FIELD_U64, native.frames, "Machine code frames in samples."),
	COUNTER("native_unnamed_frames", FIELD_U64, native.unnamed,
		"Machine code frames without a symbol."),
	COUNTER("native_uncertain_stacks", FIELD_U64, native.uncertain,
		"Stacks whose Python frames did not match the interpreter's calls."),
	COUNTER("native_changed_stacks", FIELD_U64, native.changed,
		"Stacks in code that its process has changed."),
	GAUGE("native_files", FIELD_U32, native_counts.files,
	      "Files with code mapped by profiled processes."),
	COUNTER("native_tables", FIELD_U32, native_counts.tables,
		"Loaded unwind tables of libraries and executables."),
	COUNTER("native_tables_cached", FIELD_U32, native_counts.tables_cached,
		"Unwind tables that were found in the cache on disk."),
	COUNTER("native_tables_failed", FIELD_U32, native_counts.tables_failed,
		"Files for which no unwind table could be made."),
	COUNTER("native_tables_evicted", FIELD_U32, native_counts.tables_evicted,
		"Unwind tables that were evicted."),
	GAUGE("native_memory_bytes", FIELD_U64, native_counts.memory_bytes,
	      "Kernel memory used by unwind tables and mappings."),
	COUNTER("native_names", FIELD_U64, native_counts.names,
		"Addresses looked up in symbol tables."),
	COUNTER("native_names_unknown", FIELD_U64, native_counts.names_unknown,
		"Addresses for which the file has no symbol information."),
	COUNTER("native_names_mangled", FIELD_U64, native_counts.names_mangled,
		"Functions of C++ and Rust whose names take too long to demangle."),
	COUNTER("native_files_stuck", FIELD_U64, native_counts.stuck,
		"Files that did not answer when opened."),
	COUNTER("native_processes_cut", FIELD_U32, native_counts.processes_cut,
		"Processes with more mappings than the unwinder supports."),
	COUNTER("native_helper_restarts", FIELD_U64, native_counts.helper_restarts,
		"Restarts of the helper tachbpf-elf."),
};

/* Mode heap. */
#define OF_HEAP(name, field, member, help)                                                         \
	{ PREFIX "heap_" name, METRIC_COUNTER, field, offsetof(struct agent_heap_counts, member),  \
	  help }
static const struct family of_heap[] = {
	OF_HEAP("cpu_seconds", FIELD_NS, cpu_ns, "CPU time of counting objects."),
	OF_HEAP("limited", FIELD_U64, limited,
		"Counted processes of which so little could be read in the time that the figures "
		"are less exact."),
	OF_HEAP("profiles", FIELD_U64, services,
		"Profiles of objects that were made, one per service and turn."),
	OF_HEAP("types_left_out", FIELD_U64, types_left_out,
		"Types in these profiles that are counted under <other types>."),
};

/* Event loops. */
#define OF_LOOPS(name, type, field, member, help)                                                  \
	{ PREFIX "asyncio_" name, type, field, offsetof(struct loop_poll_counts, member), help }
static const struct family of_loops[] = {
	OF_LOOPS("looks", METRIC_COUNTER, FIELD_U64, looks,
		 "Looks at processes with asyncio, for tachbpf_python_asyncio_*."),
	OF_LOOPS("look_failures", METRIC_COUNTER, FIELD_U64, failed,
		 "Looks that failed: the process could not be read."),
	OF_LOOPS("cost_seconds", METRIC_COUNTER, FIELD_NS, cost_ns,
		 "CPU time of these looks, by their number of reads."),
	OF_LOOPS("late_seconds", METRIC_GAUGE, FIELD_NS, late_ns,
		 "By how much the last looks were late; more than 1 for long: 1 % of a CPU does "
		 "not suffice for so many processes."),
};

/* For each exporter with a queue. */
#define OF_COUNTS(name, member, help)                                                              \
	{ PREFIX "exporter_" name, METRIC_COUNTER, FIELD_U64,                                      \
	  offsetof(struct delivery_counts, member), help }
static const struct family of_counts[] = {
	OF_COUNTS("offered_requests", offered.requests, "Requests made for the server."),
	OF_COUNTS("offered_samples", offered.samples, "Samples in these requests."),
	OF_COUNTS("sent_requests", sent.requests, "Requests accepted by the server."),
	OF_COUNTS("sent_samples", sent.samples, "Samples in requests accepted by the server."),
	OF_COUNTS("sent_bytes", sent_bytes, "Bytes of request bodies sent, failed transfers "
					    "included."),
	OF_COUNTS("spooled_requests", spooled, "Requests that went through the spool."),
	OF_COUNTS("retries", retried, "Failed transfers that were retried."),
	OF_COUNTS("split_requests", split.requests,
		  "Requests that were split because they were too large for the server."),
	OF_COUNTS("rejected_profiles", rejected_profiles,
		  "Profiles rejected by the server in requests that it accepted."),
};

#define OF_STATE(name, field, member, help)                                                        \
	{ PREFIX "exporter_" name, METRIC_GAUGE, field,                                            \
	  offsetof(struct agent_metrics_exporter, state.member), help }
static const struct family of_state[] = {
	OF_STATE("queue_requests", FIELD_U64, waiting, "Queued requests, including those in the "
						       "spool."),
	OF_STATE("queue_bytes", FIELD_U64, waiting_bytes,
		 "Size of requests queued or in flight."),
	OF_STATE("queue_memory_bytes", FIELD_U64, memory_bytes,
		 "Size of requests that are only in memory."),
	OF_STATE("in_flight_requests", FIELD_U64, in_flight, "Requests being sent."),
	OF_STATE("failures_in_row", FIELD_U32, failures_in_row,
		 "Failed transfers since the last success; 0: the server accepts requests."),
	OF_STATE("last_status", FIELD_U32, last_status,
		 "HTTP status of the server's last response; 0: none yet."),
};
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "FIELD_U64 reads sizes, too");

#define OF_FILES(name, member, help)                                                               \
	{ PREFIX "exporter_" name, METRIC_COUNTER, FIELD_U64,                                      \
	  offsetof(struct agent_metrics_files, member), help }
static const struct family of_files[] = {
	OF_FILES("written_files", files, "Files written."),
	OF_FILES("written_bytes", bytes, "Bytes of these files."),
	OF_FILES("write_failures", failures, "Files that could not be written."),
};

static void begin_family(struct metrics_text *t, const struct family *f)
{
	metrics_family(t, f->name, f->type, f->help);
}

static void put_value(struct metrics_text *t, const struct family *f, const void *from,
		      const struct metric_label *label)
{
	const char *at = (const char *)from + f->offset;
	size_t cnt = label ? 1 : 0;

	switch (f->field) {
	case FIELD_U64:
		metrics_count(t, label, cnt, *(const uint64_t *)(const void *)at);
		break;
	case FIELD_U32:
		metrics_count(t, label, cnt, *(const uint32_t *)(const void *)at);
		break;
	case FIELD_NS:
		metrics_ns(t, label, cnt, *(const uint64_t *)(const void *)at);
		break;
	case FIELD_REAL:
		metrics_real(t, label, cnt, *(const double *)(const void *)at);
		break;
	case FIELD_BOOL:
		metrics_count(t, label, cnt, *(const bool *)(const void *)at);
		break;
	}
}

static void put_all(struct metrics_text *t, const struct family *f, size_t cnt, const void *from)
{
	for (; cnt; cnt--, f++) {
		begin_family(t, f);
		put_value(t, f, from, NULL);
	}
}

/* ---- families with a label that is not an exporter ---- */

static void put_build(const struct agent_metrics *m, struct metrics_text *t)
{
	const struct metric_label labels[] = {
		{ "version", m->version }, { "kernel", m->kernel }, { "arch", m->arch },
	};

	metrics_family(t, PREFIX "build", METRIC_INFO, "Build and host information.");
	metrics_count(t, labels, ARRAY_SIZE(labels), 1);
}

static void put_samples(const struct agent_metrics *m, struct metrics_text *t)
{
	static const char *const types[WINDOW_KIND_CNT] = {
		[WINDOW_CPU] = "cpu", [WINDOW_OFF_CPU] = "offcpu", [WINDOW_GIL_WAIT] = "gil",
		[WINDOW_EXCEPTION] = "exception", [WINDOW_ALLOC_SPACE] = "alloc_space",
		[WINDOW_INUSE_SPACE] = "inuse_space", [WINDOW_HEAP_OBJECTS] = "heap_objects",
		[WINDOW_HEAP_SPACE] = "heap_space",
	};
	size_t i;

	metrics_family(t, PREFIX "samples", METRIC_COUNTER,
		       "Samples in windows, by sample type.");
	for (i = 0; i < WINDOW_KIND_CNT; i++)
		metrics_count(t, &(struct metric_label){ "type", types[i] }, 1, m->samples[i]);
}

static void put_losses(const struct agent_metrics *m, struct metrics_text *t)
{
	static const char *const others[WINDOW_OTHER_CNT] = {
		[WINDOW_OTHER_STACKS] = "stacks", [WINDOW_OTHER_SAMPLES] = "samples",
		[WINDOW_OTHER_FRAMES] = "frames", [WINDOW_OTHER_NAMES] = "names",
		[WINDOW_OTHER_MEMORY] = "memory", [WINDOW_OTHER_EVENT] = "event",
		[WINDOW_OTHER_SERVICES] = "services",
	};
	size_t i;

	metrics_family(t, PREFIX "lost", METRIC_COUNTER,
		       "Lost samples and other records, by cause.");
	for (i = 0; i < LOSS_CNT; i++)
		metrics_count(t, &(struct metric_label){ "cause", loss_names[i].key }, 1,
			      m->lost[i]);
	metrics_family(t, PREFIX "window_other_samples", METRIC_COUNTER,
		       "Samples whose stack is <other>, or whose service is other, by the limit "
		       "that was reached.");
	for (i = 0; i < WINDOW_OTHER_CNT; i++)
		metrics_count(t, &(struct metric_label){ "cause", others[i] }, 1,
			      m->window_others[i]);
}

static void put_native(const struct agent_metrics *m, struct metrics_text *t)
{
	size_t i;

	metrics_family(t, PREFIX "native_stacks", METRIC_COUNTER,
		       "Machine code stacks, by how unwinding ended; whole: it reached the "
		       "thread's first function.");
	for (i = 0; i < NATIVE_END_CNT; i++)
		metrics_count(t, &(struct metric_label){ "end", native_end_names[i].key }, 1,
			      m->native.ends[i]);
	put_all(t, of_native, ARRAY_SIZE(of_native), m);
}

static void put_heap(const struct agent_metrics *m, struct metrics_text *t)
{
	size_t i;

	metrics_family(t, PREFIX "heap_censuses", METRIC_COUNTER,
		       "Processes whose objects were to be counted, by what became of it.");
	for (i = 0; i < AGENT_HEAP_RESULTS; i++)
		metrics_count(t, &(struct metric_label){ "result", agent_heap_results[i] }, 1,
			      m->heap->results[i]);
	put_all(t, of_heap, ARRAY_SIZE(of_heap), m->heap);
	metrics_family(t, PREFIX "heap_late_seconds", METRIC_GAUGE,
		       "How long the next service should have been counted already (heap.every); "
		       "more than 0 for long: heap.cpu is too low.");
	metrics_ns(t, NULL, 0, m->heap_late_ns);
}

static void put_cost(const struct agent_metrics *m, struct metrics_text *t)
{
	static const char *const parts[AGENT_PARTS] = {
		[AGENT_PART_MAIN] = "main", [AGENT_PART_WORKERS] = "workers",
		[AGENT_PART_BPF] = "bpf",
	};
	size_t i;

	metrics_family(t, PREFIX "cpu_seconds", METRIC_COUNTER,
		       "CPU time of the agent: its main process, its other processes, its BPF "
		       "programs.");
	for (i = 0; i < AGENT_PARTS; i++)
		metrics_ns(t, &(struct metric_label){ "part", parts[i] }, 1, m->cpu_ns[i]);
	metrics_family(t, PREFIX "resident_memory_bytes", METRIC_GAUGE,
		       "Memory used by the agent's processes.");
	for (i = 0; i < AGENT_PART_BPF; i++)
		metrics_count(t, &(struct metric_label){ "part", parts[i] }, 1, m->rss_bytes[i]);
}

/* ---- exporters ---- */

static void put_age(const struct agent_metrics *m, struct metrics_text *t)
{
	size_t i;

	metrics_family(t, PREFIX "exporter_oldest_age_seconds", METRIC_GAUGE,
		       "Age of the oldest queued request; 0: none is queued.");
	for (i = 0; i < m->exporter_cnt; i++) {
		const struct agent_metrics_exporter *e = &m->exporters[i];
		uint64_t oldest = e->state.oldest_ns;
		/* The clock may have been set back. */
		uint64_t age = oldest && oldest < m->now_wall_ns ? m->now_wall_ns - oldest : 0;

		metrics_ns(t, &(struct metric_label){ "exporter", e->name }, 1, age);
	}
}

static void put_drops(const struct agent_metrics *m, struct metrics_text *t, const char *name,
		      size_t offset, const char *help)
{
	size_t i, cause;

	metrics_family(t, name, METRIC_COUNTER, help);
	for (i = 0; i < m->exporter_cnt; i++)
		for (cause = 0; cause < DROP_CAUSES; cause++) {
			const struct delivery_sum *sum = &m->exporters[i].counts->dropped[cause];
			const struct metric_label labels[] = {
				{ "exporter", m->exporters[i].name },
				{ "cause", drop_cause_name(cause) },
			};
			const void *at = (const char *)sum + offset;

			metrics_count(t, labels, 2, *(const uint64_t *)at);
		}
}

static void put_failures(const struct agent_metrics *m, struct metrics_text *t)
{
	size_t i, cause;

	metrics_family(t, PREFIX "exporter_failures", METRIC_COUNTER,
		       "Failed transfers, by cause.");
	for (i = 0; i < m->exporter_cnt; i++)
		for (cause = CAUSE_NONE + 1; cause < SEND_CAUSES; cause++) {
			const struct metric_label labels[] = {
				{ "exporter", m->exporters[i].name },
				{ "cause", send_cause_name(cause) },
			};

			metrics_count(t, labels, 2, m->exporters[i].counts->failures[cause]);
		}
}

static void put_exporters(const struct agent_metrics *m, struct metrics_text *t)
{
	const struct agent_metrics_exporter *e;
	size_t f, i;

	for (f = 0; f < ARRAY_SIZE(of_counts); f++) {
		begin_family(t, &of_counts[f]);
		for (i = 0, e = m->exporters; i < m->exporter_cnt; i++, e++)
			put_value(t, &of_counts[f], e->counts,
				  &(struct metric_label){ "exporter", e->name });
	}
	for (f = 0; f < ARRAY_SIZE(of_state); f++) {
		begin_family(t, &of_state[f]);
		for (i = 0, e = m->exporters; i < m->exporter_cnt; i++, e++)
			put_value(t, &of_state[f], e,
				  &(struct metric_label){ "exporter", e->name });
	}
	put_age(m, t);
	put_failures(m, t);
	put_drops(m, t, PREFIX "exporter_dropped_requests", offsetof(struct delivery_sum, requests),
		  "Dropped requests, by cause.");
	put_drops(m, t, PREFIX "exporter_dropped_samples", offsetof(struct delivery_sum, samples),
		  "Samples in these requests.");
}

static void put_files(const struct agent_metrics *m, struct metrics_text *t)
{
	size_t f, i;

	for (f = 0; f < ARRAY_SIZE(of_files); f++) {
		begin_family(t, &of_files[f]);
		for (i = 0; i < m->file_cnt; i++)
			put_value(t, &of_files[f], &m->files[i],
				  &(struct metric_label){ "exporter", m->files[i].name });
	}
}

void agent_metrics_render(const struct agent_metrics *m, struct metrics_text *t)
{
	put_build(m, t);
	put_samples(m, t);
	put_losses(m, t);
	put_cost(m, t);
	put_all(t, plain, ARRAY_SIZE(plain), m);
	put_exporters(m, t);
	put_files(m, t);
	if (m->has_native)
		put_native(m, t);
	if (m->heap)
		put_heap(m, t);
	if (m->loops)
		put_all(t, of_loops, ARRAY_SIZE(of_loops), m->loops);
	if (m->has_spool)
		put_all(t, of_spool, ARRAY_SIZE(of_spool), m);
}
