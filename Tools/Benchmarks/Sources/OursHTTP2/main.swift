import BenchmarkRows

// HTTP/2 without sockets: HPACK alone, and both machines wired in memory.
Row.main([decodeHeads, encodeHeads, exchange, heads, data])
