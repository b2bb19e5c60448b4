-- Joins the files of many hosts: those of `day` below `parquet` become one file a service, below
-- `compact`. Stacks that are alike are next to each other, which halves the bytes.
COPY (
  SELECT * FROM read_parquet(getvariable('parquet') || '/day=' || getvariable('day') || '/**/*.parquet',
                             hive_partitioning = false)
  ORDER BY service, type, function, file, hash(functions, lines), time
) TO (getvariable('compact')) (
  FORMAT parquet, COMPRESSION zstd, PARTITION_BY (day, service), WRITE_PARTITION_COLUMNS true,
  OVERWRITE_OR_IGNORE true
);
