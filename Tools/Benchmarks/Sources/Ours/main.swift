import BenchmarkRows

// Every row is a function in a file of its own, named after the row.
Row.main(streamRows + httpRows + ftpRows + messageRows + resolvingRows)
