/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * output_name.h - which format an output file has by its name: of convert, and of record, whose
 * -o profile.svg is a recording that is converted at its end (record_export.c).
 */
#ifndef TACHBPF_OUTPUT_NAME_H
#define TACHBPF_OUTPUT_NAME_H

struct export_options;
struct record_options;
struct sink_ops;

/*
 * Sets the format by the output's name if --format is not given; a name without an ending is TACH.
 * Returns 0, or -EINVAL after logging which names there are.
 */
int output_name_convert(struct export_options *e);

/*
 * Chooses what record -o means. If the name is that of a format, sets r->export, and the recording
 * itself goes to a directory next to it. Names of recordings (.tach, .mlyze, no ending) change
 * nothing. Returns 0, or -EINVAL after logging why there cannot be a file of that name.
 */
int output_name_record(struct record_options *r);

/* Prints, on standard error, what reads a file of this format; word: its name for a shell. */
void output_name_print_ways(const struct sink_ops *format, const char *word);

#endif
