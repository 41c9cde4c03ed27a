internal import BenchmarkRows
internal import CMeasure
internal import Dispatch
internal import Foundation
internal import FoundationNetworking

/// A GET of a large body through a delegate, the cheapest use of URLSession. It trusts only the system's certificate file.
let downloadRow = Row("read-delegate") { arguments in
    guard let url = URL(string: arguments.text("url")) else { stop("url= is not a URL") }
    let counter = BodyCounter()
    let session = URLSession(configuration: configuration(connections: 1), delegate: counter, delegateQueue: nil)
    measure_begin()
    session.dataTask(with: url).resume()
    counter.finished.wait()
    measure_end(Double(counter.parts), Double(counter.bytes))
}

/// Sends GET requests on kept connections, several at once.
let requestsRow = Row(async: "requests") { arguments in
    guard let url = URL(string: arguments.text("url")) else { stop("url= is not a URL") }
    let connections = arguments.number("connections")
    let each = arguments.number("count") / connections
    let session = URLSession(configuration: configuration(connections: connections))
    for _ in 0..<8 { _ = try await get(url, by: session) }
    measure_begin()
    let bytes = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<connections {
            group.addTask {
                var bytes = 0
                for _ in 0..<each { bytes += try await get(url, by: session) }
                return bytes
            }
        }
        return try await group.reduce(0, +)
    }
    measure_end(Double(each * connections), Double(bytes))
}

private func get(_ url: URL, by session: URLSession) async throws -> Int {
    let (data, response) = try await session.data(from: url)
    guard let response = response as? HTTPURLResponse, response.statusCode == 200 else {
        stop("the status is not 200: \(response)")
    }
    return data.count
}

private func configuration(connections: Int) -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = connections
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpCookieStorage = nil
    return configuration
}

private final class BodyCounter: NSObject, URLSessionDataDelegate, @unchecked Sendable {  // one serial delegate queue
    var parts = 0
    var bytes = 0
    let finished = DispatchSemaphore(value: 0)

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        parts += 1
        bytes += data.count
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error { stop("\(error)") }
        finished.signal()
    }
}
