// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * maps.bpf.c - defines the maps and settings of common.bpf.h.
 */
#include "common.bpf.h"

/* The kernel's string for "GPL-2.0 or BSD", which allows GPL-only helpers. */
char _license[] SEC("license") = "Dual BSD/GPL";

const volatile bool cfg_all = false;
const volatile bool cfg_reads_begin = false;
const volatile bool cfg_gc = true;
const volatile bool cfg_gc_stats = false;
const volatile unsigned int cfg_period_ns = 0;
const volatile unsigned int cfg_wakeup_bytes = 0;
const volatile unsigned int cfg_codes_bytes = 0xffffffff;
const volatile unsigned int cfg_limit_ns = 0;
const volatile unsigned int cfg_tick_ns = 0;
const volatile bool cfg_self_time = false;
const volatile unsigned long long cfg_hierarchies = 1;
/*
 * In a map of its own. If the conditions may change, user space replaces it by another map, which
 * the kernel does not freeze: then the verifier does not treat fields as constants.
 */
const volatile struct filter_config cfg_filter SEC(".rodata.filter") = {};
const volatile bool cfg_ticks = true;
const volatile bool cfg_scan_only = false;
const volatile unsigned char cfg_need_status = 0;
const volatile bool cfg_native_threads = false;
const volatile bool cfg_runnable = true;
const volatile bool cfg_exceptions = false;
const volatile bool cfg_kernel_stacks = false;
const volatile bool cfg_native = false;
const volatile bool cfg_trace_context = false;
const volatile bool cfg_async = false;
const volatile bool cfg_task_names = false;
const volatile unsigned int cfg_page_bytes = 4096;
const volatile bool cfg_contents = false;
const volatile bool cfg_stamps = false;
const volatile unsigned int cfg_wait_slots = WAIT_SLOTS;

volatile unsigned int capture_paused = 0;
volatile unsigned int waits_long = 0;
volatile unsigned int chains_wait = 0;
volatile unsigned int tick_thinning = 0;
volatile struct direct_map direct_map = {};
struct tick_period tick_periods[TICK_SLOTS] = {};
unsigned long long ended_procs[ENDED_SLOTS] = {};

struct procs_map py_procs SEC(".maps");
struct exes_map known_exes SEC(".maps");
struct other_exes_map other_exes SEC(".maps");
struct watched_map watched SEC(".maps");
struct marks_map marks SEC(".maps");
struct burst_map burst_procs SEC(".maps");
struct counters_map counters SEC(".maps");
struct sample_times_map sample_times SEC(".maps");
struct events_map events SEC(".maps");
