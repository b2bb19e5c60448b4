-- One row a stack, service, hour and type, as in the Parquet files; unknown is ''.
CREATE TABLE IF NOT EXISTS samples (
  time DateTime64(6, 'UTC') CODEC(Delta, ZSTD),
  duration_ns UInt64 CODEC(ZSTD),
  day Date,
  service LowCardinality(String),
  service_namespace LowCardinality(String),
  service_version LowCardinality(String),
  environment LowCardinality(String),
  host LowCardinality(String),
  team LowCardinality(String),
  type LowCardinality(String),
  unit LowCardinality(String),
  value Int64 CODEC(ZSTD),
  samples Nullable(Int64) CODEC(ZSTD),
  function LowCardinality(String),
  file LowCardinality(String),
  line UInt32 CODEC(ZSTD),
  functions Array(LowCardinality(String)) CODEC(ZSTD),
  files Array(LowCardinality(String)) CODEC(ZSTD),
  lines Array(UInt32) CODEC(ZSTD)
) ENGINE = MergeTree
PARTITION BY day
ORDER BY (service, type, service_version, host, time)
TTL day + INTERVAL 90 DAY;
