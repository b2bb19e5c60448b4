/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_faults.h - the page faults of --mode mem: perf events on each CPU (event_sampler.h), and
 * the program that follows moves of memory. Without that mode all functions do nothing.
 */
#ifndef TACHBPF_CAPTURE_FAULTS_H
#define TACHBPF_CAPTURE_FAULTS_H

#include <stdbool.h>

struct capture;

/* Before the BPF programs are loaded: which of them, and their settings. */
void capture_faults_configure(struct capture *s);
/* Open the events, which needs rights that are given up afterwards. 0 or -errno; logs why. */
int capture_faults_open(struct capture *s);
/* Sampling begins, pauses, goes on, ends. 0 or -errno; logs why. */
int capture_faults_start(struct capture *s);
void capture_faults_pause(struct capture *s, bool pause);
/* Give events another period, if it is time for that. At each capture_poll(). */
void capture_faults_vary(struct capture *s);
/* CPUs have gone online or offline; about once in some seconds. */
void capture_faults_refresh(struct capture *s);
void capture_faults_stop(struct capture *s);
void capture_faults_free(struct capture *s);

#endif
