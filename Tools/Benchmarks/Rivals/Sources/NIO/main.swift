import BenchmarkRows

Row.main(byteRows + pingRows + idleRows + httpRows + llhttpRows + resolveRows)
