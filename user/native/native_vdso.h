/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* native_vdso.h - the code that the kernel maps into every process: a copy of what we have. */
#ifndef TACHBPF_NATIVE_VDSO_H
#define TACHBPF_NATIVE_VDSO_H

#include <stdint.h>

/* A memfd with it, the caller's; *bytes: of its mapping. -errno: we have none. */
int vdso_copy(uint64_t *bytes);

#endif
