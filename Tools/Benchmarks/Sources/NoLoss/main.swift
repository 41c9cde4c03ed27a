import BenchmarkRows

// 12k: a crowd of callers sends requests to servers that end their connections. A row fails unless each request is answered, and none is
// processed twice that is not idempotent.
Row.main([harsh, ours, nginx])
