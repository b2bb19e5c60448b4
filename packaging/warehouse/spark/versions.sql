-- `service` in `version_a` and `version_b`, from `first_day` to `last_day`: the functions whose part
-- of the CPU time differs most. Percents, because the versions did not run equally long.
WITH stacks AS (
  SELECT service_version = :version_b AS is_b, function, file, functions, files,
    sum(value / 1e9) AS seconds
  FROM samples
  WHERE service = :service AND type = 'cpu'
    AND service_version IN (:version_a, :version_b)
    AND day BETWEEN CAST(:first_day AS DATE) AND CAST(:last_day AS DATE)
  GROUP BY ALL
), parts AS (
  SELECT is_b, function, file, functions, files,
    100 * seconds / sum(seconds) OVER (PARTITION BY is_b) AS percent
  FROM stacks
), frames AS (
  SELECT is_b, function, file, percent AS self,
    CASE WHEN function IS NULL OR file = '~' THEN percent ELSE 0 END AS total
  FROM parts
  UNION ALL
  SELECT is_b, frame.functions, frame.files, 0, percent
  FROM (SELECT is_b, explode(array_distinct(arrays_zip(functions, files))) AS frame, percent FROM parts)
  WHERE frame.files <> '~'
), sides AS (
  SELECT coalesce(function, '<no Python frame>') AS function, coalesce(file, '') AS file,
    sum(CASE WHEN is_b THEN 0 ELSE self END) AS self_a, sum(CASE WHEN is_b THEN self ELSE 0 END) AS self_b,
    sum(CASE WHEN is_b THEN 0 ELSE total END) AS total_a, sum(CASE WHEN is_b THEN total ELSE 0 END) AS total_b
  FROM frames
  GROUP BY ALL
)
SELECT function, file, self_a, self_b, self_b - self_a AS self_points, total_a, total_b,
  total_b - total_a AS total_points
FROM sides
ORDER BY round(abs(self_b - self_a), 6) DESC, function, file
LIMIT 20;
