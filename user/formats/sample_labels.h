/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sample_labels.h - what the labels of a sample say about its process and thread: ours, those of
 * other profilers, and OpenTelemetry's attributes. Others have no place in the model.
 */
#ifndef TACHBPF_SAMPLE_LABELS_H
#define TACHBPF_SAMPLE_LABELS_H

#include "base/string_ref.h"
#include "formats/sample_store.h"

struct sample_labels {
	struct stored_identity of;
	struct stored_thread thread;
	uint8_t status;
};

/*
 * Takes a label; the texts that matter are kept by the store. text: its value; len 0: it is number.
 * Returns 0 or -ENOMEM.
 */
int sample_labels_take(struct sample_store *s, struct string_ref key, struct string_ref text,
		       uint64_t number, struct sample_labels *l);

#endif
