/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* top_views.h - the views of the process that the user has entered: functions, threads, callers, ... */
#ifndef TACHBPF_TOP_VIEWS_H
#define TACHBPF_TOP_VIEWS_H

struct top_ui;

/* Make ui->rows of the present view, which is one of a process. 0 or -ENOMEM. */
int top_views_make(struct top_ui *ui);

#endif
