internal import BenchmarkRows
internal import CMeasure
internal import FoundationEssentials
internal import HTTPMessage
internal import NetKit
internal import StreamKit

/// 4c: sends GET requests in a session that answers challenges, one at a time, in a task on the event loop.
let session = Row(async: "session") { arguments in
    let count = arguments.number("count")
    let request = try makeRequest(arguments)
    var configuration = HTTPSession.Configuration()
    let user = arguments.text("user")
    let password = arguments.text("password").replacing("%20", with: " ")
    configuration.prompt = { _ in .init(user: user, password: password) }
    let session = HTTPSession(configuration)
    try await withNetworkExecutor {
        _ = try await getOften(1, request, in: session)  // opens the connection, and logs in
        measure_begin()
        let bytes = try await getOften(count, request, in: session)
        measure_end(Double(count), Double(bytes))
    }
}

private func getOften(_ count: Int, _ request: HTTPRequest, in session: HTTPSession) async throws -> Int {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var bytes = 0
    for _ in 0..<count {
        let stream = try await session.open(request)
        while case let received = try await stream.read(into: &buffer), received > 0 { bytes += received }
        guard stream[.httpResponse]?.status == .ok else { stop("the status is not 200") }
    }
    return bytes
}
