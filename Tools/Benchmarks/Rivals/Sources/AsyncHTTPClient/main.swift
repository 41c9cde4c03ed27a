import BenchmarkRows

Row.main([downloadRow, delegateDownloadRow, requestsRow, handshakesRow])
