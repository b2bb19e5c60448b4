/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap_read.h - reads the JSON of tachbpf heap (heap_json.c). The file is hostile input. */
#ifndef TACHBPF_HEAP_READ_H
#define TACHBPF_HEAP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/census.h"

/* Limits on a file, and on its processes. */
#define HEAP_FILE_BYTES_MAX (256u << 20)
#define HEAP_FILE_PROCESSES_MAX 1024

struct heap_file_process {
	int32_t pid;
	char *program;		/* printable */
	char python[24];	/* printable; "": unknown */
	struct heap_census *census;	/* time_ns is since 1970; largest is empty */
};

struct heap_file {
	struct heap_file_process *list;
	size_t cnt, cap;
};

/* Returns true if a text begins as the JSON of tachbpf heap does. */
bool heap_read_detects(const char *data, size_t len);

/*
 * Reads it. Returns 0; -ENOMEM; -EBADMSG, with a message in why. The caller must call
 * heap_file_free() in any case.
 */
#define HEAP_READ_WHY_BYTES 160
int heap_read(const char *data, size_t len, struct heap_file *out, char why[HEAP_READ_WHY_BYTES]);
void heap_file_free(struct heap_file *f);

#endif
