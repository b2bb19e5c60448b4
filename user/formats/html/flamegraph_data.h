/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flamegraph_data.h - a call tree as the columns of docs/format-flamegraph.md. */
#ifndef TACHBPF_FLAMEGRAPH_DATA_H
#define TACHBPF_FLAMEGRAPH_DATA_H

#include "formats/html/flamegraph_times.h"
#include "formats/html/html_page.h"
#include "formats/html/page_opcodes.h"
#include "model/stack_tree.h"

/* Add everything behind the metadata to d. times and opcodes may be NULL. An error is d's. */
void flamegraph_put_data(struct html_data *d, const struct stack_tree *tree,
			 const struct flamegraph_times *times,
			 const struct page_opcodes *opcodes);

#endif
