// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_flow.c - from a process to tables, mappings, classes and names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>

#include "fake_parties.h"
#include "native/native_parties.h"
#include "native/native_patterns.h"

static void test_a_table_is_installed(void **state)
{
	struct native *n = begin(1, 0);
	struct native_counts counts;
	const struct native_mapping *m;
	uint32_t file;

	/* The list is there at once, and says that the table is not. */
	STEP_UNTIL(n, maps.places[0].cnt == 1);
	assert_int_equal(mapping(TGID, 0)->table, TABLE_NO_TABLE);
	assert_int_equal(mapping(TGID, 0)->file, 0);
	assert_int_equal(maps.tables[TABLE_NO_TABLE].why, NATIVE_NO_TABLE);
	file = give_table(n, false, 100);
	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file);
	m = mapping(TGID, 0);
	assert_int_equal(m->file, file);
	assert_int_equal(m->start, 0x10000);
	assert_int_equal(m->end, 0x18000);
	assert_int_equal(m->bias, 0x10000 - 0x401000ull);
	STEP_UNTIL(n, maps.tables[m->table].row_cnt);
	assert_int_equal(maps.tables[m->table].row_cnt, 100);
	assert_string_equal((char *)chunk_at(maps.tables[m->table].chunk), "first row");
	assert_string_equal(native_file(n, file)->library, "liba.so");
	native_counts(n, &counts);
	assert_int_equal(counts.tables, 1);
	assert_int_equal(counts.helper_restarts, 0);
	native_free(n);
}

static void assert_class(const struct native *n, uint32_t file, uint64_t addr,
			 enum native_class wanted, bool known)
{
	enum native_class class;

	assert_int_equal(native_class(n, TGID, file, addr, &class), known);
	assert_int_equal(class, wanted);
}

static void test_a_cpython_waits_for_its_functions(void **state)
{
	static const struct elf_match found[] = {
		{ 0x401000, 0x401050, 2, 0 }, { 0x401100, 0x401200, 0, 0 },
		{ 0x403000, 0x403100, 0, 0 }, { 0x404000, 0x404000, 0, 0 },
		{ 0x405000, 0x405100, 1000000, 0 },
	};
	struct native *n = begin(1, 0);
	uint32_t file = give_table(n, true, 10);
	struct elf_message m = question(n, ELF_ROLE_NAMES);
	uint32_t cnt, bytes;

	assert_int_equal(m.kind, HELPER_MATCH);
	assert_int_equal(m.file, file);
	assert_memory_equal(fake_data, native_patterns(&cnt, &bytes), bytes);
	assert_int_equal(m.bytes, bytes);
	STEP_UNTIL(n, maps.places[0].cnt == 1);
	assert_int_equal(mapping(TGID, 0)->file, 0);
	assert_int_equal(mapping(TGID, 0)->table, TABLE_NO_TABLE);
	assert_class(n, 0, 0x10110, NATIVE_CODE, false);
	answer(ELF_ROLE_NAMES, &m, MATCHES, found, sizeof(found), ARRAY_SIZE(found), -1);
	STEP_UNTIL(n, mapping(TGID, 0)->file == file &&
		   maps.tables[mapping(TGID, 0)->table].row_cnt);
	assert_class(n, file, 0x401010, NATIVE_PLUMBING, true);
	assert_class(n, file, 0x401050, NATIVE_CODE, true);
	assert_class(n, file, 0x401100, NATIVE_EVAL, true);
	assert_class(n, file, 0x4011ff, NATIVE_EVAL, true);
	assert_class(n, file, 0x401200, NATIVE_CODE, true);
	assert_class(n, file, 0x403050, NATIVE_EVAL, true);
	assert_class(n, file, 0x404000, NATIVE_CODE, true);
	assert_class(n, file, 0x405000, NATIVE_CODE, true);
	/* Stubs, through which it calls other files. */
	assert_class(n, file, 0x407fff, NATIVE_CODE, true);
	assert_class(n, file, 0x408000, NATIVE_UNNAMED, true);
	assert_class(n, file, 0x4080ff, NATIVE_UNNAMED, true);
	assert_class(n, file, 0x408100, NATIVE_CODE, true);
	assert_class(n, 0, 0x401100, NATIVE_CODE, false);
	assert_class(n, 999, 0x401100, NATIVE_CODE, false);
	assert_class(n, NATIVE_FILE_TRAMPOLINE, 0x401100, NATIVE_PLUMBING, true);
	/* Addresses in the process. */
	assert_class(n, 0, 0x10110, NATIVE_EVAL, true);
	assert_class(n, 0, 0x10010, NATIVE_PLUMBING, true);
	native_free(n);
}

/* A stripped file, with the answer of the helper that reads its symbols. */
static struct native *begin_stripped(struct elf_message *match, uint32_t *file)
{
	struct native *n = begin(1, 0);
	const struct elf_message m = question(n, ELF_ROLE_TABLES);
	struct elf_facts facts = facts_of(false);

	facts.stripped = 1;
	answer(ELF_ROLE_TABLES, &m, TABLE, &facts, sizeof(facts), 1, make_table(10, ALL_SEALS));
	*match = question(n, ELF_ROLE_NAMES);
	assert_int_equal(match->kind, HELPER_MATCH);
	assert_int_equal(match->file, m.file);
	*file = m.file;
	return n;
}

static void wait_for_functions(struct native *n, uint32_t file)
{
	STEP_UNTIL(n, n->files[file - 1]->has_start);
}

static void answer_matches(const struct elf_message *asked, const struct elf_match *found,
			   uint32_t cnt, uint32_t flags, bool more)
{
	const struct elf_message m = {
		.kind = MATCHES, .file = asked->file, .request = asked->request, .cnt = cnt,
		.bytes = cnt * (uint32_t)sizeof(*found), .flags = flags, .more = more,
	};

	assert_int_equal(native_send(fakes[ELF_ROLE_NAMES].main, &m, found, -1), 0);
}

/* Of a file without a symbol table it is known which functions have no name. */
static void test_the_functions_of_a_stripped_file(void **state)
{
	static const struct elf_match found[] = {
		{ 0x401000, 0x401050, 1000000, 0 }, { 0x401100, 0x401200, 0, 0 },
		{ 0x401100, 0x401200, 1000000, 0 },
	};
	struct elf_message m;
	uint32_t file;
	struct native *n = begin_stripped(&m, &file);

	/* Its table is used before. */
	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file == file &&
		   maps.tables[mapping(TGID, 0)->table].row_cnt);
	assert_class(n, file, 0x403000, NATIVE_CODE, false);
	answer_matches(&m, found, ARRAY_SIZE(found), ELF_PARTIAL, false);
	wait_for_functions(n, file);
	assert_class(n, file, 0x401010, NATIVE_CODE, true);
	assert_class(n, file, 0x401050, NATIVE_UNNAMED, true);
	/* It is no CPython, whatever its functions are called. */
	assert_class(n, file, 0x401150, NATIVE_CODE, true);
	assert_class(n, file, 0, NATIVE_UNNAMED, true);
	assert_class(n, file, UINT64_MAX, NATIVE_UNNAMED, true);
	assert_int_equal(n->class_cnt, 2);
	native_free(n);
}

/* The answer does not say so: a debug file has its symbols. */
static void test_a_stripped_file_with_symbols_elsewhere(void **state)
{
	static const struct elf_match found[] = { { 0x401000, 0x401050, 0, 0 } };
	struct elf_message m;
	uint32_t file;
	struct native *n = begin_stripped(&m, &file);

	answer_matches(&m, found, ARRAY_SIZE(found), 0, false);
	wait_for_functions(n, file);
	assert_class(n, file, 0x401010, NATIVE_CODE, true);
	assert_class(n, file, 0x401050, NATIVE_CODE, true);
	native_free(n);
}

/* More functions than there is room for: nothing is said of the others. */
static void test_too_many_functions(void **state)
{
	static struct elf_match found[1024];
	struct elf_message m;
	uint32_t file, i, k;
	struct native *n = begin_stripped(&m, &file);

	for (k = 0; k <= 128; k++) {
		for (i = 0; i < ARRAY_SIZE(found); i++) {
			found[i].start = 0x401000 + 16ull * (k * ARRAY_SIZE(found) + i);
			found[i].end = found[i].start + 8;
			found[i].pattern = 1000000;
		}
		answer_matches(&m, found, ARRAY_SIZE(found), ELF_PARTIAL, k < 128);
		step(n);
	}
	wait_for_functions(n, file);
	assert_class(n, file, 0x401008, NATIVE_CODE, true);
	assert_class(n, file, UINT64_MAX, NATIVE_CODE, true);
	assert_int_equal(n->class_cnt, 131072);
	native_free(n);
}

/* The helper ends within its answer: what it has said so far is forgotten. */
static void test_functions_of_a_lost_helper(void **state)
{
	static const struct elf_match first[] = { { 0x401000, 0x401050, 0, 0 } };
	static const struct elf_match second[] = { { 0x402000, 0x402050, 0, 0 } };
	struct elf_message m;
	uint32_t file, again;

	for (again = 0; again < 2; again++) {
		struct native *n = begin_stripped(&m, &file);

		answer_matches(&m, first, 1, ELF_PARTIAL, true);
		STEP_UNTIL(n, n->class_cnt == 1);
		fake_end(ELF_ROLE_NAMES);
		m = question(n, ELF_ROLE_NAMES);
		assert_int_equal(m.kind, HELPER_MATCH);
		assert_int_equal(n->class_cnt, 0);
		if (again)	/* it is not asked a third time */
			fake_end(ELF_ROLE_NAMES);
		else
			answer_matches(&m, second, 1, ELF_PARTIAL, false);
		wait_for_functions(n, file);
		assert_class(n, file, 0x402010, NATIVE_CODE, true);
		assert_class(n, file, 0x401010, again ? NATIVE_CODE : NATIVE_UNNAMED, true);
		native_free(n);
	}
}

static void say_name(const struct elf_message *asked, uint64_t addr, const char *name)
{
	struct { struct elf_name n; char name[32]; } text = {
		.n = { .addr = addr, .start = addr & ~15ull },
	};

	text.n.name_bytes = (uint16_t)(strlen(name) + 1);
	snprintf(text.name, sizeof(text.name), "%s", name);
	answer(ELF_ROLE_NAMES, asked, NAMES, &text, sizeof(text.n) + text.n.name_bytes, 1, -1);
}

static void test_names(void **state)
{
	struct native *n = begin(1, 0);
	uint32_t file = give_table(n, false, 10);
	struct native_name name;
	struct elf_message m;

	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file);
	assert_int_equal(native_name(n, TGID, file, 0x401010, &name), -EAGAIN);
	assert_string_equal(name.library, "liba.so");
	assert_string_equal(name.functions[0].name, "liba.so+0x401010");
	assert_int_equal(native_name(n, TGID, file, 0x401010, &name), -EAGAIN);
	m = question(n, ELF_ROLE_NAMES);
	assert_int_equal(m.kind, HELPER_NAMES);
	assert_int_equal(m.cnt, 1);
	say_name(&m, 0x401010, "foo");
	STEP_UNTIL(n, !native_name(n, TGID, file, 0x401010, &name));
	assert_string_equal(name.functions[0].name, "foo");
	/* An address in the process, from before the file was known. */
	assert_int_equal(native_name(n, TGID, 0, 0x10010, &name), 0);
	assert_string_equal(name.functions[0].name, "foo");
	assert_int_equal(native_name(n, TGID, 999, 1, &name), -ENOENT);
	native_free(n);
}

/* The names of one library are asked for before the functions of another, which a table has not. */
static void test_names_come_before_the_functions_of_libraries(void **state)
{
	struct elf_message first, m;
	uint32_t file, i;
	struct native *n = begin(3, 0);
	struct elf_facts facts = facts_of(false);
	struct native_name name;

	facts.stripped = 1;
	for (i = 0; i < 3; i++) {
		m = question(n, ELF_ROLE_TABLES);
		answer(ELF_ROLE_TABLES, &m, TABLE, &facts, sizeof(facts), 1,
		       make_table(10, ALL_SEALS));
	}
	first = question(n, ELF_ROLE_NAMES);
	assert_int_equal(first.kind, HELPER_MATCH);
	STEP_UNTIL(n, maps.places[0].cnt == 3 && mapping(TGID, 2)->file);
	file = mapping(TGID, 2)->file;
	assert_int_equal(native_name(n, TGID, file, 0x401010, &name), -EAGAIN);
	answer_matches(&first, NULL, 0, ELF_PARTIAL, false);
	m = question(n, ELF_ROLE_NAMES);
	assert_int_equal(m.kind, HELPER_NAMES);
	assert_int_equal(m.file, file);
	say_name(&m, 0x401010, "foo");
	STEP_UNTIL(n, !native_name(n, TGID, file, 0x401010, &name));
	assert_string_equal(name.functions[0].name, "foo");
	assert_int_equal(question(n, ELF_ROLE_NAMES).kind, HELPER_MATCH);
	native_free(n);
}

/* It waits while the opener or the helper works; one that does nothing is not waited for. */
static void test_how_long_names_are_waited_for(void **state)
{
	struct native *n = begin(1, 0);
	uint32_t file = give_table(n, false, 10);
	struct native_name name;
	uint64_t begun;

	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file);
	assert_int_equal(native_name(n, TGID, file, 0x401010, &name), -EAGAIN);
	question(n, ELF_ROLE_NAMES);
	begun = now_ns();
	native_settle(n, 50, 20000);
	assert_in_range(now_ns() - begun, 50 * NS_PER_MS, 15 * NS_PER_S);
	/* From now on it is busy, without an answer. */
	assert_int_equal(kill(n->helpers[ELF_ROLE_NAMES].pid, SIGUSR1), 0);
	STEP_UNTIL(n, parties_busy_ns(n, UINT64_MAX) == UINT64_MAX);
	begun = now_ns();
	native_settle(n, 50, 1000);
	assert_true(now_ns() - begun >= 1000 * NS_PER_MS);
	native_free(n);
}

/* After some names that take too long, the file's others are not tried. */
static void test_names_that_take_too_long(void **state)
{
	struct native *n = begin(1, 0);
	uint32_t file = give_table(n, false, 10), i;
	struct native_counts counts;
	struct native_name name;
	struct elf_message m;

	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file);
	for (i = 0; i <= ELF_COSTLY_MAX; i++) {
		struct { struct elf_name n; char name[8]; } text = {
			.n = { .addr = 0x401010 + i, .start = 0x401000, .name_bytes = 5,
			       .mangled = 1 }, .name = "_Z1f",
		};

		assert_int_equal(native_name(n, TGID, file, 0x401010 + i, &name), -EAGAIN);
		m = question(n, ELF_ROLE_NAMES);
		assert_int_equal(m.flags & ELF_MANGLED, i == ELF_COSTLY_MAX ? ELF_MANGLED : 0);
		answer(ELF_ROLE_NAMES, &m, NAMES, &text, sizeof(text.n) + 5, 1, -1);
		STEP_UNTIL(n, !native_name(n, TGID, file, 0x401010 + i, &name));
		assert_string_equal(name.functions[0].name, "_Z1f");
	}
	native_counts(n, &counts);
	assert_int_equal(counts.names_mangled, ELF_COSTLY_MAX + 1);
	native_free(n);
}

/* An address in a mapping that is read later. */
static void test_names_of_a_mapping_that_is_new(void **state)
{
	struct native *n = begin(1, 0);
	struct process *p = process_find(n, TGID);
	struct native_name name;
	struct elf_message m;

	assert_int_equal(native_name(n, TGID, 0, 0x20010, &name), -EAGAIN);
	assert_string_equal(name.library, "mapping not read yet");
	assert_int_equal(name.cnt, 0);
	STEP_UNTIL(n, p->list && !p->waits);
	assert_int_equal(native_name(n, TGID, 0, 0x20010, &name), -ENOENT);
	assert_string_equal(name.library, "code that is not mapped");
	opener_of(n)->map_cnt = 2;
	native_stale(n, TGID);
	assert_int_equal(native_name(n, TGID, 0, 0x20010, &name), -EAGAIN);
	assert_string_equal(name.library, "mapping not read yet");
	native_catch_up(n, 1);
	STEP_UNTIL(n, p->list->cnt == 2);
	/* The mapping is known, its file is not: the place in the file. */
	assert_int_equal(native_name(n, TGID, 0, 0x20010, &name), -EAGAIN);
	assert_string_equal(name.library, "libb.so");
	assert_string_equal(name.functions[0].name, "libb.so+0x1010");
	give_table(n, false, 10);
	give_table(n, false, 10);
	STEP_UNTIL(n, mapping(TGID, 1)->file);
	assert_int_equal(native_name(n, TGID, 0, 0x20010, &name), -EAGAIN);
	m = question(n, ELF_ROLE_NAMES);
	assert_int_equal(m.kind, HELPER_NAMES);
	say_name(&m, 0x401010, "foo");
	STEP_UNTIL(n, !native_name(n, TGID, 0, 0x20010, &name));
	assert_string_equal(name.library, "libb.so");
	assert_string_equal(name.functions[0].name, "foo");
	native_free(n);
}

/* Rows and names of a file hold where a process has changed its code, and that is known. */
static void test_code_that_was_changed(void **state)
{
	struct native *n = begin(2, 0);
	struct raw_native_frame frames[2] = { { .addr = 0x401010 }, { .addr = 0x401010 } };

	opener_of(n)->changed = 11;
	give_table(n, false, 10);
	give_table(n, false, 10);
	STEP_UNTIL(n, maps.places[0].cnt == 2 && mapping(TGID, 0)->file && mapping(TGID, 1)->file);
	frames[0].file = mapping(TGID, 0)->file;
	assert_false(native_changed(n, TGID, frames, 2));
	frames[1].file = mapping(TGID, 1)->file;
	assert_true(native_changed(n, TGID, frames, 2));
	assert_false(native_changed(n, TGID, frames, 1));
	frames[1].addr = 0x409010;
	assert_false(native_changed(n, TGID, frames, 2));
	assert_false(native_changed(n, TGID + 1, frames, 2));
	native_free(n);
}

/* The helper has closed the file meanwhile: it gets it once more. */
static void test_names_of_a_file_that_the_helper_has_not(void **state)
{
	struct native *n = begin(1, 0);
	uint32_t file = give_table(n, false, 10), opened;
	struct native_name name;
	struct elf_message m;

	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file);
	native_name(n, TGID, file, 0x401010, &name);
	m = question(n, ELF_ROLE_NAMES);
	opened = opener_of(n)->opened;
	answer(ELF_ROLE_NAMES, &m, NO_FILE, NULL, 0, 0, -1);
	m = question(n, ELF_ROLE_NAMES);
	assert_int_equal(opener_of(n)->opened, opened + 1);
	assert_int_equal(m.kind, HELPER_NAMES);
	assert_int_equal(m.cnt, 1);
	say_name(&m, 0x401010, "foo");
	STEP_UNTIL(n, !native_name(n, TGID, file, 0x401010, &name));
	native_free(n);
}

static void test_a_child_has_its_parents_list(void **state)
{
	struct native *n = begin(2, 0);
	uint32_t asked;

	STEP_UNTIL(n, maps.places[0].cnt == 2);
	asked = opener_of(n)->maps_asked;
	assert_int_equal(native_begin(n, TGID + 1, 2, 1000, TGID), 0);
	STEP_UNTIL(n, maps.places[1].cnt == 2);
	assert_int_equal(maps.places[0].chunk, maps.places[1].chunk);
	assert_int_equal(opener_of(n)->maps_asked, asked);
	/* The list stays while one of them is there. */
	native_end(n, TGID);
	assert_int_equal(maps.places[0].cnt, 0);
	give_table(n, false, 10);
	STEP_UNTIL(n, mapping(TGID + 1, 0)->file);
	native_free(n);
}

/* As long as the same file is there, nothing is built again; another one is another file. */
static void test_another_file_with_the_same_inode(void **state)
{
	struct native *n = begin(1, 0);
	uint32_t file = give_table(n, false, 10), other;

	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file == file);
	STEP_UNTIL(n, maps.tables[mapping(TGID, 0)->table].row_cnt);
	native_end(n, TGID);
	assert_int_equal(native_begin(n, TGID, 2, 1000, 0), 0);
	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file == file);
	assert_int_equal(maps.tables[mapping(TGID, 0)->table].row_cnt, 10);
	native_end(n, TGID);
	opener_of(n)->mtime++;
	assert_int_equal(native_begin(n, TGID, 3, 1000, 0), 0);
	other = give_table(n, false, 20);
	assert_int_not_equal(other, file);
	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file == other);
	STEP_UNTIL(n, maps.tables[mapping(TGID, 0)->table].row_cnt == 20);
	native_free(n);
}

/* Each reading that changes nothing doubles the pause before the next. */
static void test_mappings_are_read_ever_less_often(void **state)
{
	struct native *n = begin(1, 0);
	struct process *p = process_find(n, TGID);
	uint64_t read_ns, pause_ns;
	uint32_t i;

	STEP_UNTIL(n, p->list && !p->waits);
	/* The time that it took counts, too. */
	assert_in_range(p->pause_ns, REREAD_NS, REREAD_MAX_NS);
	p->pause_ns = REREAD_NS;
	for (i = 1; i <= 3; i++) {
		read_ns = p->read_ns;
		pause_ns = p->pause_ns;
		native_stale(n, TGID);
		native_stale(n, TGID);
		assert_true(p->waits && p->due_ns >= read_ns + pause_ns);
		STEP_UNTIL(n, opener_of(n)->maps_asked == 1 + i && !p->waits);
		assert_int_equal(p->pause_ns, 2 * pause_ns);
	}
	opener_of(n)->map_cnt = 2;
	native_stale(n, TGID);
	STEP_UNTIL(n, maps.places[0].cnt == 2);
	assert_in_range(p->pause_ns, REREAD_NS, REREAD_MAX_NS);
	p->pause_ns = REREAD_MAX_NS - 1;
	p->read_ns = 0;
	native_stale(n, TGID);
	STEP_UNTIL(n, !p->waits);
	assert_int_equal(p->pause_ns, REREAD_MAX_NS);
	native_stale(n, 1);
	native_free(n);
}

/* Two tables of 3 MiB in 4 MiB: the one that is used stays, the one that is not used goes. */
static void test_eviction(void **state)
{
	struct native *n = begin(2, 4 << 20);
	uint32_t first = give_table(n, false, 380000), second;
	struct file *a, *b;
	struct elf_message m;

	a = n->files[first - 1];
	STEP_UNTIL(n, a->stage == FILE_READY);
	second = give_table(n, false, 380000);
	b = n->files[second - 1];
	STEP_UNTIL(n, b->stage == FILE_EVICTED);
	assert_int_equal(n->counts.tables_failed, 1);
	assert_int_equal(a->stage, FILE_READY);
	/* The first is not used any more; the second is, and may be tried again. */
	a->used_ns = 0;
	b->again_ns = 0;
	native_used(n, second);
	give_table(n, false, 380000);
	STEP_UNTIL(n, b->stage == FILE_READY);
	assert_int_equal(a->stage, FILE_EVICTED);
	assert_int_equal(maps.tables[a->table].row_cnt, 0);
	assert_int_equal(maps.tables[a->table].why, NATIVE_NO_TABLE);
	assert_int_equal(maps.tables[b->table].row_cnt, 380000);
	assert_int_equal(n->counts.tables_evicted, 1);
	/* It is asked for again when it is used. */
	native_used(n, first);
	m = question(n, ELF_ROLE_TABLES);
	assert_int_equal(m.kind, HELPER_TABLE);
	assert_int_equal(m.file, first);
	native_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_table_is_installed),
		cmocka_unit_test(test_a_cpython_waits_for_its_functions),
		cmocka_unit_test(test_the_functions_of_a_stripped_file),
		cmocka_unit_test(test_a_stripped_file_with_symbols_elsewhere),
		cmocka_unit_test(test_too_many_functions),
		cmocka_unit_test(test_functions_of_a_lost_helper),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_come_before_the_functions_of_libraries),
		cmocka_unit_test(test_how_long_names_are_waited_for),
		cmocka_unit_test(test_names_that_take_too_long),
		cmocka_unit_test(test_names_of_a_mapping_that_is_new),
		cmocka_unit_test(test_code_that_was_changed),
		cmocka_unit_test(test_names_of_a_file_that_the_helper_has_not),
		cmocka_unit_test(test_a_child_has_its_parents_list),
		cmocka_unit_test(test_another_file_with_the_same_inode),
		cmocka_unit_test(test_mappings_are_read_ever_less_often),
		cmocka_unit_test(test_eviction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
