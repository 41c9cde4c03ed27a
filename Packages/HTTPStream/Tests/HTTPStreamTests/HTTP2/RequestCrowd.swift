import Dispatch
import EventLoops
import HTTPMessage
import HTTPStream
import StreamKit

/// 64 callers of all four kinds, which share a number of requests, and send them one after the other until there are none left.
///
/// Each request has its number as the path: `/1`, `/2`. A third of them has a body. The server answers with the path.
final class RequestCrowd: Sendable {
    static let callerCount = 64

    /// Makes an unopened stream.
    typealias MakeStream = @Sendable (HTTPMethod, _ path: String, HTTPBody?) throws -> ReadStream

    private let count: Int
    private let allIdempotent: Bool
    private let makeStream: MakeStream
    private let last = Locked(0)
    private let failures = Locked<[String]>([])

    /// - Parameters:
    ///   - count: the number of requests.
    ///   - allIdempotent: whether those with a body are idempotent, too.
    init(count: Int, allIdempotent: Bool, _ makeStream: @escaping MakeStream) {
        self.count = count
        self.allIdempotent = allIdempotent
        self.makeStream = makeStream
    }

    /// Sends all requests. Returns what went wrong.
    func run() async -> [String] {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<Self.callerCount {
                group.addTask { await self.run(Caller.allCases[number % Caller.allCases.count]) }
            }
        }
        return failures.withLock { $0 }
    }

    /// Whether a request is idempotent.
    func isIdempotent(_ number: Int) -> Bool { allIdempotent || number % 3 > 0 }

    private func nextNumber() -> Int? {
        last.withLock { last in
            last += 1
            return last > count ? nil : last
        }
    }

    private func run(_ caller: Caller) async {
        let queue = DispatchQueue(label: "caller")
        while let number = nextNumber() {
            let path = "/\(number)"
            let method: HTTPMethod = number % 3 > 0 ? .get : isIdempotent(number) ? .put : .post
            do {
                let stream = try makeStream(method, path, method == .get ? nil : .bytes([1, 2, 3]))
                do {
                    let answer = try await Self.read(stream, as: caller, on: queue)
                    if answer != Array(path.utf8) { fail("\(method) \(path): \(answer)") }
                } catch {
                    fail("\(method) \(path) of a \(caller): \(error)\n\(stream[.report]?.description ?? "")")
                }
            } catch {
                fail("\(error)")
            }
        }
    }

    private func fail(_ text: String) { failures.withLock { $0.append(text) } }

    private enum Caller: CaseIterable {
        case task
        case thread
        case poller
        case client
    }

    private static func read(
        _ stream: ReadStream, as caller: Caller, on queue: DispatchQueue
    ) async throws -> [UInt8] {
        defer { stream.close() }
        switch caller {
        case .task:
            try stream.open()
            return try await stream.readAll(limit: 100)
        case .thread:
            let outcome = OneShot<Result<[UInt8], any Error>>()
            // The thread of the queue waits.
            queue.async {
                outcome.provide(
                    Result {
                        try stream.open()
                        return try stream.readAll(limit: 100)
                    })
            }
            return try await outcome.value().get()
        case .poller:
            try stream.open()
            var buffer = [UInt8](repeating: 0, count: 100)
            var body: [UInt8] = []
            while true {
                guard let count = try stream.tryRead(into: &buffer) else {
                    await Task.yield()
                    continue
                }
                if count == 0 { return body }
                body += buffer[..<count]
            }
        case .client:
            let outcome = OneShot<Result<[UInt8], StreamError>>()
            let body = Locked<[UInt8]>([])
            stream.setClient(.all) { stream, event in
                switch event {
                case .hasBytesAvailable:
                    var buffer = [UInt8](repeating: 0, count: 100)
                    guard let count = try? stream.tryRead(into: &buffer) else { return }
                    body.withLock { $0 += buffer[..<count] }
                case .errorOccurred: outcome.provide(.failure(stream.error ?? .closed))
                case .endEncountered: outcome.provide(.success(body.withLock { $0 }))
                case .openCompleted, .canAcceptBytes: break
                }
            }
            stream.schedule(on: .queue(queue))
            try stream.open()
            return try await outcome.value().get()
        }
    }
}
