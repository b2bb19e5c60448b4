/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_wire.h - messages between main process, file opener and helpers (elf_wire.h): sending and
 * receiving, and what only main process and opener say to each other.
 */
#ifndef TACHBPF_NATIVE_WIRE_H
#define TACHBPF_NATIVE_WIRE_H

#include <stdbool.h>

#include "elf_helper/elf_wire.h"

enum opener_message_kind {
	/* main -> opener */
	OPENER_HELPER = 64,	/* flags: enum elf_role. With the opener's end of the socket to this
				 * helper, to which it passes data, the secret, as its first
				 * PASS_MORE */
	OPENER_MAPS,		/* data: struct elf_place; answered by MAPS */
	OPENER_PASS,		/* pass this descriptor, which is ours; answered by OPENED */
	OPENER_CACHED,		/* answers WANT_CACHE, which opener passes on: passed as PASS_MORE */
	/* opener -> main */
	MAPS,			/* data: struct opener_map with its path behind it, `cnt` times */
	/* main -> cache */
	CACHE_BEGIN = 128,	/* data: the directory's path; answered by CACHE_READY */
	CACHE_OPEN,		/* data: uint64_t hash[2]; answered by CACHE_OPENED */
	CACHE_STORE,		/* data: uint64_t hash[2]; with the table's descriptor */
	/* cache -> main */
	CACHE_READY,		/* data: the secret */
	CACHE_OPENED,		/* with the table's descriptor, unless result says why not */
};

/* flags of OPENER_MAPPED, OPENER_PERF_MAP, OPENER_PASS: which helpers get the file */
enum { OPEN_FOR_TABLES = 1, OPEN_FOR_NAMES = 2 };

#define NATIVE_SECRET_BYTES 192

/* A mapping with code. */
struct opener_map {
	uint64_t start, end, offset;
	uint64_t dev, ino;	/* 0: no file */
	uint32_t path_bytes;	/* of the path behind it with its NUL; the next one is aligned to 8 */
	uint32_t pad;
};
#define OPENER_PATH_MAX 4096u

/*
 * Send m and the m->bytes of data, with a descriptor that stays the caller's (-1: none). Does not
 * wait. 0; -EAGAIN: the other side has not taken the messages before; other -errno.
 */
int native_send(int fd, const struct elf_message *m, const void *data, int passed);

/*
 * Receive a message; data has room for ELF_WIRE_BYTES. *passed: its descriptor, which the caller
 * closes; -1: none. Does not wait. 0; -EAGAIN: there is none; -EPIPE: the other end is closed;
 * -EBADMSG: it has not the form of a message; other -errno.
 */
int native_receive(int fd, struct elf_message *m, void *data, int *passed);

/* Has the data of a MAPS the form that it should have? */
bool opener_maps_ok(const struct elf_message *m, const void *data);
/* Of well-formed data: the mapping at *at, and *at moved behind it. */
const struct opener_map *opener_maps_next(const void *data, uint32_t *at, const char **path);

#endif
