/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libprobed.c - a library with USDT probes, as <sys/sdt.h> makes them: `work` in two places,
 * `guarded` only while its semaphore is not 0.
 */
unsigned short probed_guarded_semaphore __attribute__((section(".probes"), used));

#define PROBE(NAME, SEMAPHORE)                                                                     \
	__asm__ volatile("990: nop\n"                                                              \
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"                            \
			 ".balign 4\n"                                                             \
			 ".4byte 992f - 991f, 994f - 993f, 3\n"                                    \
			 "991: .asciz \"stapsdt\"\n"                                               \
			 "992: .balign 4\n"                                                        \
			 "993: .8byte 990b\n"                                                      \
			 ".8byte _.stapsdt.base\n"                                                 \
			 ".8byte " SEMAPHORE "\n"                                                  \
			 ".asciz \"probed\"\n"                                                     \
			 ".asciz \"" NAME "\"\n"                                                   \
			 ".asciz \"\"\n"                                                           \
			 "994: .balign 4\n"                                                        \
			 ".popsection\n"                                                           \
			 ".ifndef _.stapsdt.base\n"                                                \
			 ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
			 ".weak _.stapsdt.base\n"                                                  \
			 ".hidden _.stapsdt.base\n"                                                \
			 "_.stapsdt.base: .space 1\n"                                              \
			 ".size _.stapsdt.base, 1\n"                                               \
			 ".popsection\n"                                                           \
			 ".endif\n")

void probed_work(void)
{
	PROBE("work", "0");
	if (*(volatile unsigned short *)&probed_guarded_semaphore)
		PROBE("guarded", "probed_guarded_semaphore");
	PROBE("work", "0");
}
