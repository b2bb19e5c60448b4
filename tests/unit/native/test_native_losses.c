// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_losses.c - helpers that end or lie, files that make them, a blocked opener. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include "fake_parties.h"
#include "native/native_answers.h"
#include "native/native_parties.h"

/* The list says that the file's table will not be there. */
static void refused(struct native *n, uint8_t why)
{
	STEP_UNTIL(n, n->file_cnt > 1 && n->files[1]->stage == FILE_REFUSED);
	assert_int_equal(n->files[1]->why, why);
	STEP_UNTIL(n, maps.places[0].cnt && !n->lists_stale);
	assert_int_equal(maps.tables[mapping(TGID, 0)->table].why, why);
	assert_int_equal(maps.tables[mapping(TGID, 0)->table].row_cnt, 0);
}

static void test_a_file_at_which_helpers_end(void **state)
{
	struct native *n = begin(1, 0);
	struct elf_message m = question(n, ELF_ROLE_TABLES);
	struct native_counts counts;

	fake_end(ELF_ROLE_TABLES);
	STEP_UNTIL(n, fakes[ELF_ROLE_TABLES].starts == 2);
	assert_int_equal(question(n, ELF_ROLE_TABLES).file, m.file);
	fake_end(ELF_ROLE_TABLES);
	refused(n, NATIVE_NO_TABLE);
	STEP_UNTIL(n, fakes[ELF_ROLE_TABLES].starts == 3);
	native_counts(n, &counts);
	assert_int_equal(counts.tables_failed, 1);
	assert_int_equal(counts.helper_restarts, 2);
	assert_int_equal(counts.stuck, 0);
	native_free(n);
}

static void test_answers_that_nobody_asked_for(void **state)
{
	const uint32_t kinds[] = { NAMES, MATCHES, 12345 };
	struct native *n = begin(1, 0);
	struct elf_message m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		n->files[0]->strikes = 0;
		if (n->file_cnt > 1)
			n->files[1]->strikes = 0;
		n->helpers[ELF_ROLE_TABLES].failures = 0;
		m = question(n, ELF_ROLE_TABLES);
		answer(ELF_ROLE_TABLES, &m, kinds[i], NULL, 0, 0, -1);
		STEP_UNTIL(n, fakes[ELF_ROLE_TABLES].starts == 2 + i);
	}
	m = question(n, ELF_ROLE_TABLES);
	m.request++;
	answer(ELF_ROLE_TABLES, &m, TABLE, NULL, 0, 0, -1);
	STEP_UNTIL(n, fakes[ELF_ROLE_TABLES].starts == 2 + i);
	native_free(n);
}

static void refuses_table(int fd, const struct elf_facts *facts, uint8_t why)
{
	struct native *n = begin(1, 0);
	struct elf_message m = question(n, ELF_ROLE_TABLES);

	answer(ELF_ROLE_TABLES, &m, TABLE, facts, sizeof(*facts), 1, fd);
	refused(n, why);
	native_free(n);
}

static void test_tables_that_are_none(void **state)
{
	struct elf_facts facts = facts_of(false);
	char path[] = "/tmp/tachbpf-table-XXXXXX";
	int fd;

	/* Who has made it could change it, or cut it. */
	refuses_table(make_table(10, 0), &facts, NATIVE_NO_TABLE);
	refuses_table(make_table(10, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SEAL), &facts,
		      NATIVE_NO_TABLE);
	fd = mkstemp(path);
	unlink(path);
	assert_int_equal(ftruncate(fd, 8192), 0);
	refuses_table(fd, &facts, NATIVE_NO_TABLE);
	fd = make_table(10, 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, ALL_SEALS), 0);
	refuses_table(fd, &facts, NATIVE_NO_TABLE);
	refuses_table(-1, &facts, NATIVE_NO_TABLE);
	facts.load_cnt = 9;
	refuses_table(make_table(10, ALL_SEALS), &facts, NATIVE_NO_ROW);
	facts = facts_of(false);
	facts.build_id_bytes = 21;
	refuses_table(make_table(10, ALL_SEALS), &facts, NATIVE_NO_ROW);
}

/* An offset that is in no segment: there is no address in the file. */
static void test_a_mapping_of_no_segment(void **state)
{
	struct native *n = begin(1, 0);
	struct elf_message m = question(n, ELF_ROLE_TABLES);
	struct elf_facts facts = facts_of(false);

	facts.loads[0].off = UINT64_MAX - 5;
	facts.loads[0].filesz = UINT64_MAX;
	answer(ELF_ROLE_TABLES, &m, TABLE, &facts, sizeof(facts), 1, make_table(10, ALL_SEALS));
	STEP_UNTIL(n, n->files[1]->stage == FILE_READY);
	STEP_UNTIL(n, maps.places[0].cnt && !n->lists_stale);
	assert_int_equal(mapping(TGID, 0)->table, TABLE_NO_TABLE);
	assert_int_equal(mapping(TGID, 0)->file, 0);
	native_free(n);
}

static void test_a_helper_that_never_has_the_file(void **state)
{
	struct native *n = begin(1, 0);
	struct elf_message m;
	int i;

	for (i = 0; i < 4; i++) {
		m = question(n, ELF_ROLE_TABLES);
		answer(ELF_ROLE_TABLES, &m, NO_FILE, NULL, 0, 0, -1);
	}
	refused(n, NATIVE_NO_TABLE);
	assert_int_equal(fakes[ELF_ROLE_TABLES].starts, 1);
	native_free(n);
}

/* Names end at a file; its table stays, and the evaluation function is known from the facts. */
static void test_a_cpython_at_which_the_names_helper_ends(void **state)
{
	struct native *n = begin(1, 0);
	uint32_t file = give_table(n, true, 10);
	enum native_class class;
	struct native_name name;

	assert_int_equal(question(n, ELF_ROLE_NAMES).kind, HELPER_MATCH);
	fake_end(ELF_ROLE_NAMES);
	assert_int_equal(question(n, ELF_ROLE_NAMES).kind, HELPER_MATCH);
	fake_end(ELF_ROLE_NAMES);
	STEP_UNTIL(n, n->files[file - 1]->stage == FILE_READY);
	STEP_UNTIL(n, maps.places[0].cnt && mapping(TGID, 0)->file == file);
	assert_true(native_class(n, TGID, file, 0x401150, &class));
	assert_int_equal(class, NATIVE_EVAL);
	assert_int_equal(native_name(n, TGID, file, 0x401150, &name), -ENOENT);
	assert_string_equal(name.functions[0].name, "liba.so+0x401150");
	native_free(n);
}

/* Its user pauses; the helper is there again for the names of others. */
static void test_a_helper_that_ends_at_another_users_file(void **state)
{
	struct native *n = begin(2, 0);
	uint32_t bad = give_table(n, false, 10), good = give_table(n, false, 10);
	const struct helper *h = &n->helpers[ELF_ROLE_NAMES];
	struct native_name name;

	assert_int_equal(native_begin(n, TGID + 1, 1, 1001, TGID), 0);
	STEP_UNTIL(n, maps.places[1].cnt == 2 && mapping(TGID + 1, 1)->file);
	assert_int_equal(native_name(n, TGID, bad, 0x401150, &name), -EAGAIN);
	assert_int_equal(question(n, ELF_ROLE_NAMES).file, bad);
	fake_end(ELF_ROLE_NAMES);
	assert_int_equal(native_name(n, TGID + 1, good, 0x401150, &name), -EAGAIN);
	assert_int_equal(question(n, ELF_ROLE_NAMES).file, good);
	assert_int_equal(n->files[bad - 1]->turn->again_ns, h->again_ns + NS_PER_S);
	assert_true(h->started_ns >= h->again_ns);
	native_free(n);
}

/*
 * A process no longer has the file where it was read: it is opened as soon as the mappings are read
 * again, however often that was in vain.
 */
static void test_a_file_that_is_no_longer_there(void **state)
{
	struct native *n = begin(0, 0);
	struct process *p = process_find(n, TGID);
	uint32_t read;
	int i;

	opener_of(n)->absent = TGID;
	opener_of(n)->map_cnt = 1;
	native_stale(n, TGID);
	for (i = 0; i < 6; i++) {
		read = opener_of(n)->maps_asked;
		STEP_UNTIL(n, opener_of(n)->maps_asked > read);
		p->pause_ns = REREAD_NS;	/* the test does not want to wait for it */
	}
	assert_int_equal(n->files[1]->stage, FILE_NEW);
	opener_of(n)->absent = 0;
	give_table(n, false, 10);
	STEP_UNTIL(n, maps.places[0].cnt && mapping(TGID, 0)->file);
	native_free(n);
}

/* Another process still has it. */
static void test_a_file_that_another_process_has(void **state)
{
	struct native *n = begin(0, 0);

	native_begin(n, TGID + 1, 2, 1000, 0);
	opener_of(n)->absent = TGID;
	opener_of(n)->map_cnt = 1;
	native_stale(n, TGID);
	native_stale(n, TGID + 1);
	give_table(n, false, 10);
	STEP_UNTIL(n, maps.places[0].cnt && mapping(TGID, 0)->file);
	STEP_UNTIL(n, maps.places[1].cnt && mapping(TGID + 1, 0)->file);
	native_free(n);
}

/* A helper that does not answer in its time is ended; of its file there are no names. */
static void test_a_helper_that_is_late(void **state)
{
	struct native *n = begin(1, 0);
	uint32_t file = give_table(n, false, 10);
	struct native_counts counts;
	struct native_name name;

	STEP_UNTIL(n, maps.places[0].cnt && mapping(TGID, 0)->file == file);
	assert_int_equal(native_name(n, TGID, file, 0x401150, &name), -EAGAIN);
	assert_int_equal(question(n, ELF_ROLE_NAMES).kind, HELPER_NAMES);
	n->helpers[ELF_ROLE_NAMES].asked_ns -= NAMES_MS * NS_PER_MS;
	STEP_UNTIL(n, native_name(n, TGID, file, 0x401150, &name) == -ENOENT);
	STEP_UNTIL(n, fakes[ELF_ROLE_NAMES].starts == 2);
	native_counts(n, &counts);
	assert_int_equal(counts.stuck, 1);
	assert_int_equal(n->files[file - 1]->stage, FILE_READY);
	native_free(n);
}

/* One that waits for a CPU meanwhile is not. */
static void test_a_helper_on_a_busy_machine(void **state)
{
	struct native *n = begin(1, 0);
	uint32_t file = give_table(n, false, 10);
	struct helper *h = &n->helpers[ELF_ROLE_NAMES];
	struct native_name name;

	STEP_UNTIL(n, maps.places[0].cnt && mapping(TGID, 0)->file == file);
	assert_int_equal(native_name(n, TGID, file, 0x401150, &name), -EAGAIN);
	assert_int_equal(question(n, ELF_ROLE_NAMES).kind, HELPER_NAMES);
	h->asked_ns -= NAMES_MS * NS_PER_MS;
	h->waited_ns -= NAMES_MS * NS_PER_MS;
	assert_false(helper_is_late(n, h));
	h->waited_ns -= NS_PER_MS;	/* it has waited all the time, and n->now is older */
	assert_false(helper_is_late(n, h));
	h->asked_ns -= (NAMES_MS + 1) * NS_PER_MS;
	assert_true(helper_is_late(n, h));
	native_free(n);
}

static void test_matches_with_false_lengths(void **state)
{
	struct native *n = begin(1, 0);
	struct elf_match match = { 0x401000, 0x402000, 0, 0 };
	struct elf_message m;

	give_table(n, true, 10);
	m = question(n, ELF_ROLE_NAMES);
	answer(ELF_ROLE_NAMES, &m, MATCHES, &match, sizeof(match), 2, -1);
	STEP_UNTIL(n, fakes[ELF_ROLE_NAMES].starts == 2);
	native_free(n);
}

static void test_what_is_no_regular_file(void **state)
{
	struct native *n = begin(0, 0);

	opener_of(n)->error = -EINVAL;
	opener_of(n)->map_cnt = 1;
	native_stale(n, TGID);
	STEP_UNTIL(n, maps.places[0].cnt == 1);
	refused(n, NATIVE_NO_ROW);
	native_free(n);
}

/* It is there, and cannot be opened. */
static void test_what_cannot_be_opened(void **state)
{
	struct native *n = begin(0, 0);

	opener_of(n)->error = -EIO;
	opener_of(n)->map_cnt = 1;
	native_stale(n, TGID);
	refused(n, NATIVE_NO_TABLE);
	assert_in_range(opener_of(n)->opened, 4, 10);
	native_free(n);
}

/* Five seconds later another one is there, which does not ask about that process for a while. */
static void test_an_opener_that_is_blocked(void **state)
{
	struct native *n = begin(0, 0);
	struct native_counts counts;
	pid_t first = n->opener.worker.pid;

	opener_of(n)->stuck_at = 10;
	opener_of(n)->map_cnt = 1;
	native_stale(n, TGID);
	STEP_UNTIL(n, n->opener.worker.pid && n->opener.worker.pid != first);
	native_counts(n, &counts);
	assert_int_equal(counts.stuck, 1);
	STEP_UNTIL(n, n->helpers[0].given && n->helpers[1].given);
	native_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_at_which_helpers_end),
		cmocka_unit_test(test_answers_that_nobody_asked_for),
		cmocka_unit_test(test_tables_that_are_none),
		cmocka_unit_test(test_a_mapping_of_no_segment),
		cmocka_unit_test(test_a_helper_that_never_has_the_file),
		cmocka_unit_test(test_a_cpython_at_which_the_names_helper_ends),
		cmocka_unit_test(test_a_helper_that_ends_at_another_users_file),
		cmocka_unit_test(test_a_file_that_is_no_longer_there),
		cmocka_unit_test(test_a_file_that_another_process_has),
		cmocka_unit_test(test_a_helper_that_is_late),
		cmocka_unit_test(test_a_helper_on_a_busy_machine),
		cmocka_unit_test(test_matches_with_false_lengths),
		cmocka_unit_test(test_what_is_no_regular_file),
		cmocka_unit_test(test_what_cannot_be_opened),
		cmocka_unit_test(test_an_opener_that_is_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
