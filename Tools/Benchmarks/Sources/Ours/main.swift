import BenchmarkRows

// Every row is in its own file, named after the row.
Row.main(streamRows + httpRows + ftpRows + messageRows + resolvingRows)
