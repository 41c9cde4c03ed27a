internal import BenchmarkRows
internal import CMeasure
internal import HostResolver

/// 7c: looks up names in 64 tasks at once, with different names per task, since equal lookups in progress are merged.
let resolveAsync = Row(async: "resolve-async") { arguments in
    let tasks = 64
    let each = arguments.number("count") / tasks
    let host = arguments.text("host")
    measure_begin()
    try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<tasks {
            group.addTask {
                let request = AddressRequest(try HostName("n\(task).\(host)"), families: .v4)
                for _ in 0..<each {
                    guard try await !SystemResolver.shared.addresses(request).isEmpty else { stop("no address") }
                }
            }
        }
        try await group.waitForAll()
    }
    measure_end(Double(each * tasks), 0)
}
