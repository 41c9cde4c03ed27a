import Foundation
import NetKit
import Peers
import Testing

/// A hundred concurrent loads over four protocols, some of which are cancelled at some point: the others arrive completely, and
/// none leaves a resource behind.
///
///     Scripts/test IntegrationTests, or: swift test --package-path Tests/IntegrationTests --filter CrowdTests
@Suite(.serialized) struct CrowdTests {
    private static let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    /// The servers, and the streams that load from each.
    private struct Crowd {
        let nginx = Nginx(listeners: [.plain, .tls])
        let vsftpd = Vsftpd()
        let sender: Socat
        let pool = FTPSessionPool()

        init(_ folder: String) throws {
            try nginx.start()
            try nginx.write("file.bin", CrowdTests.bytes)
            try vsftpd.start()
            try vsftpd.write("file.bin", CrowdTests.bytes)
            let file = "\(folder)/file.bin"
            try Data(CrowdTests.bytes).write(to: URL(fileURLWithPath: file))
            sender = Socat(.file(file))
            try sender.start()
        }

        func stop() {
            pool.drain()
            sender.stop()
            vsftpd.stop()
            nginx.stop()
        }

        func stream(_ number: Int) throws -> ReadStream {
            switch number % 4 {
            case 0: return try ReadStream(httpURL: url(nginx.url(.plain, "/file.bin", host: "127.0.0.1")))
            case 1:
                let stream = try ReadStream(httpURL: url(nginx.url(.tls, "/file.bin", host: "127.0.0.1")))
                var tls = TLSConfiguration()
                tls.trust = .only(file: try CertificateAuthority.shared().root)
                try stream.set(.tls, to: tls)
                return stream
            case 2:
                let stream = try ReadStream(ftpURL: url(vsftpd.url("files/file.bin")))
                try stream.set(.ftp(\.pool), to: pool)
                return stream
            default:
                return StreamPair(host: "127.0.0.1", port: UInt16(sender.port)).input
            }
        }
    }

    /// The numbers of descriptors and threads of this process.
    private static func held() -> (descriptors: Int, threads: Int) {
        func count(_ folder: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(folder)").count) ?? 0
        }
        return (count("fd"), count("task"))
    }

    @Test func aHundredLoadsLeaveNothingBehind() async throws {
        let folder = NSTemporaryDirectory() + "crowd-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let crowd = try Crowd(folder)
        defer { crowd.stop() }
        // Create everything that lives as long as the process before counting: loops, TLS, the threads of tasks.
        for number in 0..<4 {
            let stream = try crowd.stream(number)
            try stream.open()
            #expect(try await stream.readAll(limit: 1 << 20) == Self.bytes)
            stream.close()
        }
        crowd.pool.drain()
        let before = Self.held()

        var random = SystemRandomNumberGenerator()
        // Half are never cancelled, the others after some turns of other tasks: at the start, in the middle, or too late.
        let turns = (0..<100).map { $0 % 2 == 0 ? nil : Int.random(in: 0..<400, using: &random) as Int? }
        let outcomes = await withTaskGroup(of: (Int, Result<[UInt8], any Error>).self) { group in
            for (number, turns) in turns.enumerated() {
                group.addTask {
                    let load = Task {
                        let stream = try crowd.stream(number)
                        try stream.open()
                        defer { stream.close() }
                        return try await stream.readAll(limit: 1 << 20)
                    }
                    if let turns {
                        for _ in 0..<turns { await Task.yield() }
                        load.cancel()
                    }
                    return (number, await load.result)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == 100)
        for (number, outcome) in outcomes {
            switch outcome {
            case .success(let bytes):
                let isWhole = bytes == Self.bytes  // a comparison in #expect lists the differences, for minutes
                #expect(isWhole, "\(number): \(bytes.count) bytes")
            case .failure(let error):
                let isCancelled = (error as? StreamError)?.code == StreamError.cancelled.code
                #expect(turns[number] != nil && isCancelled, "\(number): \(error)")
            }
        }
        // A cancelled load closes at once, its server and the kernel slightly later.
        crowd.pool.drain()
        let end = ContinuousClock.now + .seconds(20)
        var after = Self.held()
        while after.descriptors > before.descriptors || after.threads > before.threads + 2, ContinuousClock.now < end {
            await Task.yield()
            crowd.pool.drain()
            after = Self.held()
        }
        #expect(after.descriptors <= before.descriptors, "\(turns)")
        #expect(after.threads <= before.threads + 2)  // threads of tasks may start and end
    }
}

private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }
