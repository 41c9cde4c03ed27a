internal import EventLoops

@testable import StreamKit
@testable import StreamTLS

/// One end of a wire in memory, with faults on demand.
final class TestWire: StreamTransport {
    struct Faults: Sendable {
        /// The maximum number of bytes that one read or write moves.
        var most = Int.max
        /// Every second attempt reports that it would block.
        var stutters = false
        /// After this many bytes have been read, reading throws.
        var readFailsAfter: Int?
        /// After this many bytes have been read, the wire is at its end.
        var readEndsAfter: Int?
        /// After this many bytes have been written, writing throws.
        var writeFailsAfter: Int?
        /// No write is taken.
        var isStuck = false
        /// Bytes that were taken are held back, as by a TLS layer whose lower transport would block.
        var holdsBytes = false
    }

    struct State: Sendable {
        var faults = Faults()
        var read = 0
        var written = 0
        var tries = 0
        var transcript: [UInt8] = []
    }

    static let failure = StreamError(posix: 104)

    let state = Locked(State())
    private let pipe: DuplexPipe

    private init(_ pipe: DuplexPipe) {
        self.pipe = pipe
    }

    static func pair(capacity: Int = 1 << 16) -> (TestWire, TestWire) {
        let (client, server) = DuplexPipe.pair(size: capacity, loop: .shared)
        return (TestWire(client), TestWire(server))
    }

    func set(_ change: (inout Faults) -> Void) {
        state.withLock { change(&$0.faults) }
    }

    /// All bytes written so far.
    var transcript: [UInt8] { state.withLock { $0.transcript } }

    var waitPoint: WaitPoint { pipe.waitPoint }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        let (limit, outcome) = limit { faults, read, _ -> (Int, Attempt?, Bool) in
            var limit = faults.most
            if let end = faults.readFailsAfter {
                if read >= end { return (0, nil, true) }
                limit = min(limit, end - read)
            }
            if let end = faults.readEndsAfter {
                if read >= end { return (0, .ended, false) }
                limit = min(limit, end - read)
            }
            return (limit, nil, false)
        }
        if let outcome = try outcome.get() { return outcome }
        if limit == 0 { return .wouldBlock(.readable) }
        var part = buffer._mutatingExtracting(first: min(limit, buffer.byteCount))
        let attempt = try pipe.tryRead(into: &part)
        if case .moved(let count) = attempt { state.withLock { $0.read += count } }
        return attempt
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        let (limit, outcome) = limit { faults, _, written -> (Int, Attempt?, Bool) in
            if faults.isStuck { return (0, nil, false) }
            guard let end = faults.writeFailsAfter else { return (faults.most, nil, false) }
            return written >= end ? (0, nil, true) : (min(faults.most, end - written), nil, false)
        }
        if let outcome = try outcome.get() { return outcome }
        if limit == 0 { return .wouldBlock(.writable) }
        let part = bytes.extracting(first: min(limit, bytes.byteCount))
        let attempt = try pipe.tryWrite(part)
        if case .moved(let count) = attempt {
            state.withLock { state in
                state.written += count
                part.extracting(first: count).withUnsafeBytes { state.transcript += $0 }
            }
        }
        return attempt
    }

    private func limit(
        _ body: (Faults, Int, Int) -> (Int, Attempt?, Bool)
    ) -> (Int, Result<Attempt?, StreamError>) {
        state.withLock { state in
            state.tries += 1
            if state.faults.stutters, state.tries.isMultiple(of: 2) { return (0, .success(nil)) }
            let (limit, attempt, fails) = body(state.faults, state.read, state.written)
            return (limit, fails ? .failure(TestWire.failure) : .success(attempt))
        }
    }

    func tryFlush() throws(StreamError) -> Attempt {
        state.withLock { $0.faults.holdsBytes } ? .wouldBlock(.writable) : .ended
    }

    func peek() throws(StreamError) -> Attempt { try pipe.peek() }

    func writability() throws(StreamError) -> Attempt { try pipe.writability() }

    func close() { pipe.close() }
}

extension TLSTransport {
    /// Prepares a connection with the context of a cache.
    convenience init(
        _ configuration: TLSConfiguration, peerName: String?, port: UInt16? = nil, over lower: any StreamTransport,
        contexts: TLSContextCache = .shared
    ) throws(StreamError) {
        let context = try contexts.context(for: configuration)
        try self.init(configuration, peerName: peerName, port: port, over: lower, context: context)
    }
}

/// A TLS client and a TLS server on one wire, driven in turns by one thread.
struct TLSPair {
    let client: TLSTransport
    let server: TLSTransport
    let clientWire: TestWire
    let serverWire: TestWire

    init(
        client: TLSConfiguration, server: TLSConfiguration, name: String? = "www.example.org", port: UInt16? = 443,
        contexts: TLSContextCache = TLSContextCache(), capacity: Int = 1 << 16
    ) throws {
        (clientWire, serverWire) = TestWire.pair(capacity: capacity)
        self.client = try TLSTransport(
            client, peerName: name, port: port, over: clientWire, contexts: contexts)
        self.server = try TLSTransport(server, peerName: nil, over: serverWire, contexts: contexts)
    }

    struct Stuck: Error {}

    /// Performs the whole handshake. Returns each side's error.
    func open() throws -> (client: StreamError?, server: StreamError?) {
        var client: Result<Void, StreamError>?
        var server: Result<Void, StreamError>?
        for _ in 0..<100_000 {
            if client == nil { client = step(self.client, clientWire) }
            if server == nil { server = step(self.server, serverWire) }
            if let client, let server { return (client.failure, server.failure) }
        }
        throw Stuck()
    }

    private func step(_ transport: TLSTransport, _ wire: TestWire) -> Result<Void, StreamError>? {
        do throws(StreamError) {
            return try transport.tryOpen() == .opened ? .success(()) : nil
        } catch {
            wire.close()
            return .failure(error)
        }
    }

    /// Moves bytes from one side to the other.
    static func send(_ bytes: [UInt8], from sender: TLSTransport, to receiver: TLSTransport) throws -> [UInt8] {
        var sent = 0
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        for _ in 0..<1_000_000 {
            if sent < bytes.count {
                if case .moved(let count) = try sender.tryWrite(bytes.span.bytes.extracting(droppingFirst: sent)) {
                    sent += count
                }
            } else {
                _ = try sender.tryFlush()
            }
            while case .moved(let count) = try receiver.read(&buffer) { received += buffer.prefix(count) }
            if received.count >= bytes.count { return received }
        }
        throw Stuck()
    }
}

extension Result {
    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

extension StreamTransport {
    /// Reads into an array.
    func read(_ buffer: inout [UInt8]) throws(StreamError) -> Attempt {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try tryRead(into: &bytes)
    }

    func write(_ bytes: [UInt8]) throws(StreamError) -> Attempt {
        try tryWrite(bytes.span.bytes)
    }
}

/// Bytes whose pattern does not repeat at any record length.
func pattern(_ count: Int, seed: Int = 1) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31 &+ seed) % 251) }
}
