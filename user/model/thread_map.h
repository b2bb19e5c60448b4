/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread_map.h - (thread, interpreter) become dense indices from 0.
 */
#ifndef TACHBPF_THREAD_MAP_H
#define TACHBPF_THREAD_MAP_H

#include <stdint.h>

struct thread_map;

/* NULL with errno. */
struct thread_map *thread_map_new(void);
void thread_map_free(struct thread_map *m);

/* The index, given in order of first sight, in *index. 0 or -ENOMEM. */
int thread_map_get(struct thread_map *m, uint64_t thread_id, uint32_t interp_id, uint32_t *index);

#endif
