/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * formats.h - lists the formats. Each is defined in its own directory; sinks.c and readers.c have
 * them in tables.
 */
#ifndef TACHBPF_FORMATS_H
#define TACHBPF_FORMATS_H

#include "model/reader.h"
#include "model/sink.h"

extern const struct sink_ops sink_tach;
extern const struct sink_ops sink_chrome;
extern const struct sink_ops sink_collapsed;
extern const struct sink_ops sink_columns;
extern const struct sink_ops sink_csv;
extern const struct sink_ops sink_gecko;
extern const struct sink_ops sink_gperftools;
extern const struct sink_ops sink_gperftools_native;
extern const struct sink_ops sink_gperftools_perl;
extern const struct sink_ops sink_jsonl;
extern const struct sink_ops sink_parquet;
extern const struct sink_ops sink_perfetto;
extern const struct sink_ops sink_pprof;
extern const struct sink_ops sink_pstats;
extern const struct sink_ops sink_speedscope;
extern const struct sink_ops sink_svg;
extern const struct sink_ops sink_flamegraph;
extern const struct sink_ops sink_heatmap;

extern const struct reader_ops reader_tach, reader_collapsed, reader_speedscope, reader_gperftools,
	reader_mlyze, reader_pprof, reader_otlp;

#endif
