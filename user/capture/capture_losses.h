/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_losses.h - gives processes what the BPF side has lost of them. */
#ifndef TACHBPF_CAPTURE_LOSSES_H
#define TACHBPF_CAPTURE_LOSSES_H

struct capture;

/* Before the programs are loaded: the map's size. */
void capture_losses_configure(struct capture *s);
/* After they are loaded. 0 or -errno. */
int capture_losses_start(struct capture *s);
void capture_losses_free(struct capture *s);

/*
 * Add what was lost since the last call to the processes (process_add_lost()). To be called once a
 * second, and before a process ends: then its losses are in its row. Costs next to nothing while
 * nothing is lost.
 */
void capture_take_losses(struct capture *s);

#endif
