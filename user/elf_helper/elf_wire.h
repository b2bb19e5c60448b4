/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_wire.h - the messages between main process, file opener and helper executable.
 *
 * There are three parties. The main process trusts no answer until its form is checked. The opener
 * (user/native/file_opener, a worker that may open what processes have mapped) opens and parses
 * nothing. The helper (the executable tachbpf-elf, without any rights) parses and opens nothing. It
 * runs twice: one instance builds tables, one names addresses, so a name does not wait for a table.
 *
 *   main -> opener   OPENER_*    main -> helper   HELPER_*
 *   opener -> main   OPENED      helper -> main   TABLE, NAMES, MATCHES ...
 *   opener -> helper PASS_FILE (with the descriptor), PASS_MORE
 *   helper -> opener WANT_*      (a separate debug file; an entry of the cache)
 *
 * All sockets are SOCK_SEQPACKET, with one struct per message, followed by at most ELF_WIRE_BYTES
 * of data, and one descriptor. Numbers of files are those of native_mapping.file.
 */
#ifndef TACHBPF_ELF_WIRE_H
#define TACHBPF_ELF_WIRE_H

#include <stdint.h>

#define ELF_WIRE_BYTES 32768u	/* of data after the struct */
#define ELF_NAMES_MAX 256u	/* addresses in one HELPER_NAMES */
#define ELF_NAME_BYTES 512u	/* of one function's name, cut with "..." */
#define ELF_SECRET_BYTES 192u
#define ELF_NEEDS_MAX 66u	/* strings in a NEEDS */
#define ELF_INLINED_MAX 8u	/* functions at one address, with lines */
/* After as many names of a file that take too long, the others stay mangled, too. */
#define ELF_COSTLY_MAX 8u

enum elf_message_kind {
	/* main -> opener; answered by OPENED */
	OPENER_MAPPED = 1,	/* struct elf_message; data: struct elf_place */
	OPENER_PERF_MAP,	/* data: struct elf_place; only tgid, start_ns and uid are used */
	/* opener -> main */
	OPENED,			/* data: struct elf_opened */
	/* opener -> helper, with the file's descriptor */
	PASS_FILE,		/* data: struct elf_place */
	PASS_MORE,		/* answers WANT_* (with its request); no descriptor: there is
				 * none. With file 0, before any PASS_FILE: data is the secret of
				 * unwind_hash(), ELF_SECRET_BYTES; without it there is no cache */
	/* helper -> opener */
	WANT_DEBUG,		/* data: struct elf_want_debug. Searched in the root of the
				 * file's process, then in ours */
	WANT_CACHE,		/* data: uint64_t hash[2]: open the cached table */
	STORE_CACHE,		/* data: uint64_t hash[2]; with the descriptor of a table */
	/* main -> helper */
	HELPER_TABLE,		/* build the file's table; answered by TABLE */
	HELPER_NAMES,		/* data: uint64_t addr[]; answered by NAMES, one or more messages */
	HELPER_MATCH,		/* data: cnt patterns, each with its NUL, "x*" is a prefix;
				 * answered by MATCHES */
	HELPER_FORGET,		/* the file is no longer needed */
	HELPER_REREAD,		/* read the file's symbols again: the opener has a debug file now */
	HELPER_PERF_NAMES,	/* as HELPER_NAMES, of the perf map that was passed as this file */
	HELPER_NEEDS,		/* what is loaded together with the file; answered by NEEDS */
	/* helper -> main */
	TABLE,			/* with the descriptor of a table, unless result is an error;
				 * data: struct elf_facts */
	NAMES,			/* data: struct elf_name and its strings, concatenated */
	MATCHES,		/* data: struct elf_match[], sorted by start; `more`: more follow.
				 * With ELF_PARTIAL there is no symbol table, and these are all
				 * functions with a name; pattern cnt: it matches none */
	NEEDS,			/* data: `cnt` strings with their NULs: the dynamic linker's path
				 * ("": none), the file's DT_RUNPATH, and its DT_NEEDED; no string
				 * if it is no ELF file */
	NO_FILE,		/* the helper does not have the file (any more): pass it again */
	/* helper -> its own process that demangles, and back */
	DEMANGLE,		/* data: a name, without NUL; result -ETIME: it takes too long */
};

struct elf_message {
	uint32_t kind;		/* enum elf_message_kind */
	uint32_t file;
	uint32_t request;	/* the answer repeats this number */
	int32_t result;		/* 0 or -errno */
	uint32_t cnt;		/* elements in data */
	uint32_t bytes;		/* of data */
	uint32_t flags;		/* HELPER_NAMES: ELF_LINES, ELF_MANGLED; NAMES: ELF_LACKS_DEBUG;
				 * MATCHES: ELF_PARTIAL */
	uint32_t more;		/* 1: further messages of this answer follow */
};
enum {
	ELF_LINES = 1,
	ELF_MANGLED = 2,	/* no name is demangled */
	ELF_LACKS_DEBUG = 4,	/* a debug file would have more symbols, or the lines */
	ELF_PARTIAL = 8,
};

/* A mapping of a process: /proc/TGID/map_files/START-END. start 0: none. */
struct elf_place {
	uint32_t tgid, uid;
	uint64_t start_ns;	/* start of the process: another one with its pid is refused */
	uint64_t start, end;
	uint64_t dev, ino;	/* from /proc/TGID/maps; another file is refused */
};

struct elf_opened {
	uint64_t dev, ino, size, mtime_ns, ctime_ns;
};

struct elf_want_debug {
	uint8_t id[20];		/* build id; id_bytes are valid; 0: only by name */
	uint32_t id_bytes;
	uint32_t crc;		/* of .gnu_debuglink; 0: none */
	char name[236];		/* of .gnu_debuglink or .gnu_debugaltlink, without '/' */
};

struct elf_facts {
	uint8_t build_id[20];
	uint32_t build_id_bytes;
	uint32_t machine;
	uint64_t text_start, text_end;	/* addresses of its executable segments in the file */
	uint64_t plt_start, plt_end;	/* stubs through which it calls other files; 0: none */
	uint64_t eval_start, eval_end;	/* _PyEval_EvalFrameDefault, in .dynsym; 0: no CPython */
	uint32_t cached;	/* 1: the table came from the cache */
	uint32_t build_us;
	uint32_t load_cnt;	/* of loads: the first 8 executable PT_LOADs */
	uint32_t stripped;	/* 1: it has no .symtab */
	struct {
		uint64_t off, vaddr, filesz;
	} loads[8];
};

/* The name of an address; with lines, also those of inlined functions, innermost first. */
struct elf_name {
	uint64_t addr;		/* as requested */
	uint64_t start;		/* of the function; 0: unknown */
	uint32_t line;		/* 0: unknown */
	uint16_t name_bytes;	/* with the NUL, after this struct; 1: no name */
	uint16_t source_bytes;	/* of the source file's path, after the name; 0: none */
	uint16_t inlined;	/* 1: the function was inlined, and its caller's struct follows */
	uint16_t mangled;	/* 1: to demangle it would take too long */
	uint16_t pad[2];
};

struct elf_match {
	uint64_t start, end;	/* addresses in the file */
	uint32_t pattern;	/* index */
	uint32_t pad;
};

/* ---- sending and receiving; their form is checked ---- */

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
