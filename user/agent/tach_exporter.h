/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_exporter.h - the exporter `tach`: recordings like those of `tachbpf record -a`, one after
 * the other, DIR/YYYYMMDDTHHMMSSZ each (the time when it began, UTC; "-02" follows if that is
 * taken).
 *
 * A recording ends after rotate_time or rotate_size, and the next begins with the processes that
 * live then: what is passed before is in the old one, what is passed later in the new one. An error
 * of a file ends the recording, not the agent: its samples count as lost, and another recording is
 * tried after a minute, or after rotate_time if that is less.
 *
 * All functions run in the agent's main process and thread. They write files, and wait for nothing
 * else. With dir "" the exporter is off: it only tracks live processes, so that a reload can switch
 * it on.
 */
#ifndef TACHBPF_AGENT_TACH_EXPORTER_H
#define TACHBPF_AGENT_TACH_EXPORTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct capture_counts;
struct event;
struct process;
struct profile_service;
struct record_mode_def;
struct tach_exporter;

struct tach_exporter_args {
	const char *dir;		/* "": off; copied */
	uint64_t rotate_time_ns, rotate_size_bytes;
	uint32_t keep;			/* finished recordings, without the one being written */
	uint32_t rate_hz;		/* the nominal rate: what a sample of weight 1 stands for */
	const struct record_mode_def *mode;	/* static; its unit is UNIT_SAMPLES */
	uint32_t features;		/* FEATURE_* */
	bool async;			/* as in struct recording_args */
	/*
	 * Fills in what the capture has counted (capture_counts()); NULL: nothing is known. Called
	 * when a recording begins, first by tach_exporter_new(), and when one ends. Before there is
	 * a capture it does nothing: *out is zeros.
	 */
	void (*counts)(void *ctx, struct capture_counts *out);
	void *ctx;
	/* Fills in the service of a process that leaves a recording. NULL: none is known. */
	void (*service)(void *ctx, const struct process *p, struct profile_service *out);
	void *service_ctx;
};

/* Of all recordings since tach_exporter_new(). Numbers only increase. */
struct tach_exporter_stats {
	uint64_t samples;	/* passed while the exporter was on */
	uint64_t written;	/* of these: in finished recordings */
	uint64_t lost;		/* of these: not in a file, because it could not be written */
	uint64_t recordings;	/* finished */
	uint64_t errors;	/* recordings that could not begin, or ended by an error */
	uint64_t removed;	/* old recordings removed because of keep */
	bool on, works;		/* it has a directory; a recording is being written */
};

/*
 * Opens the directory and begins a recording. A recording that cannot begin is no error: it is
 * tried again. Returns NULL with errno: no memory, or the directory cannot be used
 * (dated_dir_open()), which was logged.
 */
struct tach_exporter *tach_exporter_new(const struct tach_exporter_args *args);

/*
 * Applies what a reload has changed; all of args counts. Another directory or rate begins another
 * recording. Returns 0; or -errno after logging: everything stays as it was.
 */
int tach_exporter_configure(struct tach_exporter *e, const struct tach_exporter_args *args);

/*
 * A process is profiled from now on, and valid until its tach_exporter_end(). Call it for every
 * process, even while the exporter is off. Returns 0 or -ENOMEM: its samples will count as lost.
 */
int tach_exporter_begin(struct tach_exporter *e, struct process *p);

/*
 * An event of the process. Its frames are ids in process_tables(p). tick_ns: the total time that it
 * stands for (event.tick_ns), so that totals are right whatever the rate was. What the division by
 * the nominal interval leaves over goes to the process's next event; above the nominal rate, some
 * samples are left out. 0: it is weight times the nominal interval.
 */
void tach_exporter_event(struct tach_exporter *e, struct process *p, const struct event *ev,
			 uint32_t tick_ns);

/* The process ended at end_ns (CLOCK_MONOTONIC); 0: it may still live. */
void tach_exporter_end(struct tach_exporter *e, struct process *p, uint64_t end_ns);

/* A process that is not profiled, or only in part: as the observer's remark(). */
void tach_exporter_remark(struct tach_exporter *e, pid_t tgid, uint32_t uid, const char *comm,
			  const char *text);

/*
 * About a second has passed; it is now_ns (CLOCK_MONOTONIC). Flushes the files, so that they can be
 * read up to now; rotates when it is time. No event may be in progress.
 */
void tach_exporter_tick(struct tach_exporter *e, uint64_t now_ns);

/*
 * Finishes the recording completely, and frees. Processes may still live or have ended; counts() is
 * called once more, so the capture and the identities of processes must exist. e may be NULL.
 */
void tach_exporter_free(struct tach_exporter *e);

void tach_exporter_stats(const struct tach_exporter *e, struct tach_exporter_stats *out);
/* Returns the path of the recording being written, valid until the next call, or NULL. */
const char *tach_exporter_path(const struct tach_exporter *e);

#endif
