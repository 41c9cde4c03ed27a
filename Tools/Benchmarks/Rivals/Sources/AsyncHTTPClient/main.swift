import BenchmarkRows

Row.main([downloadRow, delegateDownloadRow, requestsRow, requestsHTTP2Row, downloadHTTP2Row, handshakesRow])
