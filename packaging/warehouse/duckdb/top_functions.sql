-- The functions of `service` that used the most CPU time from `first_day` to `last_day`.
-- self: in the function itself; total: with what it called.
WITH stacks AS MATERIALIZED (
  SELECT function, file, functions, files, sum(value / 1e9) AS seconds
  FROM samples
  WHERE service = getvariable('service') AND type = 'cpu'
    AND day BETWEEN getvariable('first_day')::DATE AND getvariable('last_day')::DATE
  GROUP BY function, file, functions, files
), frames AS (
  -- A stack without a function has its time in itself.
  SELECT function, file, seconds AS self,
    CASE WHEN function IS NULL OR file = '~' THEN seconds ELSE 0 END AS total
  FROM stacks
  UNION ALL
  -- A recursive function counts once; <GC> and its like are not functions.
  SELECT frame[1], frame[2], 0, seconds
  FROM (SELECT unnest(list_distinct(list_zip(functions, files))) AS frame, seconds FROM stacks)
  WHERE frame[2] <> '~'
)
SELECT coalesce(function, '<no Python frame>') AS function, coalesce(file, '') AS file,
  sum(self) AS self_seconds, sum(total) AS total_seconds,
  100 * sum(self) / (SELECT sum(seconds) FROM stacks) AS self_percent,
  100 * sum(total) / (SELECT sum(seconds) FROM stacks) AS total_percent
FROM frames
GROUP BY ALL
ORDER BY round(self_seconds, 3) DESC, round(total_seconds, 3) DESC, function, file
LIMIT 20;
