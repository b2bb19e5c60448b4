/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * far_read.h - reads the memory of a process whoever made it, and comes back.
 *
 * A page may have somebody behind it who never delivers (userfaultfd, a FUSE file):
 * process_vm_readv() then waits for ever, even past a signal. So a helper process
 * reads, and is given up when it takes too long. One helper for the whole program,
 * not for use from several threads.
 */
#ifndef TACHBPF_FAR_READ_H
#define TACHBPF_FAR_READ_H

#include <stddef.h>
#include <stdint.h>

/*
 * Read len bytes at addr of the process whose tgid is in ctx (as struct target_mem
 * wants it). 0; -EFAULT, -EPERM and so on; -EBUSY: too much time went
 * into such reads, ask again later; -ESRCH: it is gone, or did not let us
 * read in time and is not asked again.
 */
int far_read(void *ctx, uint64_t addr, void *buf, size_t len);

/* End the helper. The next far_read() would start another. */
void far_read_end(void);

#endif
