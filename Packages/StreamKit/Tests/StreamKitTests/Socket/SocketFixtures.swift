import Foundation
import Glibc
import HostResolver
import StreamKit
import Testing

/// The loopback addresses of the socket tests.
enum Loopback: CaseIterable, CustomTestStringConvertible {
    case ipv4
    case ipv6
    case unixPath
    case unixAbstract

    var testDescription: String { "\(self)" }

    /// A free address; the bound socket's address has the port.
    func address() throws -> SocketAddress {
        switch self {
        case .ipv4: return .ip(.v4(.loopback), port: 0)
        case .ipv6: return .ip(.v6(.loopback), port: 0)
        case .unixPath:
            let path = FileManager.default.temporaryDirectory.appendingPathComponent(
                "sk-\(UUID().uuidString.prefix(13))")
            return .unix(try UnixSocketAddress(path: path.path))
        case .unixAbstract: return .unix(try UnixSocketAddress(abstractName: "sk-\(UUID().uuidString)"))
        }
    }
}

extension SocketAddress {
    /// Removes the file of a Unix path.
    func removeFile() {
        if case .unix(let address) = self, let path = address.path { unlink(path) }
    }
}

/// A TCP port where connecting neither succeeds nor fails: the listener's queue is full, so the kernel drops each SYN.
struct BlackHole {
    let address: SocketAddress
    private let listener: Socket
    private let filler: Socket

    init() async throws {
        listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0), backlog: 0)
        address = try #require(listener.localAddress)
        filler = try await Socket.connected(to: address)
    }
}

/// The open descriptors of the process and their targets. Meaningful only in a separate process (an exit test).
func openDescriptors() -> [String: String] {
    let folder = "/proc/self/fd"
    var descriptors: [String: String] = [:]
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
        // The directory's own descriptor no longer exists when it is read.
        descriptors[name] = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
    }
    return descriptors
}

/// Runs `body`, which must throw, and returns the error.
func error(_ body: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) async throws
    -> StreamError
{
    do {
        try await body()
    } catch let error as StreamError {
        return error
    }
    Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    throw CancellationError()
}

/// Opens both halves and returns the error.
func failure(of pair: StreamPair) async -> StreamError? {
    do throws(StreamError) {
        try pair.open()
        try await pair.input.opened()
        return nil
    } catch {
        return error
    }
}

/// Runs blocking work on a separate thread and waits for it without blocking.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Swift.Result { try body() }) }.start()
    }
}
