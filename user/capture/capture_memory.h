/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_memory.h - when the pages of which process are looked at, in --mode mem: new ones within
 * some 30 ms, all of them once in an interval and at the end. Without that mode all functions do
 * nothing.
 */
#ifndef TACHBPF_CAPTURE_MEMORY_H
#define TACHBPF_CAPTURE_MEMORY_H

struct capture;

/*
 * When the ring buffer is there, and before rights are given up: start the worker. 0 or -errno;
 * logs why.
 */
int capture_memory_start(struct capture *s);
/* Can be read when capture_memory_poll() has something to do; only after capture_memory_start(). */
int capture_memory_fd(const struct capture *s);
void capture_memory_free(struct capture *s);
/* How long a record may wait, in milliseconds; batch: without --mode mem. */
int capture_memory_batch(const struct capture *s, int batch);
/* Take answers, ask what must be asked. To be called at each capture_poll(). */
void capture_memory_poll(struct capture *s);
/* The recording ends: look at all pages of all processes, for 2 s at most. */
void capture_memory_stop(struct capture *s);

#endif
