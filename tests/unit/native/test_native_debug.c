// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_native_debug.c - debug files from servers, which the test's worker plays: who is asked for
 * what, and what becomes of the names meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <stdio.h>

#include "fake_parties.h"
#include "native/debug_asker.h"

/* What the server does with a build id that begins with this byte. */
enum { HAS_IT = 1, HAS_IT_NOT, FAILS, NEVER_ANSWERS, ENDS };

static int fake_ask(void *shared, const int *fds)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	struct elf_message m;
	int fd, err;

	for (;;) {
		poll(&p, 1, -1);
		err = native_receive(fds[0], &m, fake_data, &fd);
		if (err && err != -EAGAIN)
			_exit(0);
		if (err || m.kind != DEBUG_FIND || *fake_data == NEVER_ANSWERS)
			continue;
		if (*fake_data == ENDS)
			_exit(1);
		m.kind = DEBUG_FOUND;
		m.bytes = 0;
		m.result = *fake_data == HAS_IT ? 0 : *fake_data == FAILS ? -ECONNREFUSED : -ENOENT;
		native_send(fds[0], &m, NULL, m.result ? -1 : fds[1]);
	}
}

static const worker_fn ask_functions[] = { fake_ask };

const struct worker_kind native_debug_kind = {
	.name = "fake-asker", .does = "asks nobody", .jail = &fake_jail,
	.functions = ask_functions, .function_cnt = 1, .shared_bytes = 4096,
};

int debug_cache_open(const char *path)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static struct native *begin_with(uint8_t what)
{
	fake_debug_urls = "http://server";
	fake_build_id = what;
	return begin(1, 0);
}

/* Answers the next question for a name, by which the helper says whether it lacks symbols. */
static void say_name(struct native *n, uint64_t addr, const char *name, bool lacks)
{
	struct elf_message m = question(n, ELF_ROLE_NAMES);
	struct { struct elf_name n; char name[32]; } text = {
		.n = { .addr = addr, .start = addr & ~15ull },
	};
	struct elf_message to = { .kind = NAMES, .file = m.file, .request = m.request, .cnt = 1,
				  .flags = lacks ? ELF_LACKS_DEBUG : 0 };

	assert_int_equal(m.kind, HELPER_NAMES);
	text.n.name_bytes = (uint16_t)(strlen(name) + 1);
	snprintf(text.name, sizeof(text.name), "%s", name);
	to.bytes = (uint32_t)sizeof(text.n) + text.n.name_bytes;
	assert_int_equal(native_send(fakes[ELF_ROLE_NAMES].main, &to, &text, -1), 0);
}

static uint32_t first_name(struct native *n, bool lacks)
{
	uint32_t file = give_table(n, false, 10);
	struct native_name name;

	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file);
	assert_int_equal(native_name(n, TGID, file, 0x401010, &name), -EAGAIN);
	say_name(n, 0x401010, "exported", lacks);
	return file;
}

static void assert_counts(struct native *n, uint32_t asked, uint32_t found)
{
	struct native_counts counts;

	native_counts(n, &counts);
	assert_int_equal(counts.debug_asked, asked);
	assert_int_equal(counts.debug_found, found);
	assert_int_equal(native_debug_files(n), 0);
}

/* The names are looked up again; the helper is told to read the file again before that. */
static void test_a_debug_file(void **state)
{
	struct native *n = begin_with(HAS_IT);
	uint32_t file = first_name(n, true);
	struct native_name name;
	struct elf_message m;

	m = question(n, ELF_ROLE_NAMES);
	assert_int_equal(m.kind, HELPER_REREAD);
	assert_int_equal(m.file, file);
	assert_int_equal(native_name(n, TGID, file, 0x401010, &name), -EAGAIN);
	say_name(n, 0x401010, "hidden", true);
	STEP_UNTIL(n, !native_name(n, TGID, file, 0x401010, &name));
	assert_string_equal(name.functions[0].name, "hidden");
	assert_counts(n, 1, 1);		/* it still lacks some, and is not asked for again */
	native_free(n);
}

static void test_nothing_is_lacking(void **state)
{
	struct native *n = begin_with(HAS_IT);
	uint32_t file = first_name(n, false);
	struct native_name name;

	STEP_UNTIL(n, !native_name(n, TGID, file, 0x401010, &name));
	assert_counts(n, 0, 0);
	native_free(n);
}

static void test_without_servers(void **state)
{
	struct native *n;
	struct native_name name;
	uint32_t file;

	fake_debug_urls = NULL;
	n = begin(1, 0);
	file = first_name(n, true);
	STEP_UNTIL(n, !native_name(n, TGID, file, 0x401010, &name));
	assert_counts(n, 0, 0);
	assert_int_equal(n->debug.worker.pid, 0);
	native_free(n);
}

/* The name that was there is the name: of a server that has nothing, fails, or of no worker. */
static void test_no_debug_file(void **state)
{
	static const uint8_t whats[] = { HAS_IT_NOT, FAILS, ENDS };
	struct native_name name;
	struct native *n;
	uint32_t file;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(whats); i++) {
		n = begin_with(whats[i]);
		file = first_name(n, true);
		STEP_UNTIL(n, !native_name(n, TGID, file, 0x401010, &name));
		assert_string_equal(name.functions[0].name, "exported");
		assert_counts(n, 1, 0);
		assert_int_equal(n->debug.failures, whats[i] != HAS_IT_NOT);
		native_free(n);
	}
}

static void test_servers_that_fail_again_and_again(void **state)
{
	struct native *n = begin_with(FAILS);
	struct native_name name;
	uint32_t file;

	n->debug.failures = 2;
	log_set_level(LOG_QUIET);
	file = first_name(n, true);
	STEP_UNTIL(n, !native_name(n, TGID, file, 0x401010, &name));
	log_set_level(LOG_NORMAL);
	assert_true(n->debug.dir < 0 && !n->debug.worker.pid);
	native_free(n);
}

/* Meanwhile the name is provisional: it is given to who cannot wait. */
static void test_a_server_that_never_answers(void **state)
{
	struct native *n = begin_with(NEVER_ANSWERS);
	uint32_t file = first_name(n, true);
	struct native_name name;

	STEP_UNTIL(n, native_debug_files(n) == 1 && n->debug.file);
	assert_int_equal(native_name(n, TGID, file, 0x401010, &name), -EAGAIN);
	assert_string_equal(name.functions[0].name, "exported");
	native_hurry(n, true);
	assert_int_equal(native_name(n, TGID, file, 0x401010, &name), 0);
	native_hurry(n, false);
	n->debug.asked_ns -= 2 * DEBUG_FILE_S * NS_PER_S;
	STEP_UNTIL(n, !native_name(n, TGID, file, 0x401010, &name));
	assert_counts(n, 1, 0);
	native_free(n);
}

/* ---- names that come later ---- */

static struct native *begin_later(uint8_t what)
{
	struct native *n;

	fake_debug_later = true;
	n = begin_with(what);
	fake_debug_later = false;
	return n;
}

/* Nobody waits: names and classes are those of a file without a debug file, until one has come. */
static void test_a_debug_file_later(void **state)
{
	struct native *n = begin_later(HAS_IT);
	uint32_t file = first_name(n, true), before = native_renewed(n);
	struct native_counts counts;
	struct native_name name;
	enum native_class class;

	n->files[file - 1]->partial = true;
	STEP_UNTIL(n, n->files[file - 1]->debug == DEBUG_WANTED);
	native_hurry(n, false);
	assert_int_equal(native_name(n, TGID, file, 0x401010, &name), 0);
	assert_string_equal(name.functions[0].name, "exported");
	assert_false(native_class(n, TGID, file, 0x402000, &class));
	assert_int_equal(class, NATIVE_UNNAMED);
	assert_int_equal(native_debug_files(n), 0);
	native_counts(n, &counts);
	assert_int_equal(counts.debug_awaited, 1);
	assert_int_equal(question(n, ELF_ROLE_NAMES).kind, HELPER_REREAD);
	assert_int_not_equal(native_renewed(n), before);
	native_class(n, TGID, file, 0x402000, &class);
	assert_int_equal(class, NATIVE_CODE);
	assert_int_equal(native_name(n, TGID, file, 0x401010, &name), -EAGAIN);
	say_name(n, 0x401010, "hidden", true);
	STEP_UNTIL(n, !native_name(n, TGID, file, 0x401010, &name));
	assert_string_equal(name.functions[0].name, "hidden");
	assert_counts(n, 1, 1);
	native_free(n);
}

/* Before anybody was asked, a function without a name is shown: else nothing would ask for it. */
static void test_the_first_one_is_shown(void **state)
{
	struct native *n = begin_later(HAS_IT_NOT);
	uint32_t file = give_table(n, false, 10);
	enum native_class class;

	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file);
	n->files[file - 1]->partial = true;
	assert_false(native_class(n, TGID, file, 0x402000, &class));
	assert_int_equal(class, NATIVE_CODE);
	native_free(n);
}

/* They are asked again after a pause, which gets longer; about each file twelve times. */
static void test_servers_that_fail_pause(void **state)
{
	struct native *n = begin_later(FAILS);
	uint32_t file = first_name(n, true), i;
	struct native_counts counts;

	log_set_level(LOG_QUIET);
	for (i = 1; i <= 12; i++) {
		STEP_UNTIL(n, n->debug.failures == i);
		assert_int_equal(n->debug.again_ns - n->now,
				 (10 * NS_PER_S) << (i < 9 ? i - 1 : 8));
		assert_true(n->debug.dir >= 0 && !n->debug.file);
		assert_int_equal(n->files[file - 1]->debug, i < 12 ? DEBUG_WANTED : DEBUG_SETTLED);
		step(n);
		native_counts(n, &counts);
		assert_int_equal(counts.debug_asked, 1);
		assert_int_equal(counts.debug_awaited, i < 12);
		assert_string_equal(counts.debug_failure, strerror(ECONNREFUSED));
		n->debug.again_ns = n->now - 1;
		n->more = true;
	}
	log_set_level(LOG_NORMAL);
	native_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_debug_file),
		cmocka_unit_test(test_nothing_is_lacking),
		cmocka_unit_test(test_without_servers),
		cmocka_unit_test(test_no_debug_file),
		cmocka_unit_test(test_servers_that_fail_again_and_again),
		cmocka_unit_test(test_a_server_that_never_answers),
		cmocka_unit_test(test_a_debug_file_later),
		cmocka_unit_test(test_the_first_one_is_shown),
		cmocka_unit_test(test_servers_that_fail_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
