/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* native_texts.h - strings that are valid until the next poll. */
#ifndef TACHBPF_NATIVE_TEXTS_H
#define TACHBPF_NATIVE_TEXTS_H

#include <stdint.h>

struct text_block;

/* Returns "library+0x1234"; never NULL: without memory just library, which must live as long. */
const char *texts_address(struct text_block **texts, const char *library, uint64_t addr);
/* The strings are no longer valid. */
void texts_forget(struct text_block **texts);

#endif
