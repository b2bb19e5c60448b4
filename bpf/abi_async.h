/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi_async.h - where asyncio (3.14+) keeps its tasks and what they wait for, in bytes.
 *
 * User space determines it from a process' files (user/target/inspector.h, inspector_async()), and
 * limits all offsets: see user/asyncio/section.h.
 */
#ifndef TACHBPF_ABI_ASYNC_H
#define TACHBPF_ABI_ASYNC_H

#include "abi.h"

/* From the section .AsyncioDebug. */
struct async_tasks_layout {
	abi_u32 interp_tasks_head;	/* PyInterpreterState: tasks of threads that have ended */
	/* PyThreadState. These may be far above ABI_TS_BYTES. */
	abi_u16 ts_running_loop;	/* the loop that runs in this thread; NULL: none      */
	abi_u16 ts_running_task;	/* the task that runs in this thread; NULL: none      */
	abi_u16 ts_tasks_head;		/* llist_node: next, prev                             */
	/* _asyncio.Task */
	abi_u16 task_name;		/* -> str, or int n of "Task-n"                       */
	abi_u16 task_awaited_by;	/* NULL, -> a task, or -> a set of tasks              */
	abi_u16 task_is_task;		/* i8, not 0: a Task; 0: a Future, which has no name  */
	abi_u16 task_awaited_by_is_set;	/* i8, not 0: task_awaited_by is a set                */
	abi_u16 task_coro;		/* -> the coroutine; NULL: it has ended               */
	abi_u16 task_node;		/* llist_node                                         */
	abi_u16 task_bytes;		/* all of the above are below */
};

/* From the debug offsets of the interpreter. */
struct async_coroutine_layout {
	abi_u16 ob_type;
	abi_u16 gen_frame;		/* coroutine, generator, async generator: its frame */
	abi_u16 gen_state;		/* i8, see state_* below                              */
	abi_u16 fr_stack;		/* _PyInterpreterFrame.stackpointer                   */
	abi_u16 awaited_below;		/* distance of the awaited object's StackRef below the
					 * stack pointer of a frame suspended in yield from */
	abi_u16 set_used;		/* PySetObject: number of entries                     */
	abi_u16 set_mask;		/* slots of the table, minus 1                        */
	abi_u16 set_table;		/* -> slots of ASYNC_SET_SLOT bytes: key, hash        */
	abi_u16 int_tag;		/* PyLongObject: digits << 3 | sign                   */
	abi_u16 int_digits;		/* u32 each, 30 bits                                  */
	abi_s8 state_yield_from;	/* suspended in yield from or await                   */
	abi_s8 state_yield_from_locked;	/* the same while it is being resumed (3.15); else equal */
	abi_s8 state_executing;
	abi_u8 stack_tag_mask;		/* low bits of a StackRef that are a tag              */
};

struct async_layout {
	struct async_tasks_layout task;
	struct async_coroutine_layout coro;
	abi_u8 valid;			/* 1: all of the above is valid */
	abi_u8 pad[3];
};
_Static_assert(sizeof(struct async_layout) == 52, "async_layout has no hidden padding");

#define ASYNC_SET_SLOT 16

#endif
