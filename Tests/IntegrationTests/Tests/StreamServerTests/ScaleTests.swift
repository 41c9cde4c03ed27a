import EventLoops
import Foundation
import Glibc
import HostResolver
import Peers
import StreamKit
import Testing

/// Many streams in one process and their peers in another, on a few threads each. `Scripts/bench scale` does the same with ten
/// times as many streams.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ScaleTests {
    static let idle = 1000
    static let active = 200
    static let rounds = 20

    @Test func manyStreamsOnFewThreads() async throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 4096))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // On a busy machine, the first streams are silent for more than the usual limits.
        let server = try await ExampleServer(descriptors: 4096, options: ["--head", "3600", "--idle", "3600"])
        let (threads, descriptors) = (Self.count("task"), Self.count("fd"))
        let address = SocketAddress.ip(.v4(.loopback), port: server.port)
        let readers = try await (0..<Self.idle).asyncMap { _ in
            let pair = StreamPair(address: address)
            try pair.open()
            try await pair.output.opened()
            let reader = Task(executorPreference: EventLoop.shared) { try await pair.input.read(upTo: 1) }
            return (pair, reader)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.active {
                group.addTask(executorPreference: EventLoop.shared) { try await Self.converse(with: address) }
            }
            try await group.waitForAll()
            #expect(server.descriptors >= Self.idle)
            // The numbers include threads and descriptors of other tests, but leave no room for one thread per stream.
            #expect(Self.count("task") < threads + 32 && server.threads < 16)
        }
        #expect(Self.count("fd") >= Self.idle)
        #expect(Self.count("fd") < descriptors + Self.idle + 100)
        // The idle streams still work.
        for (pair, reader) in readers.suffix(3) {
            try await pair.output.writeAll(Self.request)
            #expect(try await reader.value == [UInt8(ascii: "H")])
        }
        for (pair, reader) in readers {
            reader.cancel()
            pair.close()
        }
        for (_, reader) in readers.dropLast(3) { await #expect(throws: StreamError.self) { try await reader.value } }
        #expect(Self.count("fd") < descriptors + 100)
        while server.descriptors > 64, !Task.isCancelled { await Task.yield() }
    }

    private static let request = Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)

    private static func converse(with address: SocketAddress) async throws {
        let pair = StreamPair(address: address)
        try pair.open()
        defer { pair.close() }
        var buffer = [UInt8](repeating: 0, count: 1000)
        for _ in 0..<rounds {
            try await pair.output.writeAll(request)
            var count = 0
            while buffer[..<count].suffix(6) != Array("hello\n".utf8)[...] {
                let more = try await pair.input.read(upTo: buffer.count - count)
                guard !more.isEmpty else { throw StreamError.closed }
                buffer.replaceSubrange(count..<count + more.count, with: more)
                count += more.count
            }
        }
    }

    private static func count(_ folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(folder)").count) ?? 0
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async throws -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
