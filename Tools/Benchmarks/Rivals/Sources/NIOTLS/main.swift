import BenchmarkRows

Row.main([downloadRow])
