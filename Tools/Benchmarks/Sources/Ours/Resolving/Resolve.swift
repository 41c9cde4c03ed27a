internal import BenchmarkRows
internal import CMeasure
internal import HostResolver

/// 7a and 7b: looks up a name repeatedly, on the calling thread.
let resolve = Row("resolve") { arguments in
    let request = AddressRequest(try HostName(arguments.text("host")), families: .v4)
    let count = arguments.number("count")
    measure_begin()
    for _ in 0..<count {
        guard try !SystemResolver.shared.blockingAddresses(request).isEmpty else { stop("no address") }
    }
    measure_end(Double(count), 0)
}
