import BenchmarkRows

Row.main([serveRow])
