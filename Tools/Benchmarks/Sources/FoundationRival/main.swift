import BenchmarkRows

Row.main([fileHandleRow, downloadRow, requestsRow])
