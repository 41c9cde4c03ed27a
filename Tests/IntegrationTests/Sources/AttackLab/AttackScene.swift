internal import NetKit

/// What an operation of a client gets: where the hostile peer is, and how long the operation may take.
struct AttackScene: Sendable {
    /// The time limit that every operation sets.
    static let limit = Duration.seconds(2)

    /// The peer's ports; the second one is 0 unless it has two.
    var ports: [Int]
    /// The root certificate that signed the peer's, as a file.
    var root: String
    /// A folder for files of the operation.
    var folder: String

    var port: UInt16 { UInt16(ports.first ?? 0) }

    /// TLS that trusts the peer's certificate: the attack begins behind the handshake.
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

    /// Reads a stream to its end and keeps nothing of it.
    func drain(_ stream: ReadStream) async throws {
        defer { stream.close() }
        var piece = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        while try await stream.read(into: &piece) > 0 {}
    }
}

/// What an operation found that it must never find.
struct Breach: Error, CustomStringConvertible {
    var description: String
}
