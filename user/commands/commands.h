/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * commands.h - the commands that work on files: a cmd_NAME.c for each.
 *
 * Each returns the program's exit status, having logged every error in one line.
 */
#ifndef TACHBPF_COMMANDS_H
#define TACHBPF_COMMANDS_H

struct file_options;
struct options;

int info_run(const struct file_options *opts);
int report_run(const struct file_options *opts);
int replay_run(const struct file_options *opts);
int mem_run(const struct file_options *opts);
int convert_run(const struct file_options *opts);
int merge_run(const struct file_options *opts);
int split_run(const struct file_options *opts);
int diff_run(const struct file_options *opts);
int gil_run(const struct file_options *opts);
int recover_run(const struct file_options *opts);

/* Works on no file: of its options only --json is looked at. */
int doctor_run(const struct file_options *opts);

/* The Pythons that meet record's conditions. */
int ps_run(const struct options *o);

#endif
