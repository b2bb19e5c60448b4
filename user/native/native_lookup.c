// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_lookup.c - see native.h: what addresses mean, and the counts. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "native/native_ask.h"
#include "native/native_debug.h"
#include "native/native_files.h"
#include "native/native_mappings.h"
#include "native/native_queues.h"

#define BLOCK_BYTES 16384
#define TEXT_BYTES 512

struct text_block {
	struct text_block *next;
	uint32_t len;
	char bytes[BLOCK_BYTES];
};

/* Returns "library+0x1234"; never NULL: without memory just library, which must live as long. */
static const char *texts_address(struct text_block **texts, const char *library, uint64_t addr)
{
	struct text_block *b = *texts;
	char *text;

	if (!b || b->len + TEXT_BYTES > BLOCK_BYTES) {
		b = malloc(sizeof(*b));
		if (!b)
			return library;
		b->next = *texts;
		b->len = 0;
		*texts = b;
	}
	text = b->bytes + b->len;
	b->len += (uint32_t)snprintf(text, TEXT_BYTES, "%.450s+0x%" PRIx64, library, addr) + 1;
	return text;
}

void texts_forget(struct text_block **texts)
{
	struct text_block *b;

	while ((b = *texts)) {
		*texts = b->next;
		free(b);
	}
}

void native_used(struct native *n, uint32_t file)
{
	struct file *f = files_find(n, file);

	if (!f)
		return;
	f->used_ns = n->now;
	if (f->stage != FILE_EVICTED || n->now < f->again_ns)
		return;
	f->stage = FILE_NEW;
	if (!f->opening)
		file_push(n, QUEUE_OPEN, f);
	n->more = true;
}

/*
 * Finds the file of an address. file 0: *addr is in the process, and becomes one in the file.
 * Returns NULL if it is in no file that can be read.
 */
static struct file *find_file(const struct native *n, pid_t tgid, uint32_t file, uint64_t *addr)
{
	const struct process *p = file ? NULL : process_find(n, tgid);
	const struct mapping *m = p ? mappings_at(p, *addr) : NULL;
	uint64_t bias;

	if (file)
		return files_find(n, file);
	if (!m || !m->file || !file_bias(m->file, m, &bias))
		return NULL;
	*addr -= bias;
	return m->file;
}

/* A debug file may still improve its names, and that is waited for. */
static bool is_provisional(const struct native *n, const struct file *f)
{
	return f->debug == DEBUG_WANTED && !n->debug.hurry;
}

bool native_class(const struct native *n, pid_t tgid, uint32_t file, uint64_t addr,
		  enum native_class *class)
{
	struct file *f = find_file(n, tgid, file, &addr);

	*class = file == NATIVE_FILE_TRAMPOLINE ? NATIVE_PLUMBING : NATIVE_CODE;
	if (!f)
		return file == NATIVE_FILE_TRAMPOLINE;
	f->used_ns = n->now;
	*class = file_class(f, addr);
	/* A function that may get a name is shown, unless nobody waits for that name. */
	if (*class == NATIVE_UNNAMED && !file_is_stub(f, addr) && debug_may_come(n, f)) {
		if (f->debug == DEBUG_UNASKED || is_provisional(n, f))
			*class = NATIVE_CODE;
		return false;
	}
	return f->has_start || (f->has_facts && !needs_functions(f));
}

static bool is_changed(const struct list *l, const struct raw_native_frame *frame)
{
	uint64_t bias;
	uint32_t i;

	for (i = 0; frame->file && i < l->changed_cnt; i++) {
		const struct mapping *m = &l->maps[l->changed[i]];

		if (m->file && m->file->number == frame->file &&
		    file_bias(m->file, m, &bias) && frame->addr + bias >= m->start &&
		    frame->addr + bias < m->end)
			return true;
	}
	return false;
}

bool native_changed(const struct native *n, pid_t tgid, const struct raw_native_frame *frames,
		    uint32_t cnt)
{
	const struct process *p = process_find(n, tgid);
	uint32_t i;

	if (!p || !p->list || !p->list->changed_cnt)
		return false;
	for (i = 0; i < cnt && !is_changed(p->list, &frames[i]); i++)
		continue;
	return i < cnt;
}

const struct native_file *native_file(const struct native *n, uint32_t file)
{
	const struct file *f = files_find(n, file);

	return f ? &f->info : NULL;
}

/* ---- names ---- */

static int set_unnamed(struct native *n, const char *library, uint64_t addr,
		       struct native_name *out)
{
	*out = (struct native_name){ .library = library, .cnt = 1 };
	out->functions[0].name = texts_address(&n->texts, library, addr);
	return -ENOENT;
}

/* A perf map may have gained the name. */
static bool may_ask_again(const struct native *n, const struct file *f)
{
	return f->kind == FILE_PERF_MAP && n->now - f->passed_ns >= PERF_MAP_NS;
}

/* The file's own, if the process has ended. */
static uint32_t user_of(const struct native *n, pid_t tgid, const struct file *f)
{
	const struct process *p = process_find(n, tgid);

	return p ? p->uid : f->place.uid;
}

static int name_in(struct native *n, pid_t tgid, struct file *f, uint64_t addr,
		   struct native_name *out)
{
	enum native_name_state state = native_names_get(&f->names, &n->names, addr, out);

	f->used_ns = n->now;
	out->library = f->info.library;
	if (state == NAME_KNOWN)
		return is_provisional(n, f) ? -EAGAIN : 0;
	set_unnamed(n, f->info.library, addr, out);
	if (state == NAME_ASKED || (state == NAME_UNKNOWN && is_provisional(n, f)))
		return -EAGAIN;
	if (f->no_names || state == NAME_FULL ||
	    (state == NAME_UNKNOWN && !may_ask_again(n, f)))
		return -ENOENT;
	return name_ask(n, f, user_of(n, tgid, f), addr) ? -ENOENT : -EAGAIN;
}

static struct file *perf_map_of(struct native *n, struct process *p)
{
	if (p->perf_map)
		return p->perf_map;
	p->perf_map = files_idle_perf_map(n);
	if (!p->perf_map)
		p->perf_map = files_add(n, FILE_PERF_MAP, "JIT");
	if (p->perf_map)
		p->perf_map->place = (struct elf_place){
			.tgid = (uint32_t)p->tgid, .uid = p->uid, .start_ns = p->start_ns,
		};
	return p->perf_map;
}

/* Only what is known of an address that is in no file: text. */
static int set_text(struct native_name *out, const char *text, int err)
{
	*out = (struct native_name){ .library = text };
	return err;
}

/* The mappings are read again, if they are not being read (native_stale()). */
static int name_unmapped(struct native *n, const struct process *p, struct native_name *out)
{
	if (!p || !p->waits)
		return set_text(out, "code that is not mapped", -ENOENT);
	n->unread = true;
	return set_text(out, "mapping not read yet", -EAGAIN);
}

/* Names an address in a file of which too little is known for an address in it. */
static int name_unopened(struct native *n, const struct mapping *m, uint64_t addr,
			 struct native_name *out)
{
	struct file *f = m->file;

	/* The position in the file is the same in each process. */
	set_unnamed(n, f->info.library, addr - m->start + m->offset, out);
	if (f->stage == FILE_REFUSED)
		return -ENOENT;
	n->unread = true;
	return -EAGAIN;
}

/* Names an address in the process: of JIT code, or of a file that was unknown. */
static int name_in_process(struct native *n, pid_t tgid, uint64_t addr, struct native_name *out)
{
	struct process *p = process_find(n, tgid);
	const struct mapping *m = p ? mappings_at(p, addr) : NULL;
	struct file *f = m ? m->file : NULL;
	uint64_t bias;

	if (!m)
		return name_unmapped(n, p, out);
	if (f && file_bias(f, m, &bias))
		return name_in(n, tgid, f, addr - bias, out);
	if (f && (f->stage != FILE_REFUSED || f->why != NATIVE_JIT))
		return name_unopened(n, m, addr, out);
	if (!f && m->why != NATIVE_JIT)
		return set_text(out, "unknown file", -ENOENT);
	f = perf_map_of(n, p);
	return f ? name_in(n, tgid, f, addr, out) : set_unnamed(n, "JIT", addr, out);
}

int native_name(struct native *n, pid_t tgid, uint32_t file, uint64_t addr,
		struct native_name *out)
{
	struct file *f = files_find(n, file);

	if (!file || file == NATIVE_FILE_TRAMPOLINE)
		return name_in_process(n, tgid, addr, out);
	return f ? name_in(n, tgid, f, addr, out) : set_text(out, "unknown file", -ENOENT);
}

/* ---- counts ---- */

void native_counts(const struct native *n, struct native_counts *out)
{
	*out = n->counts;
	out->memory_bytes = native_memory_used(n->memory);
	out->names = n->names.names;
	out->names_unknown = n->names.unknown;
	out->names_mangled = n->names.mangled;
	out->debug_awaited = (uint32_t)debug_waits(n);
	out->debug_failure = n->debug.failure;
}
