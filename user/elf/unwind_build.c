// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * unwind_build.c - see unwind_build.h.
 *
 * Each FDE of .eh_frame is executed into rows, then each of .debug_frame whose addresses .eh_frame
 * does not cover. Addresses outside the executable segments are skipped.
 */
#include "elf/unwind_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/cfi_machine.h"
#include "elf/unwind_file.h"
#include "elf/unwind_rows.h"
#include "elf/unwind_rules.h"
#include "elf/unwind_trampoline.h"

/* Writes the parts of a table into a memfd, in the format of unwind_file.h. */

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

/* Set the positions of the parts. 0 or -EFBIG. */
static int place_parts(struct unwind_file *head, uint32_t row_cnt, uint32_t rule_cnt)
{
	uint64_t index_cnt;

	head->magic = UNWIND_FILE_MAGIC;
	head->version = UNWIND_FILE_VERSION;
	head->row_cnt = row_cnt;
	head->ext_cnt = rule_cnt;
	head->shift = unwind_index_shift(head->bytes, row_cnt);
	index_cnt = unwind_index_cnt(head->bytes, head->shift);
	if (row_cnt > UNWIND_FILE_BYTES_MAX / sizeof(struct unwind_row))
		return -EFBIG;
	head->index_at = 2 * row_cnt;
	head->ext_at = (uint32_t)(round_up(head->index_at + index_cnt, 4) / 4);
	head->total = round_up(((uint64_t)head->ext_at + rule_cnt) * sizeof(struct unwind_rule),
			       NATIVE_CHUNK);
	return head->total > UNWIND_FILE_BYTES_MAX ? -EFBIG : 0;
}

static int write_index(int fd, const struct unwind_file *head, const struct unwind_row *rows)
{
	uint64_t cnt = unwind_index_cnt(head->bytes, head->shift);
	uint32_t *index = calloc(cnt, sizeof(*index));
	int err;

	if (!index)
		return -ENOMEM;
	unwind_index_fill(index, head->bytes, head->shift, rows, head->row_cnt);
	err = pwrite_all(fd, index, cnt * sizeof(*index),
			 UNWIND_FILE_HEAD + sizeof(*index) * (uint64_t)head->index_at);
	free(index);
	return err;
}

static int write_parts(int fd, const struct unwind_file *head, const struct unwind_row *rows,
		       const struct unwind_rule *rules)
{
	int err = ftruncate(fd, (off_t)(UNWIND_FILE_HEAD + head->total)) ? -errno : 0;

	if (!err)
		err = pwrite_all(fd, head, sizeof(*head), 0);
	if (!err)
		err = pwrite_all(fd, rows, head->row_cnt * sizeof(*rows), UNWIND_FILE_HEAD);
	if (!err)
		err = write_index(fd, head, rows);
	if (!err && head->ext_cnt)
		err = pwrite_all(fd, rules, head->ext_cnt * sizeof(*rules),
				 UNWIND_FILE_HEAD + sizeof(*rules) * (uint64_t)head->ext_at);
	if (!err && fcntl(fd, F_ADD_SEALS, SEALS))
		err = -errno;
	return err;
}

/*
 * Write a table. The caller has filled in head except for positions and lengths of parts: machine,
 * hash, start, bytes, statistics; the rest is filled in here. Returns a descriptor that is sealed
 * against changes; -EFBIG: larger than UNWIND_FILE_BYTES_MAX; other -errno.
 */
static int unwind_write(struct unwind_file *head, const struct unwind_row *rows, uint32_t row_cnt,
		 const struct unwind_rule *rules, uint32_t rule_cnt)
{
	int err = place_parts(head, row_cnt, rule_cnt), fd;

	if (err)
		return err;
	fd = memfd_create("tachbpf-unwind", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	err = write_parts(fd, head, rows, rules);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

/* Limit on instructions of one file, less than a second. libtorch_cpu has 8 million. */
#define STEPS_MAX (64u << 20)

struct build {
	const struct elf_file *elf;
	uint64_t base;		/* first address of the first executable segment */
	uint32_t end;		/* where the current FDE ends, in bytes from base */
	struct cfi_machine machine;
	struct unwind_rules rules;
	struct unwind_rows rows;
	struct unwind_file head;
};

/* The executable segment that contains the address; NULL: none. */
static const struct elf_load *segment_of(const struct elf_file *elf, uint64_t addr)
{
	unsigned int i;

	for (i = 0; i < elf->load_cnt; i++) {
		const struct elf_load *l = &elf->loads[i];

		if (l->executable && addr >= l->vaddr && addr - l->vaddr < l->memsz)
			return l;
	}
	return NULL;
}

static bool find_base(struct build *b)
{
	unsigned int i;

	b->base = UINT64_MAX;
	for (i = 0; i < b->elf->load_cnt; i++)
		if (b->elf->loads[i].executable && b->elf->loads[i].vaddr < b->base)
			b->base = b->elf->loads[i].vaddr;
	return b->base != UINT64_MAX;
}

static int add_row(void *ctx, uint64_t addr, const struct cfi_state *state)
{
	struct build *b = ctx;
	uint32_t packed;
	int err;

	if (addr - b->base >= b->end)
		return 0;
	err = unwind_rules_pack(&b->rules, state, &packed);
	return err ? err : unwind_rows_add(&b->rows, (uint32_t)(addr - b->base), packed);
}

/*
 * Find the FDE's addresses that can be in the table. Returns false if there are none: linkers leave
 * FDEs of functions that they have removed, at address 0 or near it.
 */
static bool find_range(const struct build *b, const struct cfi_fde *fde, uint32_t *start,
		       uint32_t *end)
{
	const struct elf_load *l = segment_of(b->elf, fde->start);
	uint64_t from = fde->start - b->base, to = fde->end - b->base, last;

	if (!l || from > UINT32_MAX || fde->end <= fde->start)
		return false;
	last = l->vaddr - b->base + l->memsz;
	if (last < l->vaddr - b->base || last > UINT32_MAX)
		last = UINT32_MAX;
	*start = (uint32_t)from;
	*end = (uint32_t)(to < last ? to : last);
	return *start < *end;
}

/* 0 or -errno; -EBADMSG: only this FDE is invalid. */
static int add_fde(struct build *b, const struct cfi_fde *fde, bool debug)
{
	uint32_t start;
	int err;

	if (!find_range(b, fde, &start, &b->end) || (debug && !fde->start))
		return 0;
	if (debug && unwind_rows_covered(&b->rows, start, b->end))
		return 0;
	err = unwind_rows_begin(&b->rows, start, b->end);
	if (err)
		return err;
	if (fde->cie->signal)
		err = unwind_rows_add(&b->rows, start, UNWIND_SIGNAL);
	else if (fde->cie->ra != b->machine.registers->ra)
		err = unwind_rows_add(&b->rows, start, UNWIND_UNSUPPORTED);
	else
		err = cfi_machine_run(&b->machine, fde);
	if (err)
		unwind_rows_undo(&b->rows);
	b->head.fdes += !err;
	return err;
}

static int add_section(struct build *b, const struct cfi_section *s)
{
	struct cfi_entries *entries = malloc(sizeof(*entries));
	struct cfi_fde fde;
	int err = 0, what;

	if (!entries)
		return -ENOMEM;
	cfi_entries_begin(entries, s);
	while (!err && (what = cfi_entries_next(entries, &fde))) {
		if (what > 0)
			what = add_fde(b, &fde, s->debug);
		if (what == -EBADMSG)
			b->head.fdes_bad++;
		else
			err = what;
	}
	free(entries);
	return err ? err : unwind_rows_sort(&b->rows);
}

static int add_from(struct build *b,
		    int (*read)(const struct elf_file *elf, struct cfi_section *s))
{
	struct cfi_section s;
	int err = read(b->elf, &s);

	if (!err)
		err = add_section(b, &s);
	cfi_section_free(&s);
	return err;
}

static int add_trampoline(struct build *b)
{
	uint64_t start;
	int err = unwind_trampoline_find(b->elf, &start);
	uint32_t from;

	if (err)
		return err;
	if (start - b->base > UINT32_MAX - UNWIND_TRAMPOLINE_BYTES)
		return -ENOENT;
	from = (uint32_t)(start - b->base);
	err = unwind_rows_begin(&b->rows, from, from + UNWIND_TRAMPOLINE_BYTES);
	if (!err)
		err = unwind_rows_add(&b->rows, from, UNWIND_SIGNAL);
	return err ? err : unwind_rows_sort(&b->rows);
}

/* A table from .eh_frame alone is valid, whatever .debug_frame contains. */
static int add_all(struct build *b)
{
	int eh = add_from(b, cfi_section_read_eh), debug;

	if (eh && eh != -ENOENT)
		return eh;
	debug = add_from(b, cfi_section_read_debug);
	if (debug == -ENOMEM)
		return debug;
	if (b->rows.function_cnt)
		return 0;
	if (debug && debug != -ENOENT)
		return debug;
	return eh && debug ? add_trampoline(b) : -EBADMSG;
}

static int write_table(struct build *b)
{
	struct unwind_row *rows = NULL;
	uint32_t row_cnt, i;
	int err = unwind_rows_list(&b->rows, &rows, &row_cnt, &b->head.bytes);

	if (err)
		return err;
	for (i = 0; i < row_cnt; i++)
		b->head.rows_unsupported += rows[i].rule == UNWIND_UNSUPPORTED;
	err = unwind_write(&b->head, rows, row_cnt, b->rules.long_rules,
			   (uint32_t)b->rules.long_cnt);
	free(rows);
	return err;
}

int unwind_build(const struct elf_file *elf, const uint64_t hash[2])
{
	struct build b = { .elf = elf, .machine = { .steps = STEPS_MAX, .row = add_row } };
	int err;

	b.machine.ctx = &b;
	b.machine.registers = cfi_registers_of(elf->machine);
	if (!b.machine.registers)
		return -ENOEXEC;
	if (!find_base(&b))
		return -ENOENT;
	unwind_rules_begin(&b.rules, b.machine.registers, hash[0]);
	b.head.machine = elf->machine;
	b.head.hash[0] = hash[0];
	b.head.hash[1] = hash[1];
	b.head.start = b.base;
	err = add_all(&b);
	if (!err)
		err = write_table(&b);
	unwind_rows_free(&b.rows);
	unwind_rules_free(&b.rules);
	return err;
}
