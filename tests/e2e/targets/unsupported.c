/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program that passes for CPython 3.5, which is not supported; it says "ready" and burns CPU. */
#include <stdio.h>

const unsigned long Py_Version = 0x030504f0;
char _PyRuntime[4096] = { 1 };

int main(void)
{
	volatile unsigned long n = 0;

	puts("ready");
	fflush(stdout);
	for (;;)
		n++;
}
