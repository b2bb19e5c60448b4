/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_pythons.h - a viewer of agent_windows.h that feeds what the agent's observer sees to the
 * metrics of Python processes.
 *
 * A process has a row from its first name on, so that it counts where it belongs; one that ends
 * without a name counts as SERVICE_OTHER_NAME. A process for whose metrics there is no memory has
 * none. Runs in the main process.
 */
#ifndef TACHBPF_AGENT_PYTHONS_H
#define TACHBPF_AGENT_PYTHONS_H

#include "agent/agent_windows.h"
#include "agent/python_metrics.h"

struct agent_pythons;

/*
 * rows: metrics.services; modes: enum agent_mode; loops: event loops are looked at; keys:
 * metrics.labels, which are copied; config, which stays valid: for labels.
 * Returns NULL with errno on failure. Free it by agent_pythons_free() after the capture.
 */
struct agent_pythons *agent_pythons_new(uint32_t rows, uint32_t modes, bool loops,
					const char *const *keys, size_t key_cnt,
					const struct service_config *config);
void agent_pythons_free(struct agent_pythons *a);

/* The viewer for agent_windows_args.viewers. Its tick is the metrics'. */
struct agent_viewer agent_pythons_viewer(struct agent_pythons *a);
/*
 * For agent_windows_args.moved: from now on the process belongs to this service; NULL: to none.
 * Also when labels have changed.
 */
void agent_pythons_moved(struct agent_pythons *a, struct agent_process *p,
			 const struct service *service);

/* Applies a reload. */
void agent_pythons_set(struct agent_pythons *a, uint32_t rows, uint32_t modes);
/* Writes the families tachbpf_python_*. */
void agent_pythons_render(const struct agent_pythons *a, struct metrics_text *t);

#endif
