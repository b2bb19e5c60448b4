/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * commands.h - the commands, each in its cmd_NAME.c.
 *
 * Each returns the program's exit status; each error was logged in one line.
 */
#ifndef TACHBPF_COMMANDS_H
#define TACHBPF_COMMANDS_H

struct record_options;
struct top_options;
struct dump_options;
struct heap_options;
struct info_options;
struct report_options;
struct mem_options;
struct convert_options;
struct merge_options;
struct split_options;
struct diff_options;
struct gil_options;
struct recover_options;
struct doctor_options;
struct ps_options;
struct completion_options;
struct agent_command_options;

/*
 * Records as opts say. Returns 1 after logging an error, 126 or 127 if the command cannot be
 * executed; otherwise the status of the command if that is not 0, 3 (EXIT_NO_PYTHON) after logging
 * that no Python was seen, or 0.
 */
int record_run(const struct record_options *opts);
int info_run(const struct info_options *opts);
int report_run(const struct report_options *opts);
/*
 * Writes the profiles to opts->export.output ("-": standard output) in opts->export.format; both
 * must be set.
 */
int convert_run(const struct convert_options *opts);
/*
 * As convert_run(), and opens the page in the browser. Without opts->export.output the page is put
 * into a directory that only the user can enter. EXIT_FAILURE also if the page could not be opened.
 */
int open_run(const struct convert_options *opts);
int mem_run(const struct mem_options *opts);
int merge_run(const struct merge_options *opts);
int split_run(const struct split_options *opts);
int diff_run(const struct diff_options *opts);
int gil_run(const struct gil_options *opts);
int recover_run(const struct recover_options *opts);

/* These do not read files. */
int doctor_run(const struct doctor_options *opts);
int top_run(const struct top_options *opts);
int dump_run(const struct dump_options *opts);
int heap_run(const struct heap_options *opts);
int ps_run(const struct ps_options *opts);
int completion_run(const struct completion_options *opts);
/*
 * Runs another executable in place of this one: returns only if it cannot: 126 or 127, as a shell.
 */
int agent_command_run(const struct agent_command_options *opts);

#endif
