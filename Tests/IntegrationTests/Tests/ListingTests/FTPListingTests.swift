import Foundation
import Listings
import NetKit
import Peers
import StreamKitTesting
import Testing

private typealias Listings5 = CFNetworkGuide.Chapter5

/// Chapters 5 and 6: transfers with vsftpd in callbacks on a queue, and a stream that fails.
struct FTPListingTests {
    private static let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    /// Runs a pump of chapter 5 in the events of `stream` until it returns false or throws.
    private func pump<Stream: Scheduled>(
        _ stream: Stream, at wanted: StreamEvent, _ info: Listings5.Listing1,
        _ step: @escaping @Sendable (inout Listings5.Listing1, _ atEnd: Bool) throws -> Bool
    ) async throws -> Listings5.Listing1 {
        let shared = Locked(info)
        return try await withCheckedThrowingContinuation { continuation in
            let finish = Once(continuation)
            stream.listen { stream, event in
                do {
                    let goesOn: Bool
                    switch event {
                    case wanted: goesOn = try shared.withLock { try step(&$0, false) }
                    case .endEncountered: goesOn = try shared.withLock { try step(&$0, true) }
                    case .errorOccurred: throw stream.error ?? StreamError.closed
                    default: return
                    }
                    if goesOn { return }
                    stream.close()
                    finish(.success(shared.withLock { $0 }))
                } catch {
                    stream.close()
                    finish(.failure(error))
                }
            }
            stream.schedule(on: .queue(DispatchQueue(label: "pump")))
            do { try stream.open() } catch { finish(.failure(error)) }
        }
    }

    // Parity: FT-014, FT-015, FT-016 (vsftpd)
    @Test func transfersFrom1To3() async throws {
        let server = Vsftpd()
        try server.start()
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let local = URL(fileURLWithPath: folder.file("local.bin"))
        try Data(Self.bytes).write(to: local)
        let remote = try #require(URL(string: server.url("files/remote.bin")))

        let source = try #require(ReadStream(url: local))
        try source.open()
        let upload = try WriteStream(ftpURL: remote)
        let sent = try await pump(upload, at: .canAcceptBytes, Listings5.Listing1(reading: source, writing: upload)) {
            info, _ in try Listings5.listing3(&info)
        }
        #expect(sent.totalBytesWritten == Self.bytes.count)
        #expect(try server.read("remote.bin") == Self.bytes)

        let target = WriteStream(path: folder.file("back.bin"))
        try target.open()
        let download = try ReadStream(ftpURL: remote)
        try download.set(.ftp(\.fetchesResourceInfo), to: true)
        let got = try await pump(
            download, at: .hasBytesAvailable, Listings5.Listing1(reading: download, writing: target)
        ) {
            info, atEnd in atEnd ? false : try Listings5.listing2(&info)
        }
        try await target.finish()
        #expect(got.totalBytesWritten == Self.bytes.count && got.fileSize == UInt64(Self.bytes.count))
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file("back.bin"))) == Data(Self.bytes))
    }

    // Parity: FT-064 (vsftpd)
    @Test(arguments: [1, 7, 4096]) func listings4And5(_ size: Int) async throws {
        let server = Vsftpd()
        try server.start()
        defer { server.stop() }
        for name in ["a.txt", "b c.txt", "ü.txt"] { try server.write(name, Array("12345".utf8)) }
        let listing = try ReadStream(ftpURL: try #require(URL(string: server.url("files/"))))
        var info = Listings5.Listing1(reading: listing, writing: WriteStream(toMemoryOfCapacity: 0))
        info.bufferSize = size
        let entries = Locked<[ListingEntry]>([])
        let parser = Locked(ListingParser(ListingOptions(now: Int64(Date().timeIntervalSince1970))))
        _ = try await pump(listing, at: .hasBytesAvailable, info) { info, atEnd in
            let isOver = try atEnd || !Listings5.listing4(&info)
            let found = try parser.withLock { try Listings5.listing5(&info, &$0, atEnd: isOver) }
            entries.withLock { $0 += found }
            return !isOver
        }
        let found = entries.withLock { $0 }
        #expect(found.map(\.name).sorted() == ["a.txt", "b c.txt", "ü.txt"])
        #expect(found.allSatisfy { $0.size == 5 && $0.kind == .file })
    }

    @Test func diagnosis1() async throws {
        let refused = try RefusedPort()
        let stream = StreamPair(host: "127.0.0.1", port: refused.port).input
        let presenter = QuietPresenter()
        let reported = Locked<StreamError?>(nil)
        let task = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Task<Diagnosis, Never>, any Error>) in
            let finish = Once(continuation)
            stream.setClient(.all) { stream, event in
                let before = stream.error
                let task = CFNetworkGuide.Chapter6.listing1(stream, event, presenter: presenter) { error in
                    #expect(before?.code == error?.code)
                    reported.withLock { $0 = error }
                }
                if let task { finish(.success(task)) }
            }
            stream.schedule(on: .queue(DispatchQueue(label: "diagnosis")))
            do { try stream.open() } catch { finish(.failure(error)) }
        }
        let diagnosis = await task.value
        #expect(diagnosis.cause?.code == .portRefused, "\(diagnosis)")
        #expect(reported.withLock { $0 }?.isPOSIX(ECONNREFUSED) == true)
        #expect(presenter.finished.withLock { $0 } == 1)
    }
}

/// Counts the calls.
private final class QuietPresenter: DiagnosisPresenter {
    let finished = Locked(0)

    func began(_ target: String, for name: String) {}

    func finished(_ diagnosis: Diagnosis) {
        finished.withLock { $0 += 1 }
    }
}
