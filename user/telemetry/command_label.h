/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * command_label.h - a command line shortened to what people recognise a program by, for tables:
 * its script or module with the arguments, not the interpreter. Pure, no allocation.
 */
#ifndef TACHBPF_COMMAND_LABEL_H
#define TACHBPF_COMMAND_LABEL_H

#include <stddef.h>

#define COMMAND_LABEL_BYTES 512

/*
 * Writes the label of a command line (hostile): len bytes, arguments that are separated by NULs or,
 * in a stored command, by blanks. It is printable and has at most width columns, "…" included where
 * it is cut; 0: no limit except the buffer's. Returns out.
 *
 *     /usr/bin/python3 -u /srv/shop/app.py --port 80     app.py --port 80
 *     python3 /srv/shop/__main__.py                      shop/__main__.py
 *     python3.11 -m gunicorn shop:app                    -m gunicorn shop:app
 *     /venv/bin/python /venv/bin/celery -A shop worker   celery -A shop worker
 *     python3 -c 'import x'                              -c import x
 *     gunicorn: worker [shop]                            gunicorn: worker [shop]
 *     /usr/bin/python3 -i                                python3 -i
 */
char *command_label(const char *command, size_t len, size_t width, char out[COMMAND_LABEL_BYTES]);

#endif
