/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_channel.h - sends and receives the messages of elf_wire.h, and checks their form. */
#ifndef TACHBPF_ELF_CHANNEL_H
#define TACHBPF_ELF_CHANNEL_H

#include <stdint.h>

#include "elf_helper/elf_wire.h"

/* A message followed by data, of which head.bytes are valid. */
struct elf_packet {
	struct elf_message head;
	uint8_t data[ELF_WIRE_BYTES] __attribute__((aligned(8)));
};

/*
 * Sends a message with head->bytes of data, and a descriptor (-1: none), which the caller keeps.
 * Waits while the socket is full. Returns 0 or -errno.
 */
int elf_channel_send(int fd, const struct elf_message *head, const void *data, int passed);

/*
 * Receives a message; *passed: its descriptor, owned by the caller, or -1. flags: as for
 * recvmsg(2). Returns 0; -EAGAIN: there is none; -EPIPE: the other end is closed; -EBADMSG: it is
 * malformed; another -errno.
 */
int elf_channel_receive(int fd, struct elf_packet *p, int *passed, int flags);

#endif
