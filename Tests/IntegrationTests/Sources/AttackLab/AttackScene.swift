internal import NetKit

/// The environment of a client's operation: the hostile peer, and the time limit.
struct AttackScene: Sendable {
    /// The time limit of every operation.
    static let limit = Duration.seconds(2)

    /// The peer's ports; the second one is 0 if it has only one.
    var ports: [Int]
    /// The path of the root certificate that signed the peer's.
    var root: String
    /// A folder for files of the operation.
    var folder: String

    var port: UInt16 { UInt16(ports.first ?? 0) }

    /// TLS that trusts the peer's certificate: the attack begins after the handshake.
    func tls() -> TLSConfiguration {
        var configuration = TLSConfiguration()
        configuration.trust = .only(file: root)
        return configuration
    }

    /// Runs an operation that has no time limit of its own, and cancels it at the limit.
    func limited<Success: Sendable>(_ body: @escaping @Sendable () async throws -> Success) async throws -> Success {
        let task = Task(executorPreference: EventLoop.shared) { try await body() }
        let timer = EventLoop.shared.schedule(at: .now + Self.limit) { task.cancel() }
        defer { timer.cancel() }
        return try await task.value
    }

    /// Reads a stream to its end and discards the bytes.
    func drain(_ stream: ReadStream) async throws {
        defer { stream.close() }
        var piece = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        while try await stream.read(into: &piece) > 0 {}
    }
}

/// The detection of something that an attack must never achieve.
struct Breach: Error, CustomStringConvertible {
    var description: String
}
