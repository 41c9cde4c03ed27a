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

/// The sockets of the process. Meaningful only in a separate process (an exit test).
///
/// Other descriptors are not compared: Dispatch opens and closes timers and eventfds at any time.
struct OpenSockets {
    private let sockets: Set<String>

    /// The sockets that are open now.
    init() {
        let folder = "/proc/self/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        // The directory's own descriptor no longer exists when it is read.
        let targets = names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
        sockets = Set(targets.filter { $0.hasPrefix("socket:") })
    }

    /// Waits until all later sockets are closed, and returns whether they are. A finished task releases its captures slightly
    /// after its value is available.
    func remain() async -> Bool {
        let limit = ContinuousClock.now.advanced(by: .seconds(20))
        while !OpenSockets().sockets.isSubset(of: sockets) {
            if ContinuousClock.now > limit { return false }
            await Task.yield()
        }
        return true
    }
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
