/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * remote_mem.h - reads the memory of any process, and always returns.
 *
 * Behind a page there may be somebody who never delivers it (userfaultfd, a FUSE file):
 * then process_vm_readv() waits for ever, and not even a signal ends it. So a helper
 * process reads, and is given up if it takes too long. There is one helper for the whole
 * program; the functions must be called from one thread only.
 */
#ifndef TACHBPF_REMOTE_MEM_H
#define TACHBPF_REMOTE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Read len bytes at addr of the process whose tgid is in ctx (as struct target_mem requires). 0;
 * -EFAULT, -EPERM and other -errno; -ESRCH: no such process; -EBUSY: not read, try again later,
 * because too much time went into reads or because this process blocks a helper.
 */
int remote_mem_read(void *ctx, uint64_t addr, void *buf, size_t len);

/*
 * hurry: samples wait, so only a part of the time may go into reads. At the start, without
 * samples, a read may take as long as it needs on a slow machine.
 */
void remote_mem_hurry(bool hurry);
/* Allow reads to take ns, whatever was spent before. */
void remote_mem_grant(int64_t ns);

/* The helper's pid, for tests; 0: there is none. */
pid_t remote_mem_helper(void);

/* End the helper. The next remote_mem_read() would start another. */
void remote_mem_end(void);

#endif
