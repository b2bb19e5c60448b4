/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_wire.h - messages between main process, file opener and helpers (elf_wire.h): sends and
 * receives them, and defines those between main process and opener.
 */
#ifndef TACHBPF_NATIVE_WIRE_H
#define TACHBPF_NATIVE_WIRE_H

#include <stdbool.h>

#include "elf_helper/elf_wire.h"

enum opener_message_kind {
	/* main -> opener */
	OPENER_HELPER = 64,	/* flags: enum elf_role. With the opener's end of the socket to
				 * this helper, to which it passes data, the secret, as its first
				 * PASS_MORE */
	OPENER_MAPS,		/* data: struct elf_place; answered by MAPS */
	OPENER_PASS,		/* pass this file, whose descriptor we own; answered by OPENED */
	OPENER_CACHED,		/* answers WANT_CACHE, passed on as PASS_MORE */
	OPENER_DEBUG,		/* with the descriptor of this file's debug file, in case that the
				 * opener finds none */
	OPENER_PATHS,		/* data: struct elf_place, then paths, each with its NUL: the first
				 * that is a regular file. With file 0 answered by FOUND; else it
				 * must have dev and ino of the place, is passed on, and answered
				 * by OPENED */
	/* opener -> main */
	FOUND,			/* data: struct opener_found and its path */
	MAPS,			/* data: `cnt` times struct opener_map followed by its path */
	/* main -> cache */
	CACHE_BEGIN = 128,	/* data: the directory's path; answered by CACHE_READY */
	CACHE_OPEN,		/* data: uint64_t hash[2]; answered by CACHE_OPENED */
	CACHE_STORE,		/* data: uint64_t hash[2]; with the table's descriptor */
	/* cache -> main */
	CACHE_READY,		/* data: the secret */
	CACHE_OPENED,		/* with the table's descriptor, unless result is an error */
	/* main -> the worker that asks debuginfod */
	DEBUG_BEGIN = 192,	/* data: the servers' URLs, with NUL */
	DEBUG_FIND,		/* data: a build id; answered by DEBUG_FOUND */
	/* that worker -> main */
	DEBUG_FOUND,		/* with the file's descriptor, unless result is an error */
};

/* flags of OPENER_MAPPED, _PERF_MAP, _PASS and _PATHS: the helpers that get the file */
enum { OPEN_FOR_TABLES = 1, OPEN_FOR_NAMES = 2 };

#define NATIVE_SECRET_BYTES 192

/* A mapping with code. */
struct opener_map {
	uint64_t start, end, offset;
	uint64_t dev, ino;	/* 0: no file */
	uint32_t path_bytes;	/* of the path that follows, with NUL; next struct aligned to 8 */
	uint32_t flags;
};
/* flags: the process has changed this code since it mapped the file */
enum { OPENER_CHANGED = 1 };
#define OPENER_PATH_MAX 4096u

/* A file that no process has mapped so far. */
struct opener_found {
	uint64_t dev, ino;	/* as in opener_map, when it is mapped */
	char path[OPENER_PATH_MAX];	/* without links; in messages up to its NUL */
};

/*
 * Sends m and m->bytes of data, with a descriptor that the caller keeps (-1: none). Does not wait.
 * Returns 0; -EAGAIN if the other side has not taken earlier messages; another -errno.
 */
int native_send(int fd, const struct elf_message *m, const void *data, int passed);

/*
 * Receives a message; data has room for ELF_WIRE_BYTES. *passed: its descriptor, which the caller
 * closes; -1: none. Does not wait. Returns 0; -EAGAIN: there is none; -EPIPE: the other end is
 * closed; -EBADMSG: it is malformed; another -errno.
 */
int native_receive(int fd, struct elf_message *m, void *data, int *passed);

/* Returns true if the data of a MAPS is well-formed. */
bool opener_maps_ok(const struct elf_message *m, const void *data);
/* Returns the mapping at *at in well-formed data, and advances *at past it. */
const struct opener_map *opener_maps_next(const void *data, uint32_t *at, const char **path);

#endif
