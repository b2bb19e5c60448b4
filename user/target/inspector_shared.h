/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inspector_shared.h - what the program and the inspector share. Only for inspector.c, which calls
 * it, and inspector_worker.c, which runs in it.
 */
#ifndef TACHBPF_INSPECTOR_SHARED_H
#define TACHBPF_INSPECTOR_SHARED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "bpf/abi_async.h"
#include "host/containers.h"
#include "host/otel_signs.h"
#include "target/exe_learn.h"
#include "target/inspect_files.h"
#include "target/inspect_source.h"
#include "target/parser.h"

#define LIKELY_MAX 256

enum inspector_function { INSPECT, MEM, LEARN, SEEN, LIKELY, NAMES, ENVIRON, THREAD_CTX, ASYNC,
			  SOURCE, SET_PARSER };

struct shared {
	pid_t about, task;		/* process of the call, or 0; its proc_living_task() */
	uint32_t owner;			/* user of the files that are read for the first time, */
	pid_t owner_of;			/* unless it is this process' user; 0: no process */
	struct parser_use parser;
	union {
		struct {
			struct proc_info who;
			uint64_t before;
			struct inspected out;
		} inspect;
		struct {
			struct file_id file;
			uint64_t vaddr;
			uint32_t len;
			uint8_t bytes[PARSER_BYTES_MAX];
		} mem;
		struct {
			struct proc_info who;
			struct file_id file;
			struct py_proc proc;
			struct learned_exe out;
		} learn;
		struct {
			bool all;		/* then read the files of running processes */
			uint32_t listed;	/* not 0: cnt and out are complete */
			uint32_t enough;	/* not 0: the program waits, begin no other */
			pid_t about;		/* process whose files are being read; 0: none */
			uint32_t cnt;
			struct learned_exe out[LIKELY_MAX];
		} likely;
		struct container names;
		struct otel_environ env;
		struct inspected_tls thread_ctx;
		struct async_layout async;
		struct {
			struct source_wanted wanted;
			struct source_found out;
		} source;
		pid_t new_parser;
	};
};

#endif
