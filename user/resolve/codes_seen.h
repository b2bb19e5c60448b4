/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * codes_seen.h - which code object was at an address of a process, and until when that is certain.
 *
 * For confirm.h. A table of one process: address -> fingerprint, and a time at which, or after
 * which, the code object was read.
 */
#ifndef TACHBPF_CODES_SEEN_H
#define TACHBPF_CODES_SEEN_H

#include "base/hash_slots.h"
#include "bpf/abi.h"

/* At most so many addresses; then all are forgotten. 24 bytes each, of a table half full. */
#define CODES_SEEN_MAX 32768

/* Zero-initialise; codes_seen_free() when done. */
struct codes_seen {
	struct hash_slots table;
	/* The stack that was added last, right-aligned: what the next shares is not added. */
	struct raw_frame last[ABI_MAX_FRAMES];
	uint32_t last_cnt;
	uint64_t last_ns;
};

void codes_seen_free(struct codes_seen *c);

/*
 * These code objects were read at ns or later (CLOCK_MONOTONIC). Frames without a fingerprint, and
 * of another kind, are left out. Without memory the table stays as it is.
 */
void codes_seen_add(struct codes_seen *c, const struct raw_frame *frames, uint32_t cnt,
		    uint64_t ns);
/* The same of one code object. id 0: there is another one, or none, at this address now. */
void codes_seen_set(struct codes_seen *c, uint64_t code, uint32_t id, uint64_t ns);

/* What is known of a frame of a sample that began at ns. */
enum code_verdict {
	CODE_UNKNOWN,	/* its code object was not read since then */
	CODE_SAME,	/* it was, and is the same; or it was read with the frame */
	CODE_OTHER,	/* it was, and is another one */
};
/* *until: CODE_SAME holds for samples that began until then. */
enum code_verdict codes_seen_verdict(const struct codes_seen *c, const struct raw_frame *frame,
				     uint64_t ns, uint64_t *until);

#endif
