// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mode_memory.bpf.c - page faults, of which a perf event chooses one in N: sends the Python stack
 * that has touched the page; and moves of pages.
 *
 * on_page_fault() runs after the fault, with preemption off. It shares struct scratch with the
 * ticks, which may interrupt it: perf runs no program while another one of perf's runs on its CPU,
 * so that tick is missed. User space asks the kernel for the kind and size of the page: see
 * abi_memory.h.
 */
#include "memory.bpf.h"

/*
 * The period of the event has changed since its last fault. perf chooses the first fault after a
 * change, with the previous period. Only the kernel's count of faults shows which part of that
 * period had passed, and reading it costs 0.3 us: so the second fault compensates for it.
 */
static __always_inline u64 faults_counted(struct bpf_perf_event_data *ctx, struct fault_event *e,
					  u64 period)
{
	struct bpf_perf_event_value v = {};

	if (bpf_perf_prog_read_value(ctx, &v, sizeof(v)))
		return period;
	if (e->count > v.counter + 2 * period) {	/* a new event: its CPU was offline */
		e->count = v.counter - period;
		return period;
	}
	return v.counter > e->count ? v.counter - e->count : 1;
}

/* Number of faults that this one stands for: the event's period, apart from changes. */
static __always_inline u64 faults_since(struct bpf_perf_event_data *ctx, struct fault_event *e)
{
	u64 period = event_period(ctx), faults = period;

	if (period != e->period)
		faults = faults_counted(ctx, e, period);
	e->period = period;
	e->count += faults;
	return faults;
}

/*
 * Cost of a fault in addition to its walk, on the machines where it was measured: perf chooses it
 * and runs this program, the record is sent, and perf counts each fault before it. All of that is
 * charged to the budget, so that the budget is what a program pays that triggers faults on purpose.
 */
#define CHOSEN_NS 1500
#define COUNTED_NS 100

/*
 * User space looks at some pages before their first user has time to free what it made there
 * (user/memory/page_contents.h): on each CPU at the first chosen fault after this time.
 */
#define LOOK_NS 10000000ull

static __always_inline bool is_looked_at(struct scratch *s, u64 now)
{
	if (!cfg_contents || now - s->fault_event.looked_ns < LOOK_NS)
		return false;
	s->fault_event.looked_ns = now;
	return true;
}

/* The fault of a process that is recorded. Returns how it ends. */
static __always_inline enum counter take_fault(struct bpf_perf_event_data *ctx, struct scratch *s,
					       struct py_proc *p, u64 pid_tgid, u64 start_ns,
					       u64 faults)
{
	struct raw_memory memory = {
		.addr = event_addr(ctx),
		.bytes = cfg_page_bytes,
		.weight = cfg_page_bytes * faults,
	};
	enum counter end = CNT_FAULT_NOT_WALKED;
	u64 now = bpf_ktime_get_ns();
	bool walk;

	s->sample.h = (struct raw_header){
		.kind = RAW_ALLOC,
		.why = ALLOC_PAGE,
		.tgid = pid_tgid >> 32,
		.time_ns = now,
		.start_ns = start_ns,
	};
	walk = has_budget(s, now);
	if (walk)
		end = walk_for_alloc(ctx, s, p);
	else
		count_one(CNT_FAULT_NOT_WALKED);
	end = send_alloc(s, p, pid_tgid, end, &memory, is_looked_at(s, now));
	spend_budget(s, CHOSEN_NS + COUNTED_NS * faults + (walk ? bpf_ktime_get_ns() - now : 0));
	return end;
}

/* Returns how it ends. */
static __always_inline enum counter handle_fault(struct bpf_perf_event_data *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), start_ns, faults;
	u32 tgid = pid_tgid >> 32, zero = 0;
	struct scratch *s;
	struct py_proc *p;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return CNT_FAULT_OTHER;
	faults = faults_since(ctx, &s->fault_event);
	p = bpf_map_lookup_elem(&py_procs, &tgid);
	if (!p || p->state == PY_PROC_OTHER)
		return CNT_FAULT_OTHER;
	start_ns = current_start_ns();
	if (!is_recorded(p, tgid, start_ns))
		return CNT_FAULT_OTHER;
	return take_fault(ctx, s, p, pid_tgid, start_ns, faults);
}

SEC("?perf_event")
int on_page_fault(struct bpf_perf_event_data *ctx)
{
	count_one(CNT_FAULT);
	count_end(handle_fault(ctx));
	return 0;
}

#define SEARCHED_DOWNWARDS 1	/* VM_UNMAPPED_AREA_TOPDOWN: include/linux/mm.h */
/* A page of the second level, the size of transparent huge pages: one full page table. */
#define HUGE_BYTES ((u64)cfg_page_bytes * (cfg_page_bytes / 8))

/*
 * Where mremap() moves the pages to, if the kernel has found `free` for this length. For memory of
 * whole huge pages (6.7, efa7df3e3bb5) it looks for space for one more, and takes the aligned part
 * (mm/huge_memory.c, __thp_get_unmapped_area()).
 */
static __always_inline u64 moved_to(const struct mremap_call *m, u64 free, u64 length, u64 flags)
{
	u64 page = cfg_page_bytes - 1, after;

	if (length != ((m->new_bytes + page) & ~page) + HUGE_BYTES)
		return free;
	after = -free & (HUGE_BYTES - 1);
	return !after && flags & SEARCHED_DOWNWARDS ? free + HUGE_BYTES : free + after;
}

/* Cost of a record that was not requested by a sample. */
#define RECORD_NS 1000

/* Report that the range is free: whatever was there is gone. Within the budget. */
static __always_inline void send_unmapped(const struct raw_header *h, u32 tid, u64 addr, u64 bytes)
{
	struct scratch *s;
	struct raw_free *r;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return;
	r = has_budget(s, h->time_ns) ? bpf_ringbuf_reserve(&events, sizeof(*r), 0) : NULL;
	if (!r) {
		count_loss(CNT_FREE_LOST, h->tgid, tid, h->start_ns);
		return;
	}
	spend_budget(s, RECORD_NS);
	*r = (struct raw_free){ .h = *h, .tid = tid, .addr = addr, .bytes = bytes };
	r->h.kind = RAW_FREE;
	bpf_ringbuf_submit(r, wakeup_flags());
}

static __always_inline void send_moved(const struct raw_header *h, u32 tid,
				       const struct mremap_call *call, u64 to)
{
	struct raw_moved *r;

	r = bpf_ringbuf_reserve(&events, sizeof(*r), 0);
	if (!r) {
		count_loss(CNT_FREE_LOST, h->tgid, tid, h->start_ns);
		return;
	}
	*r = (struct raw_moved){
		.h = *h, .tid = tid, .addr = call->addr, .bytes = call->bytes, .to = to,
	};
	bpf_ringbuf_submit(r, wakeup_flags());
}

/*
 * The kernel has looked for free addresses for the current process. If it is in mremap(), it moves
 * pages there; otherwise it maps something, and what was there before has been unmapped. Its memory
 * map is locked. Addresses chosen by the program (MAP_FIXED, MREMAP_FIXED) are not reported here.
 */
SEC("?tp_btf/vm_unmapped_area")
int BPF_PROG(on_unmapped_area, unsigned long addr, struct vm_unmapped_area_info *info)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 tgid = pid_tgid >> 32, tid = (u32)pid_tgid;
	struct raw_header h = { .kind = RAW_MOVED, .why = ALLOC_PAGE, .tgid = tgid };
	struct mremap_call call;
	struct py_proc *p;

	if (IS_ERROR(addr))
		return 0;
	p = bpf_map_lookup_elem(&py_procs, &tgid);
	if (!p || p->state == PY_PROC_OTHER)
		return 0;
	h.start_ns = current_start_ns();
	if (!is_recorded(p, tgid, h.start_ns))
		return 0;
	h.time_ns = bpf_ktime_get_ns();
	if (current_mremap(&call) && call.bytes)
		send_moved(&h, tid, &call, moved_to(&call, addr, info->length, info->flags));
	else
		send_unmapped(&h, tid, addr, info->length);
	return 0;
}
