/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mem_bursts.h - what `tachbpf mem` says of blocks that were recorded in bursts. */
#ifndef TACHBPF_MEM_BURSTS_H
#define TACHBPF_MEM_BURSTS_H

#include "analysis/memory_rows.h"
#include "base/json.h"
#include "commands/mem_show.h"

/* Prints how blocks were sampled, and how exact that makes the sums. */
void mem_text_bursts(const struct mem_trace *t);
/* Writes the member "bursts"; null: there were none. */
void mem_json_bursts(struct json *j, const struct mlyze_sampled *s);
/* Writes the members held_error and touched_error: one standard deviation; null: not known. */
void mem_json_errors(struct json *j, const struct memory_row *row);

#endif
