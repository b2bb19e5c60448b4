/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_state.h - what the files of this room share: files, processes, their lists of mappings,
 * the helpers. Each part is changed only by the file with its name.
 */
#ifndef TACHBPF_NATIVE_STATE_H
#define TACHBPF_NATIVE_STATE_H

#include "base/time.h"
#include "base/u64map.h"
#include "base/util.h"
#include "elf/unwind_file.h"
#include "elf_helper/elf_start.h"
#include "native/native.h"
#include "native/native_memory.h"
#include "native/native_names.h"
#include "native/native_wire.h"


/* ---- files ---- */

/* The progress of a file's table. */
enum file_stage {
	FILE_NEW,	/* it must be opened */
	FILE_OPENED,	/* the helper has not been asked for the table */
	FILE_BUILDING,
	FILE_MATCHING,	/* table built; its CPython's functions were requested */
	FILE_COPYING,
	FILE_READY,
	FILE_EVICTED,	/* built again if it is used again */
	FILE_REFUSED,	/* there will be none: struct file.why */
};

/* Queues in which a file waits. QUEUE_MATCH is for a CPython, QUEUE_MATCH_LATER for others. */
enum file_queue {
	QUEUE_OPEN, QUEUE_BUILD, QUEUE_MATCH, QUEUE_COPY, QUEUE_NAMES, QUEUE_MATCH_LATER,
	QUEUE_DEBUG, QUEUE_NEEDS,
	QUEUES
};

/* A file's debug file on a server. */
enum file_debug { DEBUG_UNASKED, DEBUG_WANTED, DEBUG_SETTLED };

struct class_range {
	uint64_t start, end;
	enum native_class class;
};

enum file_kind { FILE_MAPPED, FILE_VDSO, FILE_PERF_MAP };

struct file {
	struct native_file info;
	enum file_kind kind;
	enum file_stage stage;
	uint32_t number;
	uint64_t dev, ino;	/* as in /proc/PID/maps */
	struct elf_place place;	/* where it was seen last; tgid 0: only at its path */
	struct elf_opened id;	/* valid if opened */
	bool opened;		/* it was opened once */
	bool opening;		/* the opener was asked, with these flags: */
	uint32_t open_flags;	/* OPEN_FOR_TABLES ... */
	bool confirmed;		/* the mapped file is this one, not another one with its inode */
	uint32_t refs;		/* mappings of it, and 1 if it is expected; 0: nobody has it */
	bool ended;		/* a perf map: its process has ended */
	uint32_t strikes;	/* helpers that ended while they worked at it */
	uint32_t failures;	/* consecutive failures to open it */
	uint32_t absences;	/* processes that no longer had it mapped, since a reading */
	struct file *next[QUEUES], *prev[QUEUES];
	uint32_t queued;	/* bits of enum file_queue */
	struct turn *turn;	/* whose turn it takes; NULL: not decided */

	/* Table. */
	struct elf_facts facts;	/* valid if has_facts */
	bool has_facts, has_start;	/* has_start: its plumbing is known, or will never be */
	uint8_t why;		/* enum native_end of a refused file */
	uint32_t table;		/* number; 0: none */
	uint32_t chunk, chunk_cnt, copied;
	int memfd;		/* the table while it is copied; -1: none */
	struct unwind_file head;
	uint64_t used_ns, again_ns;	/* again_ns: not built before this time */

	/* Names. */
	struct native_names names;
	uint64_t *wanted;	/* addresses not requested from the helper yet */
	size_t wanted_cnt, wanted_cap;
	struct class_range *classes;	/* sorted */
	size_t class_cnt, class_cap;
	bool partial;		/* classes has all functions that have a name */
	bool classes_full;	/* there was no room for one */
	bool at_names;		/* the names helper has the file */
	bool no_names;		/* there will be none */
	enum file_debug debug;
	bool reread;		/* the names that the helper was asked for are outdated */
	uint64_t passed_ns;	/* when the names helper got it */
	uint32_t missing;	/* consecutive NO_FILE answers */
};

struct file_fifo {
	struct file *first, *last;
};

/* Users with a turn of their own. */
#define TURNS_MAX 256u

/* A user whose processes have files that wait for a helper. */
struct turn {
	uint32_t uid;
	unsigned int pauses;	/* how often in a row it had to pause */
	unsigned int debug_asked;	/* files that servers were asked for */
	uint64_t used_ns;	/* time that helpers have worked for it */
	uint64_t again_ns;	/* it pauses until then */
	struct file_fifo queues[QUEUES];	/* all but QUEUE_OPEN and QUEUE_COPY */
};

/* ---- processes ---- */

struct mapping {
	uint64_t start, end, offset;
	struct file *file;	/* NULL: it has none */
	uint8_t why;		/* enum native_end, if there is no file */
	bool changed;		/* OPENER_CHANGED */
};

/* Further changed mappings of a process are not looked for. */
#define CHANGED_MAX 64

/* The mappings of a process and its forks. */
struct list {
	struct list *next;
	uint32_t refs;		/* processes */
	struct mapping *maps;
	uint32_t cnt;
	uint32_t chunk, chunk_cnt;
	uint32_t stamp;		/* 0: not written yet */
	uint64_t hash;		/* of the written contents */
	bool fresh;		/* not compared with current knowledge yet */
	uint16_t changed[CHANGED_MAX];	/* indices of mappings that are */
	uint32_t changed_cnt;
};

struct process {
	pid_t tgid;
	uint64_t start_ns;
	uint32_t uid;
	struct list *list;	/* NULL: not known */
	struct file *perf_map;	/* NULL: not requested yet */
	uint32_t placed;	/* stamp of its list on the BPF side; 0: none */
	unsigned int place_failures;
	/* Reading its mappings. */
	struct process *next;	/* in the list of those that wait for it */
	bool waits;		/* it is in that list */
	bool again;		/* they may have changed after they were requested */
	uint32_t request;	/* 0: none sent to the opener */
	uint64_t begun_ns, due_ns, asked_ns, read_ns, pause_ns;
};

/* ---- the helpers ---- */

#define HELPERS 2

struct helper {
	enum elf_role role;
	pid_t pid;		/* 0: it does not run */
	int pidfd, fd;
	int opener_end;		/* its end of the socket to the opener; each new opener gets it */
	bool given;		/* the opener has it */
	uint32_t request;	/* in progress; 0: none */
	uint32_t kind;		/* of the request */
	struct file *file;	/* of the request */
	struct turn *turn;	/* whose turn the request takes */
	uint64_t asked_ns, started_ns, again_ns;
	uint64_t answered_ns;	/* when it answered last */
	uint64_t waited_ns;	/* for a CPU, when it was asked */
	unsigned int failures;
	uint64_t asked[ELF_NAMES_MAX];	/* addresses of HELPER_NAMES */
	uint32_t asked_cnt;
};

struct opener {
	struct worker worker;
	int fd;
	uint32_t asked;		/* unanswered requests */
	uint64_t answered_ns;	/* when it answered last, or was asked while idle */
	uint32_t step;		/* struct file_opener_at's last step, and when it changed */
	uint64_t step_ns, again_ns;
};

struct cache {
	struct worker worker;
	int fd;
	bool ready;
	uint64_t started_ns;
};

/* Who asks debuginfod servers. */
struct debug {
	struct worker worker;
	int fd;
	int dir;		/* the cache's directory; -1: no servers are asked */
	char *urls;
	struct file *file;	/* that is asked for; NULL: none */
	struct turn *turn;
	uint32_t request;
	uint64_t asked_ns;
	unsigned int failures;	/* in a row */
	size_t wanted;		/* files with DEBUG_WANTED */
	bool hurry;		/* provisional names are good enough */
};

/* Files that a program will map: native_expect.h. */
#define EXPECTED_MAX 64
struct expected {
	struct buf searches[EXPECTED_MAX];	/* paths for one file each */
	uint32_t search_cnt, next;
	uint32_t request;	/* to the opener, about the next search; 0: none */
	struct file *files[EXPECTED_MAX];
	uint32_t file_cnt;
	uint64_t until_ns;	/* when they are forgotten; 0: there are none */
};

struct native {
	struct native_args args;
	char *cache_dir;
	int epoll, timer;
	uint64_t now;
	struct native_memory *memory;
	struct native_counts counts;
	uint32_t requests;	/* number of the last one */
	uint8_t secret[NATIVE_SECRET_BYTES];
	bool has_secret;

	struct file **files;	/* files[number - 1] */
	size_t file_cnt, file_cap;
	struct u64map by_inode;	/* hash of dev and ino -> struct file */
	struct file_fifo queues[QUEUES];	/* QUEUE_OPEN, QUEUE_COPY */
	struct turn turns[TURNS_MAX];
	size_t turn_cnt;
	uint64_t turn_ns;	/* used_ns of the last one that was taken, never less */
	struct file *vdso;
	uint64_t vdso_bytes;
	int vdso_fd;
	struct file *tables[UNWIND_TABLES];	/* file of each number */
	uint32_t table_stamps[UNWIND_TABLES], table_next;
	bool shared_put;	/* the tables without rows are written */

	struct u64map processes;	/* tgid -> struct process */
	struct process *waiting;
	struct list *lists;
	uint32_t list_stamps;
	uint64_t read_second_ns;
	uint32_t reads;		/* in this second */
	bool lists_stale;	/* a file has changed, so lists may have to be rewritten */
	uint64_t lists_ns;	/* when lists were checked last ... */
	uint64_t lists_took_ns;	/* ... and how long that took */
	uint64_t quick_ns;	/* until then samples are taken soon */
	uint64_t quick_again_ns;	/* not again before this time */
	uint64_t places_ns;	/* when to write places; UINT64_MAX: none are due */
	struct {		/* what the opener is reporting now */
		uint32_t request;
		struct mapping *maps;
		size_t cnt, cap;
	} incoming;

	size_t class_cnt;	/* of all files */
	struct expected expected;
	struct native_name_pool names;
	bool unread;		/* names wait for mappings, or for what a file is */
	struct text_block *texts;	/* strings in answers, valid until the next poll */

	struct helper helpers[HELPERS];
	pid_t ended[8];		/* killed helpers that were not reaped yet; 0: none */
	struct opener opener;
	struct cache cache;
	struct debug debug;
	bool more;		/* there is more to do at once */
	_Alignas(8) uint8_t data[ELF_WIRE_BYTES];
};

/* At most this part of a second. */
#define QUICK_NS (300 * NS_PER_MS)

/* Tables without rows, by reason. */
enum { TABLE_NO_TABLE = 1, TABLE_JIT = 2, TABLE_NO_ROW = 3, TABLE_FIRST = 4 };

/* The addresses' texts, which native_lookup.c made, are no longer valid. */
void texts_forget(struct text_block **texts);

#endif
