/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * debug_asker.h - the worker (worker_converse()) that asks debuginfod servers for debug files: a
 * process without rights, as nobody, that can write only its own cache. It takes DEBUG_BEGIN, then
 * DEBUG_FIND, which it answers by DEBUG_FOUND (native_wire.h).
 */
#ifndef TACHBPF_DEBUG_ASKER_H
#define TACHBPF_DEBUG_ASKER_H

#define DEBUG_FILE_BYTES (1ull << 30)	/* of one file; larger ones are not downloaded */
#define DEBUG_FILE_S 60			/* time for one file */
/* Of what is kept, with a quarter more until it is pruned; also of what servers do not have. */
#define DEBUG_CACHE_BYTES (4ull << 30)
#define DEBUG_CACHE_FILES 8192u

/*
 * For the main process, while it has its rights: makes and opens the cache's directory, to be
 * passed to the worker. Returns a descriptor that the caller closes, or -errno.
 */
int debug_cache_open(const char *path);

#endif
