internal import BenchmarkRows

let messageRows = [indexRequest, indexResponse, parseRequest, parseResponse, serialize]
