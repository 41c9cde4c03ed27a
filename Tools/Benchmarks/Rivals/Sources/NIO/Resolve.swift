internal import BenchmarkRows
internal import CMeasure
internal import NIOCore

let resolveRows = [
    Row("resolve") { arguments in
        let name = arguments.text("host")
        let count = arguments.number("count")
        measure_begin()
        for _ in 0..<count { _ = try SocketAddress.makeAddressResolvingHost(name, port: 80) }
        measure_end(Double(count), 0)
    }
]
