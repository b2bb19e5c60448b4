/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * top_state.h - `tachbpf top`: its capture, and its screen: the user's choices, the rows of the
 * current view, and who changes them.
 */
#ifndef TACHBPF_TOP_STATE_H
#define TACHBPF_TOP_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "commands/top_table.h"
#include "host/containers.h"
#include "live/memory_trend.h"
#include "resolve/record_mode.h"
#include "target/proc_filter.h"

struct canvas;
struct capture;
struct identities;
struct json;
struct live;
struct live_hot_line;
struct live_process;
struct live_recent;
struct live_sums;
struct loop_poll;
struct process;
struct profile_tables;
struct top_cells;
struct top_labels;
struct top_memory;
struct top_options;
struct top_ui;

/* ---- the capture behind it, and its counts (top_session.c) ---- */

struct top_session {
	const struct top_options *opts;
	struct proc_filter conditions;
	struct identities *identities;
	struct live *live;
	struct capture *capture;
	struct top_labels *labels;
	struct top_memory *memory;
	struct loop_poll *loops;	/* NULL: without --async */
	uint64_t start_ns;		/* CLOCK_MONOTONIC */
	uint64_t next_second_ns;
};

/*
 * Starts sampling in this mode, with this rate (0: the default). stacks: keep them, too. 0 or
 * -errno, which was logged; in any case top_session_end() must be called.
 */
int top_session_begin(struct top_session *s, const struct top_options *opts, enum record_mode mode,
		      uint32_t rate_hz, bool stacks);
/* Takes records for up to ms. *second: another second has passed. 0 or -errno. */
int top_session_poll(struct top_session *s, int ms, bool *second);
/* Returns true if a signal has come, or if all named processes have ended. */
bool top_session_over(struct top_session *s);
/* Stops and frees everything. 0 or -errno. */
int top_session_end(struct top_session *s);

/* ---- the screen ---- */

/* The list of processes, and the views of one of them in the order of their tabs. */
enum top_view {
	VIEW_PROCESSES, VIEW_FUNCTIONS, VIEW_THREADS, VIEW_CALLERS, VIEW_TREE, VIEW_GIL,
	VIEW_CNT,
};

#define TOP_FILTER_BYTES 64
/* "0.84 s", and the line about an event loop. */
#define TOP_LAG_BYTES 24
#define TOP_LOOP_BYTES 160
/* Columns by which rows can be sorted. */
#define TOP_VALUES TOP_SORTS

/* The user's choices. They persist when the mode changes, in memory that the processes share. */
struct top_choice {
	enum record_mode mode;		/* cpu, wall or gil */
	uint32_t rate_hz;
	enum top_view view;
	pid_t entered;			/* the process of the views; 0: none */
	bool since_start;		/* else the last seconds */
	bool lines;			/* functions are separated by line */
	bool help;
	bool typing;			/* the filter */
	char filter[TOP_FILTER_BYTES];	/* "": all rows */
	unsigned int sort[VIEW_CNT];	/* the value to sort by, of each view */
};

/* One row of the current view. */
struct top_row {
	char *text;			/* printable, of this screen's width; owned */
	char *match;			/* the same in full, for the filter; NULL: text; owned */
	uint64_t id;			/* identifies the selected row: a pid, a function, a
					 * thread */
	uint64_t function;		/* its file and function, as ids; 0: not a function's */
	double values[TOP_VALUES];	/* to sort by, the largest first */
};

struct top_rows {
	struct top_row *rows;		/* cnt of them, all of the view */
	size_t cnt;
	char title[512];		/* of the host or of the process; printable */
	char columns[256];		/* headings */
	char loop[TOP_LOOP_BYTES];	/* a line above them; "": none */
};

/* The screen while it runs. */
struct top_ui {
	struct top_choice *choice;
	struct top_session *session;
	struct live_recent *recent;	/* of the selected process */
	struct top_rows rows;
	size_t *shown;			/* the rows that pass the filter, in order; shown_cnt of
					 * them */
	size_t shown_cnt;
	size_t cursor, first;		/* in shown: the selected row, and the first one on the
					 * screen */
	bool follows;			/* the cursor stays on the row with the id `chosen`; in the
					 * first place it stays there, whatever the row */
	uint64_t chosen;
	size_t height;			/* rows that fit on the screen */
	uint32_t file, func;		/* of VIEW_CALLERS */
	uint64_t window_ns;		/* when the window for hottest lines began */
	bool paused, quit, restart;	/* restart: the mode has changed */
	char message[256];		/* the last line; "": the keys */
	char logged[256];		/* what terminal_last_message() said, since logged_ns */
	uint64_t logged_ns;
};

/* Returns the names of the sort orders of a view; cnt of them, 0: it has a fixed order. */
const char *const *top_sort_names(enum top_view view, unsigned int *cnt);

/* Shows the screen until the user ends it. 0 or -errno, which was logged. */
int top_screen_run(const struct top_options *opts);

/* ---- text of rows and titles, also for the tables without a screen ---- */

/* printf to new memory, to be freed; NULL: no memory. */
__attribute__((format(printf, 1, 2))) char *top_text(const char *format, ...);

/*
 * Sets out to where a process runs: its container, unit or user. Any bytes. Returns true for a
 * container or unit.
 */
bool top_where(const struct process *p, char out[CONTAINER_LABEL_BYTES]);

/*
 * Returns "app.py:7 handle", or without a line "app.py handle": printable, to be freed; NULL: no
 * memory. file, func: strings of t.
 */
char *top_line(const struct profile_tables *t, uint32_t file, uint32_t func, int32_t line);

/* Returns the time that the counts of processes cover, in ns. now: now_ns(). */
uint64_t top_span(const struct top_ui *ui, uint64_t now);

/* Writes "cpu mode", "99 Hz" and "last 10 s". */
void top_say_what(const struct top_ui *ui, uint64_t span_ns, char mode[32], char rate[16],
		  char last[48]);

/* What the sums of a row are of. */
struct top_span {
	uint64_t ns;
	uint32_t rate_hz;
};

/* What is shown of a process besides its samples. */
struct top_facts {
	const char *label;		/* printable */
	uint64_t rss;			/* resident memory in bytes; 0: unknown */
	struct memory_growth growth;	/* of the rss */
	char lag[TOP_LAG_BYTES];	/* of its event loops; "-": unknown; "": not wanted */
};

/* since_start: the growth since the start, else in the last minute. */
struct top_facts top_facts_of(struct top_session *s, const struct process *p, bool since_start);

/* Fills the cells of a process; freed by top_cells_free(). */
void top_cells_make(const struct live_process *p, const struct live_sums *s,
		    const struct live_hot_line *hot, const struct top_span *span,
		    const struct top_facts *facts, struct top_cells *out);

/* Sets the values that a process is sorted by; the largest comes first. */
void top_values_make(const struct live_process *p, const struct live_sums *s,
		     const struct top_facts *facts, double values[TOP_SORTS]);

/* ---- what processes are called (top_labels.c) ---- */

/* NULL: no memory. */
struct top_labels *top_labels_new(void);
void top_labels_free(struct top_labels *l);
/*
 * Returns what people recognise a process by: command_label() of its command line, which a process
 * may change. Printable; valid until the next call of top_labels_forget().
 */
const char *top_label(struct top_labels *l, const struct process *p);
/* Forgets processes that nobody has asked for in the last minute. To be called once a second. */
void top_labels_forget(struct top_labels *l);

/* ---- how much memory processes have (top_memory.c) ---- */

/* NULL: no memory. */
struct top_memory *top_memory_new(void);
void top_memory_free(struct top_memory *m);
/*
 * Reads the resident memory of the processes: a file of /proc each, at most TOP_READS_MAX of them;
 * with more, each is read less often. Forgets processes that have ended. To be called once a
 * second.
 */
#define TOP_READS_MAX 500
void top_memory_second(struct top_memory *m, struct live *l);
/* Sets facts->rss and growth, of the last time that they were read. */
void top_memory_of(struct top_memory *m, const struct process *p, bool since_start,
		   struct top_facts *facts);

/* ---- how event loops fare, with --async (top_loops.c) ---- */

/* Says which processes there are. To be called once a second. */
void top_loops_second(struct top_session *s);
/* For how many of these ms to wait until the next look at a loop. */
int top_loops_wait_ms(const struct top_session *s, int ms);
/* Writes by how much what was due was late, over the interval. */
void top_loops_lag(const struct top_session *s, const struct process *p, char out[TOP_LAG_BYTES]);
/* Writes the line about its loops over the last seconds; "": none was seen. */
void top_loops_line(const struct top_session *s, const struct process *p, uint32_t seconds,
		    char out[TOP_LOOP_BYTES]);
/* Writes the member "asyncio": null, or an object. */
void top_loops_json(const struct top_session *s, const struct process *p, struct json *j);

/* ---- rows ---- */

/* Makes ui->rows from the counts. columns: the width of the screen. 0 or -ENOMEM. */
int top_rows_make(struct top_ui *ui, size_t columns);
/* The same for a view of one process. */
int top_views_make(struct top_ui *ui, size_t columns);
void top_rows_free(struct top_rows *r);

/* Filters and sorts the rows, and keeps the cursor on its row. 0 or -ENOMEM. */
int top_rows_choose(struct top_ui *ui);

/*
 * Handles a key (live/keys.h). For w, which writes a flame graph, ui->message says where it is, or
 * why it was not written.
 */
void top_key(struct top_ui *ui, int key);

#endif
