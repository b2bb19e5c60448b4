// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * lifecycle.bpf.c - exec, fork and exit of processes; new names of threads.
 *
 * An exec deletes the entry of the process in py_procs, a fork copies the parent's entry to the
 * child, and the exit of the last thread deletes the entry. The programs run in process
 * context, so they may insert and delete entries of hash maps.
 */
#include "admit_exec.bpf.h"
#include "losses.bpf.h"
#include "native.bpf.h"
#include "pyasync.bpf.h"
#include "proc_filter.bpf.h"
#include "pysend.bpf.h"
#include "origin.bpf.h"

/*
 * Nothing that follows a fork, an exec or an exit must be done within the 100 ms that a record
 * waits at most: the BPF side has done what the process' first tick needs. So these records do not
 * wake user space, which costs an interrupt (1 to 8 us) and a run of user space for each of them,
 * except with `hurry`: user space reads what may soon be gone. wakeup_new() ends a longer wait.
 */
static __always_inline u64 wakeup_if(bool hurry)
{
	return hurry ? BPF_RB_FORCE_WAKEUP : wakeup_flags();
}

static __always_inline void send_lifecycle(struct raw_lifecycle *ev, u64 wakeup)
{
	ev->h.time_ns = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&events, ev, sizeof(*ev), wakeup))
		count_loss(CNT_LIFECYCLE_LOST, ev->h.tgid, 0, ev->h.start_ns);
}

/* Read the arguments into ev. They are on the new stack, which the kernel has just written. */
static __always_inline void read_command(struct raw_exec *ev, const struct mm_struct *mm)
{
	u64 start = READ_KERNEL(mm, arg_start), len = READ_KERNEL(mm, arg_end) - start;

	ev->command_len = len > 0xffffffff ? 0xffffffff : len;
	if (len > RAW_COMMAND)
		len = RAW_COMMAND;
	barrier_var(len);
	if (len > RAW_COMMAND || bpf_probe_read_user(ev->command, len, (const void *)start))
		ev->command_len = 0;
}

/* Returns UNSELECTED_*. known: the entry of p from before the exec, or NULL. */
static __always_inline u8 judge_task(struct task_struct *p, const struct py_proc *known)
{
	u8 comm[COMM_BYTES];

	bpf_probe_read_kernel(comm, sizeof(comm), p->comm);
	return judge_exec(p, comm, known);
}

/*
 * Insert an entry for an excluded process, which must not be inspected. If the map is full, its
 * next tick asks user space, so nothing is lost. Not inlined: the entry would be on the stack of
 * on_exec(), which shares 512 bytes with everything that it calls.
 */
static __noinline void put_unseen(struct task_struct *task, u64 start_ns, u8 unselected)
{
	struct py_proc p = {
		.start_ns = start_ns,
		.ident = start_ns | 1,
		.state = PY_PROC_UNSEEN,
		.unselected = unselected,
		.euid = task_euid(task),
	};
	u32 tgid = task->tgid;

	bpf_map_update_elem(&py_procs, &tgid, &p, BPF_ANY);
}

/* As wakeup_if(). Returns true if user space must look at the process for what the record lacks. */
static __always_inline bool is_urgent(const struct raw_exec *ev)
{
	if (!ev->ident || ev->unselected & UNDECIDED)
		return true;	/* what it is; or the name of its executable */
	if (ev->command_len >= RAW_COMMAND)
		return true;	/* the rest of its arguments */
	return cfg_reads_begin || ev->origin.ns_tgid;	/* only /proc identifies a pid namespace */
}

/* Admit the process if its executable is known, and send a RAW_EXEC. */
static __always_inline void send_exec(struct task_struct *p, u64 key, const struct exe_file *file,
				      u8 unselected)
{
	struct raw_exec *ev = bpf_ringbuf_reserve(&events, sizeof(*ev), 0);
	const struct mm_struct *mm = READ_KERNEL(p, mm);
	u64 start_ns = start_ns_of(p);

	if (!ev) {
		count_loss(CNT_LIFECYCLE_LOST, p->tgid, 0, start_ns);
		return;
	}
	__builtin_memset(ev, 0, offsetof(struct raw_exec, command));
	ev->h.kind = RAW_EXEC;
	ev->h.tgid = p->tgid;
	ev->h.time_ns = bpf_ktime_get_ns();
	ev->h.start_ns = start_ns;
	ev->unselected = unselected;
	ev->file = *file;
	bpf_probe_read_kernel(ev->comm, sizeof(ev->comm), p->comm);
	read_command(ev, mm);
	ev->program = READ_KERNEL(mm, start_stack);
	fill_origin(&ev->origin, p);
	ev->exe = key;
	if (!(unselected & UNSELECTED_FOR_SURE))
		admit_exec(ev, p);
	bpf_ringbuf_submit(ev, wakeup_new(wakeup_if(is_urgent(ev))));
}

/* Send a RAW_EXEC_OTHER. */
static __always_inline void send_exec_other(struct task_struct *p)
{
	struct raw_lifecycle *ev = bpf_ringbuf_reserve(&events, sizeof(*ev), 0);
	u64 start_ns = start_ns_of(p);

	if (!ev) {
		count_loss(CNT_LIFECYCLE_LOST, p->tgid, 0, start_ns);
		return;
	}
	__builtin_memset(ev, 0, sizeof(*ev));
	ev->h.kind = RAW_EXEC_OTHER;
	ev->h.tgid = p->tgid;
	ev->h.time_ns = bpf_ktime_get_ns();
	ev->h.start_ns = start_ns;
	ev->ident = FIELD_BEHIND(p, mm, struct mm_struct, start_stack);
	bpf_ringbuf_submit(ev, wakeup_if(false));
}

/* Ticks of the next program do not walk immediately: the time since the last walk is no gap. */
static __always_inline void forget_last_tick(void)
{
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (s)
		s->last_tick.pid_tgid = 0;
}

/*
 * Judge the process by the user's conditions, replace its entry, admit it if its executable is
 * known, and send a RAW_EXEC. If the process is excluded, the record is only sent if user space
 * tracks the process, which ends with this exec. The same if its executable is known not to be
 * Python: then a RAW_EXEC_OTHER is enough.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm)
{
	u64 start_ns = start_ns_of(p);
	u32 tgid = p->tgid;
	struct py_proc *known = bpf_map_lookup_elem(&py_procs, &tgid);
	u32 is_tracked = known && known->state != PY_PROC_UNSEEN;
	struct exe_file file;
	u8 unselected = 0;
	u64 key;

	if (!cfg_all && !known && !bpf_map_lookup_elem(&watched, &tgid))
		return 0;
	if (known)
		forget_last_tick();
	if (cfg_native)
		bpf_map_delete_elem(&native_places, &tgid);
	if (cfg_async)
		bpf_map_delete_elem(&async_places, &tgid);
	if (cfg_filter.any)
		unselected = judge_task(p, known);
	if (unselected & UNSELECTED_FOR_SURE) {
		put_unseen(p, start_ns, unselected);
		if (!is_tracked)
			return 0;
	} else if (known) {
		bpf_map_delete_elem(&py_procs, &tgid);
	}
	is_tracked |= opaque_zero(start_ns);	/* so what follows is one state for the verifier */
	key = key_of_executable(bprm);
	exe_file_of(READ_KERNEL(bprm, file), &file);
	if (unselected & UNSELECTED_FOR_SURE || !is_other_exe(key, &file))
		send_exec(p, key, &file, unselected);
	else if (is_tracked)
		send_exec_other(p);
	return 0;
}

/* The child has the mappings of its parent. If the map is full, user space writes the entry. */
static __always_inline void inherit_place(u32 parent_tgid, u32 tgid)
{
	struct native_place *known = bpf_map_lookup_elem(&native_places, &parent_tgid), copy;

	if (!known)
		return;
	copy = *known;
	bpf_map_update_elem(&native_places, &tgid, &copy, BPF_ANY);
}

/*
 * The child has its parent's tasks, and what is known of them. The entry belongs to another process
 * until it has the child's start time. No copy on the stack: on_fork() has one of struct py_proc
 * there.
 */
static __always_inline void inherit_async(u32 parent_tgid, u32 tgid, u64 start_ns)
{
	struct async_place *place = bpf_map_lookup_elem(&async_places, &parent_tgid);

	if (!place || bpf_map_update_elem(&async_places, &tgid, place, BPF_ANY))
		return;
	place = bpf_map_lookup_elem(&async_places, &tgid);
	if (place)
		place->start_ns = start_ns;
}

/*
 * Returns true if the child is watched, too, as its parent's children are to be. For recordings of
 * chosen processes: with cfg_all no child needs it.
 */
static __always_inline bool watch_child(u32 parent_tgid, u32 tgid)
{
	const u32 *watch = bpf_map_lookup_elem(&watched, &parent_tgid);

	if (!watch || *watch != WATCH_CHILDREN)
		return false;
	if (bpf_map_update_elem(&watched, &tgid, watch, BPF_ANY))
		count_one(CNT_PROCS_FULL);
	return true;
}

/*
 * Copy the parent's entry from map to map, and change in place what differs: the child does not run
 * yet. Returns the child's entry; NULL: the map is full.
 */
static __always_inline struct py_proc *copy_entry(const struct py_proc *known, u32 tgid,
						  u64 start_ns)
{
	struct py_proc *copy;

	if (bpf_map_update_elem(&py_procs, &tgid, known, BPF_ANY))
		return NULL;
	copy = bpf_map_lookup_elem(&py_procs, &tgid);
	if (!copy)
		return NULL;
	copy->start_ns = start_ns;
	/* Another ident, so the child's names are sent again: see docs/decisions.md. */
	copy->ident = (start_ns ^ (u64)tgid << 32) | 1;
	copy->ticks = 0;
	copy->main_thread = 0;
	if (copy->credit_ns > 0)	/* it is the parent's: a child must not multiply it */
		copy->credit_ns = 0;
	if (cfg_filter.any && !cfg_filter.children)
		copy->unselected &= ~UNSELECTED_PID;
	return copy;
}

/*
 * Copy the parent's entry to the child, with another identity, and send a RAW_FORK. The record does
 * not end a long wait (wakeup_new()): the child's first own code object does. To wake user space
 * takes several times as long as all else here.
 */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct raw_lifecycle ev = { .h = { .kind = RAW_FORK, .tgid = child->tgid } };
	u32 parent_tgid = parent->tgid, tgid = child->tgid;
	const struct py_proc *known, *copy;

	if (parent_tgid == tgid)
		return 0;	/* a thread, not a process */
	if (!cfg_all && !watch_child(parent_tgid, tgid))
		return 0;
	known = bpf_map_lookup_elem(&py_procs, &parent_tgid);
	if (!known || known->state == PY_PROC_OTHER)
		return 0;
	if (cfg_filter.any && !fork_inherits(known, parent, child))
		return 0;
	ev.h.start_ns = child->start_boottime;
	copy = copy_entry(known, tgid, ev.h.start_ns);
	if (known->state == PY_PROC_UNSEEN)
		return 0;
	if (copy) {
		ev.admitted = 1;
		ev.ident = copy->ident;
	} else {
		count_one(CNT_PROCS_FULL);
	}
	if (cfg_native && copy)
		inherit_place(parent_tgid, tgid);
	if (cfg_async && copy)
		inherit_async(parent_tgid, tgid, ev.h.start_ns);
	ev.parent_tgid = parent_tgid;
	ev.ns_tgid = task_ns_pid(child);
	ev.other_cgroups = cgroups_of(parent) != cgroups_of(child);
	/* Otherwise the child equals its parent, and its names come with its first samples. */
	send_lifecycle(&ev, wakeup_if(ev.other_cgroups || cfg_reads_begin));
	return 0;
}

/* The process has ended, apart from the kernel's work: its ticks count as what it was. */
static __always_inline void note_end(u32 tgid, u64 start_ns, const struct py_proc *known)
{
	if (known->state == PY_PROC_UNSEEN || known->unselected)
		return;
	ended_procs[tgid % ENDED_SLOTS] = known->state == PY_PROC_OTHER ?
		start_ns & ~ENDED_PROFILED : start_ns | ENDED_PROFILED;
}

/* If p is the last thread, delete the entries of the process, and send a RAW_EXIT. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *p)
{
	struct raw_lifecycle ev = { .h = { .kind = RAW_EXIT, .tgid = p->tgid } };
	u32 tgid = p->tgid;
	struct py_proc *known;
	bool is_tracked;

	if (FIELD_BEHIND(p, signal, struct signal_struct, live.counter))
		return 0;	/* other threads still run */
	known = bpf_map_lookup_elem(&py_procs, &tgid);
	is_tracked = known && known->state != PY_PROC_OTHER && known->state != PY_PROC_UNSEEN;
	if (cfg_native)
		bpf_map_delete_elem(&native_places, &tgid);
	if (cfg_async)
		bpf_map_delete_elem(&async_places, &tgid);
	if (known) {
		note_end(tgid, start_ns_of(p), known);
		bpf_map_delete_elem(&py_procs, &tgid);
	}
	if (bpf_map_lookup_elem(&watched, &tgid)) {	/* takes no lock */
		bpf_map_delete_elem(&watched, &tgid);
		is_tracked = true;
	}
	if (!is_tracked)
		return 0;
	ev.h.start_ns = start_ns_of(p);
	/* Its memory is gone: nothing can be read any more. */
	send_lifecycle(&ev, wakeup_if(false));
	return 0;
}

/*
 * A limit for a process that constantly renames its threads. Two CPUs may count at the same time,
 * so names_sent can exceed the limit a little; a byte has room for that.
 */
#define MAX_NAMES_A_SECOND 200

/* False: this process has sent too many names in this second, or the ring buffer is half full. */
static __always_inline bool may_send_name(struct py_proc *p, u64 now)
{
	u8 second = now >> 30;

	if (p->names_second != second) {
		p->names_second = second;
		p->names_sent = 0;
	}
	if (p->names_sent >= MAX_NAMES_A_SECOND)
		return false;
	p->names_sent++;
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) <= cfg_codes_bytes;
}

/*
 * Send a RAW_RENAME if the thread's process is admitted. The name that an exec sets is not
 * sent: it belongs to the next program, and RAW_EXEC has it. A rename that is not sent does not
 * count as a loss. Not tp_btf: see on_cgroup_mkdir().
 */
SEC("raw_tp/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	struct raw_rename ev = { .h = { .kind = RAW_RENAME, .tgid = task_tgid(task) } };
	u32 tgid = ev.h.tgid;
	struct py_proc *known = bpf_map_lookup_elem(&py_procs, &tgid);

	if (!known || known->unselected & UNSELECTED_FOR_SURE ||
	    (known->state != PY_PROC_PYTHON && known->state != PY_PROC_LINKING))
		return 0;
	ev.h.start_ns = task_start_ns(task);
	ev.h.time_ns = bpf_ktime_get_ns();
	if ((known->start_ns && known->start_ns != ev.h.start_ns) || task_is_in_exec(task) ||
	    !may_send_name(known, ev.h.time_ns))
		return 0;
	ev.tid = task_tid(task);
	bpf_probe_read_kernel_str(ev.comm, sizeof(ev.comm), comm);
	bpf_ringbuf_output(&events, &ev, sizeof(ev), wakeup_new(BPF_RB_NO_WAKEUP));
	return 0;
}
