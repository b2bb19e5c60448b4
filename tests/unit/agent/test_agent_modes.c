// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_agent_modes.c - which programs the modes need, and which sample types an event has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agent/agent_modes.h"
#include "bpf/abi.h"
#include "config/config.h"

#define ALL (AGENT_CPU | AGENT_OFFCPU | AGENT_GIL | AGENT_EXCEPTION)
#define EVERYTHING (ALL | AGENT_MEMORY)

/* The sample types as letters: c, o, g, e. */
static const char *kinds_of(uint32_t modes, uint8_t status)
{
	static const char letters[] = { [WINDOW_CPU] = 'c', [WINDOW_OFF_CPU] = 'o',
					[WINDOW_GIL_WAIT] = 'g', [WINDOW_EXCEPTION] = 'e' };
	static char text[WINDOW_KIND_CNT + 1];
	enum window_kind kinds[WINDOW_KIND_CNT];
	const struct event ev = { .status = status };
	unsigned int cnt = agent_modes_kinds(modes, &ev, kinds), i;

	for (i = 0; i < cnt; i++)
		text[i] = letters[kinds[i]];
	text[cnt] = '\0';
	return text;
}

static void test_kinds(void **state)
{
	static const struct {
		uint8_t status;
		const char *cpu, *off_cpu, *gil, *exception, *all;
	} cases[] = {
		{ STATUS_ON_CPU, "c", "", "", "", "c" },
		{ STATUS_ON_CPU | STATUS_HAS_GIL, "c", "", "", "", "c" },
		/* Who is on a CPU does not wait. */
		{ STATUS_ON_CPU | STATUS_GIL_REQUESTED, "c", "", "", "", "c" },
		{ STATUS_ON_CPU | STATUS_HAS_EXCEPTION, "c", "", "", "e", "ce" },
		{ 0, "", "o", "", "", "o" },
		{ STATUS_HAS_GIL, "", "o", "", "", "o" },
		{ STATUS_GIL_REQUESTED, "", "o", "g", "", "og" },
		{ STATUS_HAS_EXCEPTION, "", "o", "", "e", "oe" },
		{ STATUS_GIL_REQUESTED | STATUS_HAS_EXCEPTION, "", "o", "g", "e", "oge" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(kinds_of(AGENT_CPU, cases[i].status), cases[i].cpu);
		assert_string_equal(kinds_of(AGENT_OFFCPU, cases[i].status), cases[i].off_cpu);
		assert_string_equal(kinds_of(AGENT_GIL, cases[i].status), cases[i].gil);
		assert_string_equal(kinds_of(AGENT_EXCEPTION, cases[i].status), cases[i].exception);
		assert_string_equal(kinds_of(ALL, cases[i].status), cases[i].all);
	}
}

/* Each set of modes: what of the BPF side runs for it, and nothing that nobody asked for. */
static void test_record(void **state)
{
	struct record_mode_def mode;
	uint32_t modes;

	for (modes = 1; modes <= EVERYTHING; modes++) {
		/* Memory changes nothing of the times. */
		uint32_t times = modes & ALL;
		bool waits = times & ~(uint32_t)AGENT_CPU, off_cpu = times & AGENT_OFFCPU;

		agent_modes_record(modes, &mode);
		assert_int_equal(mode.memory, !!(modes & AGENT_MEMORY));
		assert_string_equal(mode.name, "agent");
		assert_int_equal(mode.unit, UNIT_SAMPLES);
		assert_int_equal(mode.header, times == AGENT_CPU ? MODE_CPU : MODE_ALL);
		assert_int_equal(mode.ticks, times && times != AGENT_OFFCPU);
		assert_int_equal(mode.waits, waits);
		assert_int_equal(mode.runnable, waits);
		assert_int_equal(mode.wait_frames, off_cpu);
		assert_int_equal(mode.runnable_frames, off_cpu);
		assert_int_equal(mode.exceptions, !!(modes & AGENT_EXCEPTION));
		assert_int_equal(mode.need_status,
				 times == AGENT_GIL ? STATUS_HAS_GIL | STATUS_GIL_REQUESTED :
				 times == AGENT_EXCEPTION ? STATUS_HAS_EXCEPTION : 0);
	}
}

static void check_text(uint32_t modes, const char *wanted)
{
	char text[AGENT_MODES_TEXT];

	agent_modes_text(modes, 19, text);
	assert_string_equal(text, wanted);
}

static void test_text(void **state)
{
	const char *const ticks = "sampling 19 times per second on each CPU";
	char text[AGENT_MODES_TEXT];

	check_text(AGENT_CPU, ticks);
	check_text(AGENT_GIL, ticks);
	check_text(AGENT_CPU | AGENT_EXCEPTION, ticks);
	check_text(AGENT_OFFCPU, "recording waits");
	check_text(AGENT_MEMORY, "recording who touches new memory");
	check_text(AGENT_HEAP, "counting objects by type; nothing is sampled");
	check_text(AGENT_CPU | AGENT_HEAP,
		   "sampling 19 times per second on each CPU, counting objects by type");
	check_text(AGENT_OFFCPU | AGENT_MEMORY,
		   "recording waits, recording who touches new memory");
	check_text(AGENT_MEMORY | AGENT_HEAP,
		   "recording who touches new memory, counting objects by type");
	agent_modes_text(UINT32_MAX, UINT32_MAX, text);
	assert_string_equal(text, "sampling 4294967295 times per second on each CPU, recording "
			    "waits, recording who touches new memory, counting objects by type");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
