internal import BenchmarkRows

let resolvingRows = [resolve, resolveAsync]
