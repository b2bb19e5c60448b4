/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_opener.h - the helper's side of its socket to the opener: receives files, sends requests. */
#ifndef TACHBPF_ELF_OPENER_H
#define TACHBPF_ELF_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_helper/elf_channel.h"
#include "elf_helper/elf_files.h"

/* A request that is not answered within this time has no file. A disk may be slow. */
#define ELF_OPENER_WAIT_MS 5000

struct elf_opener {
	int fd;
	struct elf_files *files;
	uint32_t request;	/* number of the last request */
	bool has_secret;
	uint8_t secret[ELF_SECRET_BYTES];
};

/* Takes all messages of the opener. Returns 0; -EPIPE: it has ended; -EBADMSG; another -errno. */
int elf_opener_take(struct elf_opener *o);

/*
 * Requests a file: kind WANT_*, about the file of this number. Returns its descriptor, owned by the
 * caller; -ENOENT: there is none; -ETIMEDOUT; another -errno.
 */
int elf_opener_ask(struct elf_opener *o, uint32_t kind, uint32_t file, const void *data,
		   size_t bytes);

/* Sends the table to be stored. Returns 0 or -errno. */
int elf_opener_store(struct elf_opener *o, uint32_t file, const uint64_t hash[2], int table);

#endif
