// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_elf_demangler.c - names that take forever, and processes that are lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf_helper/elf_demangler.h"
#include "elf_helper/elf_wire.h"

#define COSTLY 20

static char out[ELF_NAME_BYTES];

/* The first child of a process; 0: it has none. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	int child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &child) != 1)
		child = 0;
	if (f)
		fclose(f);
	return child;
}

/* CPU time of the processes that this one has waited for, in milliseconds. */
static unsigned long cpu_of_children(pid_t pid)
{
	unsigned long user = 0, kernel = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u "
				   "%lu %lu", &user, &kernel), 2);
	fclose(f);
	return (user + kernel) * 1000 / (unsigned long)sysconf(_SC_CLK_TCK);
}

/* "S_", "S0_" ... */
static void add_reference(char *name, unsigned int number)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t len = strlen(name);

	name[len++] = 'S';
	if (number > 36)
		name[len++] = digits[(number - 1) / 36];
	if (number)
		name[len++] = digits[(number - 1) % 36];
	strcpy(name + len, "_");
}

/* The expansion of what stands for 2^depth types, all of which are searched for a pack. */
static void make_costly(char *name, unsigned int depth)
{
	unsigned int i;

	strcpy(name, "_Z1fIDp1AI");
	for (i = 1; i < depth; i++)
		strcat(name, "S0_I");
	strcat(name, "1a");
	for (i = 2; i < depth + 2; i++) {
		add_reference(name, i);
		strcat(name, "E");
	}
	strcat(name, "Evv");
}

static void assert_demangles(const char *name, const char *as)
{
	bool costly;

	assert_int_equal(elf_demangler_name(name, out, sizeof(out), &costly), strlen(as));
	assert_string_equal(out, as);
	assert_false(costly);
}

static void test_names(void **state)
{
	assert_demangles("scanstring_unicode", "scanstring_unicode");
	assert_demangles("_ZN2ns5Thing6methodEi", "ns::Thing::method");
	assert_demangles("_RNvNtCs1234_5thing5inner5count", "thing::inner::count");
	assert_demangles("_ZN", "_ZN");
	assert_demangles("", "");
}

/* Each costs its limit, also those that print nothing; the names between them are there. */
static void test_names_that_take_forever(void **state)
{
	pid_t starts = child_of(getpid());
	unsigned long before = cpu_of_children(starts), used;
	char name[1024], small[128];
	bool costly;
	int i;

	make_costly(small, 3);
	assert_demangles(small, "f<(A<A<A<a, a>, A<a, a> >, A<A<a, a>, A<a, a> > >)...>");
	make_costly(name, 50);
	for (i = 0; i < COSTLY; i++) {
		assert_int_equal(elf_demangler_name(name, out, sizeof(out), &costly), strlen(name));
		assert_true(costly);
		assert_string_equal(out, name);
		assert_demangles("_ZN2ns5Thing6methodEi", "ns::Thing::method");
	}
	used = cpu_of_children(starts) - before;
	assert_in_range(used, COSTLY * ELF_DEMANGLE_US / 2000, COSTLY * ELF_DEMANGLE_US / 100);
}

/* After its answer: the next one may not be taken for the last one. */
static void test_a_process_that_is_killed(void **state)
{
	pid_t starts = child_of(getpid()), first;

	while (!(first = child_of(starts)))
		usleep(1000);
	kill(first, SIGKILL);
	while (child_of(starts) == first || !child_of(starts))
		usleep(1000);
	assert_demangles("_ZN2ns5Thing6methodEi", "ns::Thing::method");
	assert_demangles("_ZN2ns5Thing6searchEi", "ns::Thing::search");
}

static void test_both_are_lost(void **state)
{
	bool costly;

	kill(child_of(getpid()), SIGKILL);
	while (elf_demangler_name("_ZN2ns1fEi", out, sizeof(out), &costly) >= 0)
		usleep(1000);
	assert_demangles("plain", "plain");
}

static int start(void **state)
{
	return elf_demangler_start();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_that_take_forever),
		cmocka_unit_test(test_a_process_that_is_killed),
		cmocka_unit_test(test_both_are_lost),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
