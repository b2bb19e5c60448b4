-- `service` in `version_a` and `version_b`, from `first_day` to `last_day`: the functions whose part
-- of the CPU time differs most. Percents, because the versions did not run equally long.
WITH stacks AS (
  SELECT service_version = {version_b:String} AS is_b, function, file, functions, files,
    sum(value / 1e9) AS seconds
  FROM samples
  WHERE service = {service:String} AND type = 'cpu'
    AND service_version IN ({version_a:String}, {version_b:String})
    AND day BETWEEN {first_day:Date} AND {last_day:Date}
  GROUP BY ALL
), parts AS (
  SELECT is_b, function, file, functions, files,
    100 * seconds / sum(seconds) OVER (PARTITION BY is_b) AS percent
  FROM stacks
), frames AS (
  SELECT is_b, function, file, percent AS self,
    CASE WHEN file IN ('', '~') THEN percent ELSE 0 END AS total
  FROM parts
  UNION ALL
  SELECT is_b, frame.1, frame.2, 0, percent
  FROM (SELECT is_b, arrayJoin(arrayDistinct(arrayZip(functions, files))) AS frame, percent FROM parts)
  WHERE frame.2 <> '~'
), sides AS (
  SELECT function, file,
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
