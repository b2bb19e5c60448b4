/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* thread_map.h - gives dense indices from 0 to pairs of thread and interpreter. */
#ifndef TACHBPF_THREAD_MAP_H
#define TACHBPF_THREAD_MAP_H

#include <stdint.h>

struct thread_map;

/* Returns NULL with errno. Freed by thread_map_free(). */
struct thread_map *thread_map_new(void);
void thread_map_free(struct thread_map *m);

/* Finds or adds an index, in order of first occurrence, in *index. Returns 0 or -ENOMEM. */
int thread_map_get(struct thread_map *m, uint64_t thread_id, uint32_t interp_id, uint32_t *index);

#endif
