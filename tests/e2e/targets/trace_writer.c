// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * trace_writer.c - publishes thread contexts (OTEP 4947), as a library that a Python program loads.
 *
 * How it is compiled decides the model of the variable: -mtls-dialect=gnu2 or gnu, -ftls-model=...;
 * with EXECUTABLE it is a Python of its own, which has the variable itself (local exec).
 */
#include <stdint.h>
#include <string.h>

struct record {
	uint8_t trace_id[16], span_id[8], valid, flags;
	uint16_t attrs_bytes;
	uint8_t attrs[];
};

#ifdef EARLIER
/* So that the variable is not the first of the segment. */
__thread int earlier[EARLIER] = { 1 };
#endif
__attribute__((visibility(VISIBILITY))) __thread const struct record *otel_thread_ctx_v1;

/* The thread works on this from now on; NULL: on nothing. */
__attribute__((visibility("default"))) void ctx_set(const struct record *r)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	otel_thread_ctx_v1 = r;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Change the thread's record in place, in the order that OTEP 4947 demands. */
__attribute__((visibility("default"))) void ctx_change(struct record *r, const uint8_t *ids)
{
	*(volatile uint8_t *)&r->valid = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memcpy(r->trace_id, ids, 24);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(volatile uint8_t *)&r->valid = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#ifdef EXECUTABLE
int Py_BytesMain(int argc, char **argv);

int main(int argc, char **argv)
{
#ifdef EARLIER
	earlier[0]++;
#endif
	return Py_BytesMain(argc, argv);
}
#endif
