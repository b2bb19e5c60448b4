-- samples: all Parquet files below the directory `parquet`.
CREATE OR REPLACE VIEW samples AS
SELECT * FROM read_parquet(getvariable('parquet') || '/**/*.parquet', hive_partitioning = true,
                           hive_types = {'day': DATE, 'service': VARCHAR});
