/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frame_names.h - derives the kind of a frame from its names. No file format has room for the kind
 * itself: a frame that is not Python's has the file "~" and no line in every format, or the file of
 * machine code (native_frame.h). Python code compiled under the name "[x]" is Python if it has a
 * line, as nearly all Python frames have; under "[x] y.py" it is taken for machine code.
 *
 * Only for readers of files: creators of frames know their kind.
 */
#ifndef TACHBPF_FRAME_NAMES_H
#define TACHBPF_FRAME_NAMES_H

#include "model/event.h"

/* Returns the kind of a frame with these names and this line (< 1: none). */
enum frame_kind frame_kind_of_names(const struct string_ref *file, const struct string_ref *func,
				    int32_t line);

#endif
