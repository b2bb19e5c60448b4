// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* heap_functions.c - see heap_functions.h. C++ names: Itanium C++ ABI, 5.1. */
#include "probe/heap_functions.h"

#include <stdio.h>

const struct heap_function heap_functions[HEAP_FUNCTION_CNT] = {
	{ "malloc", HEAP_MALLOC },
	{ "free", HEAP_FREE },
	{ "calloc", HEAP_CALLOC },
	{ "realloc", HEAP_REALLOC },
	{ "reallocarray", HEAP_REALLOCARRAY },
	{ "posix_memalign", HEAP_POSIX_MEMALIGN },
	{ "aligned_alloc", HEAP_ALIGNED_ALLOC },
	{ "memalign", HEAP_ALIGNED_ALLOC },
	{ "valloc", HEAP_MALLOC },
	{ "pvalloc", HEAP_MALLOC },
	{ "cfree", HEAP_FREE },
	{ "free_sized", HEAP_FREE },
	{ "free_aligned_sized", HEAP_FREE },
	{ "mmap", HEAP_MMAP },
	{ "mmap64", HEAP_MMAP },
	{ "mremap", HEAP_MREMAP },
	{ "munmap", HEAP_MUNMAP },
	/* operator new, new[]; not throwing; aligned */
	{ "_Znwm", HEAP_MALLOC },
	{ "_Znam", HEAP_MALLOC },
	{ "_ZnwmRKSt9nothrow_t", HEAP_MALLOC },
	{ "_ZnamRKSt9nothrow_t", HEAP_MALLOC },
	{ "_ZnwmSt11align_val_t", HEAP_MALLOC },
	{ "_ZnamSt11align_val_t", HEAP_MALLOC },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", HEAP_MALLOC },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", HEAP_MALLOC },
	/* operator delete, delete[]; with the size; aligned */
	{ "_ZdlPv", HEAP_FREE },
	{ "_ZdaPv", HEAP_FREE },
	{ "_ZdlPvm", HEAP_FREE },
	{ "_ZdaPvm", HEAP_FREE },
	{ "_ZdlPvSt11align_val_t", HEAP_FREE },
	{ "_ZdaPvSt11align_val_t", HEAP_FREE },
	{ "_ZdlPvmSt11align_val_t", HEAP_FREE },
};

bool heap_shape_returns(enum heap_shape shape)
{
	return shape != HEAP_FREE && shape != HEAP_MUNMAP;
}

void heap_functions_want(struct prober_wanted *w)
{
	unsigned int i;

	w->cnt = HEAP_FUNCTION_CNT;
	w->needed = HEAP_FUNCTION_NEEDED;
	w->left_out = 0;
	for (i = 0; i < HEAP_FUNCTION_CNT; i++) {
		snprintf(w->names[i], sizeof(w->names[i]), "%s", heap_functions[i].name);
		if (w->returns && !heap_shape_returns(heap_functions[i].shape))
			w->left_out |= 1ull << i;
	}
}
