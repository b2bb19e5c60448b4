/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * parser.h - reads ELF files that others have made, in a worker (worker.h) that has no
 * capabilities, opens nothing and has little memory.
 *
 * All descriptors stay the caller's. Errors of all functions: -EBUSY: the file did not answer in
 * time (it may be backed by a FUSE server that never does), or there is no parser; or the errors of
 * the function that the worker calls. Not all results of a worker can be trusted; they have the
 * documented form, whatever the file contains.
 */
#ifndef TACHBPF_PARSER_H
#define TACHBPF_PARSER_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "bpf/abi_async.h"
#include "cpython/image.h"
#include "elf/elf_sdt.h"
#include "elf/elf_tls.h"
#include "host/containers.h"
#include "worker/worker.h"

extern const struct worker_kind parser_kind;

/* What the parser's owner needs to know while it waits for the parser's user. */
struct parser_use {
	uint32_t beats;		/* counts up while the parser computes, or waits for a disk */
	uint32_t lost;		/* not 0: the parser did not answer, or has ended. The owner must
				 * give it up, and pass another. */
};

/*
 * From now on, use a parser that another process owns (worker_adopt()). Without this call, a
 * process has its own. 0 or -errno.
 */
int parser_adopt(const int fds[WORKER_FDS_MAX], pid_t pid);

/*
 * From now on, the files of all calls belong to this process; 0: to none. A parser that a file
 * blocks counts against the process' user. use: receives what happens to the parser.
 */
void parser_for(pid_t about, struct parser_use *use);

/* Read the CPython in a file: cpython_image_read(). */
int parser_image(int fd, struct cpython_image *img, char *why, size_t why_size);

/* Read len bytes of a file's memory image, at most PARSER_BYTES_MAX: elf_file_read(). */
#define PARSER_BYTES_MAX ((1u << 20) + 4096)
int parser_mem(int fd, uint64_t vaddr, void *buf, size_t len);

/* Find pthread_self() in a C library: libc_self_below(). */
int parser_self_below(int fd, uint16_t *below);

/*
 * Describe a process that will run an executable. Its interpreter is in the library lib_fd; -1: in
 * the executable itself. proc has addresses as in that file. 0 and *exe; -ENOENT: they cannot be
 * known before it runs; other -errno.
 */
int parser_describe(int exe_fd, int lib_fd, const struct py_proc *proc, struct py_exe *out);

/* The libpython that an executable names, and the directories where it is to be searched for. */
struct exe_library {
	char name[NAME_MAX];
	char runpath[PATH_MAX];
};
/* 0; -ENOENT: it needs none; other -errno. */
int parser_library(int exe_fd, struct exe_library *out);

/* Read what a container runtime's file contains about a container: container_file_parse(). */
bool parser_container(enum container_file what, int fd, struct container *c);

/* Find the variable OTEL_THREAD_CTX_SYMBOL: elf_tls_find(). */
int parser_thread_ctx(int fd, struct elf_tls *out);

/* Find asyncio's section: asyncio_section_read(). */
int parser_async(int fd, struct async_tasks_layout *out);

/* Find functions: elf_functions_find(). Names longer than PARSER_FUNCTION_BYTES are not found. */
#define PARSER_FUNCTIONS_MAX 64
#define PARSER_FUNCTION_BYTES 128
int parser_functions(int fd, const char *const *names, uint64_t *offsets, uint32_t cnt);

/*
 * Find the places of a USDT probe: elf_sdt_find(). Names longer than PARSER_FUNCTION_BYTES are not
 * found.
 */
int parser_sdt(int fd, const char *provider, const char *name,
	       struct elf_sdt_place places[ELF_SDT_PLACES_MAX], uint32_t *cnt);

#endif
