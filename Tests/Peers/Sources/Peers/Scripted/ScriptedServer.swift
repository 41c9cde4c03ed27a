internal import Foundation
internal import Glibc

/// A TCP server in this process that follows a script exactly, with blocking sockets and its own threads.
///
/// ```swift
/// let server = try ScriptedServer { connection throws(PeerError) in
///     try connection.expect("GET / HTTP/1.1\r\n")
///     try connection.readHead()
///     try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
///     connection.reset()
/// }
/// // let the code under test talk to 127.0.0.1, server.port
/// let recordings = try await server.finished()
/// ```
///
/// The script runs once for each connection, on a thread of its own. When it returns or throws, the connection is closed.
/// ``finished(connections:seconds:)`` rethrows its error, so that a test fails if the client departs from the script.
public final class ScriptedServer: Sendable {
    /// The actions of the server on a connection.
    public typealias Script = @Sendable (ScriptedConnection) throws(PeerError) -> Void

    private struct State {
        var connections: [ScriptedConnection] = []
        var running = 0
        var isStopped = false
    }

    /// The port, on 127.0.0.1 or ::1.
    public let port: Int
    private let listener: Guarded<OwnedDescriptor?>
    private let isServing = Guarded(true)
    private let state: Guarded<State>

    /// Listens, and runs `script` for every connection.
    ///
    /// - Parameters:
    ///   - isIPv6: Whether to listen on ::1 instead of 127.0.0.1.
    ///   - port: The port; nil for a free one.
    /// - Throws: ``PeerError/Code/noPort``.
    public init(isIPv6: Bool = false, port: Int? = nil, script: @escaping Script) throws(PeerError) {
        let (listener, port) = try Self.bound(SOCK_STREAM, isIPv6 ? .v6 : .v4, port)
        guard listen(listener.number, 64) == 0 else {
            throw PeerError(.noPort, "cannot listen: \(String(cString: strerror(errno)))")
        }
        state = Guarded(State())
        (self.listener, self.port) = (Guarded(listener), port)
        Thread.detachNewThread { [state, isServing] in
            Self.serve(listener, state, script)
            isServing.withLock { $0 = false }
        }
    }

    deinit {
        stop()
    }

    /// The recordings of all connections so far, in the order in which they were accepted.
    public var recordings: [Recording] { state.withLock { $0.connections }.map(\.recording) }

    /// Waits until `connections` scripts have ended and no script is running, and returns their recordings.
    ///
    /// - Throws: The error of a script; ``PeerError/Code/timedOut`` after `seconds`.
    @discardableResult
    public func finished(connections: Int = 1, seconds: Double = Deadline.ofHangs) async throws(PeerError)
        -> [Recording]
    {
        try await onNewThread { () throws(PeerError) in
            let done = self.state.wait(seconds: seconds) { state in
                state.running == 0 && state.connections.count >= connections ? state.connections : nil
            }
            guard let done else {
                let count = self.recordings.count
                throw PeerError(.timedOut, "\(count) of \(connections) connections arrived, or a script did not end")
            }
            let recordings = done.map(\.recording)
            if let error = recordings.lazy.compactMap(\.error).first { throw error }
            return recordings
        }
    }

    /// Waits until `count` connections were accepted, whether or not their scripts have ended.
    ///
    /// - Throws: ``PeerError/Code/timedOut`` after `seconds`.
    public func accepted(_ count: Int = 1, seconds: Double = Deadline.ofHangs) async throws(PeerError) {
        try await onNewThread { () throws(PeerError) in
            if self.state.wait(seconds: seconds, for: { $0.connections.count >= count ? true : nil }) == nil {
                throw PeerError(.timedOut, "\(self.recordings.count) of \(count) connections arrived")
            }
        }
    }

    /// Stops listening and ends all connections. Safe to call twice.
    public func stop() {
        let connections: [ScriptedConnection] = state.withLock { state in
            if state.isStopped { return [] }
            state.isStopped = true
            return state.connections
        }
        listener.withLock { listener in
            // Wakes accept.
            if let listener { _ = shutdown(listener.number, Int32(SHUT_RDWR)) }
            listener = nil
        }
        _ = isServing.wait(seconds: 5) { $0 ? nil : true }
        connections.forEach { $0.interrupt() }
    }

    private static func serve(_ listener: OwnedDescriptor, _ state: Guarded<State>, _ script: @escaping Script) {
        while true {
            let descriptor = accept(listener.number, nil, nil)
            if descriptor < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return
            }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let connection: ScriptedConnection? = state.withLock { state in
                if state.isStopped { return nil }
                let connection = ScriptedConnection(descriptor, number: state.connections.count)
                state.connections.append(connection)
                state.running += 1
                return connection
            }
            guard let connection else {
                close(descriptor)
                return
            }
            Thread.detachNewThread {
                do throws(PeerError) {
                    try script(connection)
                } catch {
                    connection.record(error)
                }
                connection.close()
                state.withLock { $0.running -= 1 }
            }
        }
    }

    /// Creates a socket of this type, bound to a loopback address.
    static func bound(_ type: __socket_type, _ address: LoopbackAddress, _ port: Int?) throws(PeerError) -> (
        OwnedDescriptor, Int
    ) {
        for _ in 1...5 {
            let number = if let port { port } else { try PortPool.take() }
            let descriptor = OwnedDescriptor(
                socket(address.family, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0))
            guard descriptor.number >= 0 else { break }
            // For datagrams, the option would allow another socket to share the port.
            var reuse: Int32 = type == SOCK_STREAM ? 1 : 0
            setsockopt(descriptor.number, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
            if address.bind(descriptor.number, port: number) { return (descriptor, number) }
        }
        throw PeerError(.noPort, "cannot bind \(address.text): \(String(cString: strerror(errno)))")
    }
}

/// What a scripted server received on one connection.
public struct Recording: Hashable, Sendable {
    /// How the client ended the connection, as far as the script has seen.
    public enum Ending: Hashable, Sendable {
        /// The script ended before the client did.
        case unseen
        /// The client closed its sending side (FIN).
        case finished
        /// The client reset the connection.
        case reset
    }

    /// All bytes that the script read, expected or not.
    public var received: [UInt8] = []
    /// How the client ended.
    public var ending = Ending.unseen
    /// The error that the script threw, if any.
    public var error: PeerError?

    /// The bytes as text.
    public var text: String { String(decoding: received, as: UTF8.self) }
}

/// A TCP port on 127.0.0.1 that neither accepts nor refuses connections, so that connecting never ends.
///
/// Its accept queue is full, so the kernel drops every further SYN. To a client it looks like a host behind a firewall that drops
/// packets.
///
/// ```swift
/// let silent = try UnansweredPort()
/// // connecting to 127.0.0.1, silent.port must give up by its own deadline
/// ```
public final class UnansweredPort: Sendable {
    /// The port.
    public let port: Int
    private let descriptors: [OwnedDescriptor]

    /// Creates a port and fills its queue.
    ///
    /// - Throws: ``PeerError/Code/noPort``.
    public init() throws(PeerError) {
        let (listener, port) = try ScriptedServer.bound(SOCK_STREAM, .v4, nil)
        // A backlog of 0 still accepts one connection.
        guard listen(listener.number, 0) == 0 else {
            throw PeerError(.noPort, "cannot listen: \(String(cString: strerror(errno)))")
        }
        let clients = (0..<2).map { _ in
            let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
            let client = OwnedDescriptor(socket(AF_INET, Int32(type), 0))
            _ = LoopbackAddress.v4.withSockAddr(port: port) { connect(client.number, $0, $1) }
            return client
        }
        self.port = port
        descriptors = [listener] + clients
    }
}

/// A file descriptor that is closed when the last reference to it is released.
///
/// A server and its threads share one. Its number cannot be reused for another file while one of them may still pass it to a
/// call.
final class OwnedDescriptor: Sendable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }
}
