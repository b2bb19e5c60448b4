/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * perf_map.h - the names that a process gives its JIT code in /tmp/perf-PID.map: lines "START SIZE
 * NAME" with hexadecimal numbers (Linux, tools/perf/Documentation/jit-interface.txt). The file is
 * hostile.
 */
#ifndef TACHBPF_PERF_MAP_H
#define TACHBPF_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_MAP_BYTES_MAX (64u << 20)	/* the rest is not read */
#define PERF_MAP_LINES_MAX 1000000u

struct perf_map;

/* Reads the text from the descriptor, which the caller keeps. Returns NULL with errno. */
struct perf_map *perf_map_read(int fd);
void perf_map_free(struct perf_map *m);
size_t perf_map_bytes(const struct perf_map *m);

/*
 * Finds the name at an address, from the last line that covers it, cut to size - 1 bytes. Returns
 * false if there is none.
 */
bool perf_map_find(const struct perf_map *m, uint64_t addr, char *name, size_t size,
		   uint64_t *start);

#endif
