/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * remote_mem.h - reads the memory of a process whoever made it, and comes back.
 *
 * A page may have somebody behind it who never delivers (userfaultfd, a FUSE file):
 * process_vm_readv() then waits for ever, even past a signal. So a helper process
 * reads, and is given up when it takes too long. One helper for the whole program,
 * not for use from several threads.
 */
#ifndef TACHBPF_REMOTE_MEM_H
#define TACHBPF_REMOTE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Read len bytes at addr of the process whose tgid is in ctx (as struct target_mem
 * wants it). 0; -EFAULT, -EPERM and so on; -ESRCH: it is gone; -EBUSY: nothing is known, ask
 * again later: too much time went into such reads, or this process keeps a helper waiting.
 */
int remote_mem_read(void *ctx, uint64_t addr, void *buf, size_t len);

/*
 * While samples wait for us only a part of the time goes into reads. At first nothing
 * waits: then each read takes its time, if only the machine is slow.
 */
void remote_mem_hurry(bool hurry);
/* So long, whatever was spent before. */
void remote_mem_grant(int64_t ns);

/* The helper's pid, for tests; 0: there is none. */
pid_t remote_mem_helper(void);

/* End the helper. The next remote_mem_read() would start another. */
void remote_mem_end(void);

#endif
