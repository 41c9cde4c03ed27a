internal import Foundation
internal import Glibc

/// A DNS server in this process whose script decides about each answer: correct, wrong, late or none.
///
/// ```swift
/// let records = [DNSRecord.a("www.peers.test", "192.0.2.1")]
/// let server = try ScriptedNameServer { query in
///     query.transport == .udp ? [.truncated] : [.answer(records)]
/// }
/// // query 127.0.0.1, server.port
/// #expect(server.queries.map(\.transport) == [.udp, .tcp])
/// ```
public final class ScriptedNameServer: Sendable {
    /// One action in response to a query.
    public enum Step: Sendable {
        /// Answers with these records; an empty list means NODATA.
        case answer([DNSRecord])
        /// Answers with this RCODE: 1 FORMERR, 2 SERVFAIL, 3 NXDOMAIN, 4 NOTIMP, 5 REFUSED.
        case failure(Int)
        /// Answers without records and with the TC bit, so that the client repeats the query over TCP.
        case truncated
        /// As ``answer(_:)``, but with another message id.
        case answerWithWrongID([DNSRecord])
        /// As ``answer(_:)``, but from another port. Over TCP the same as ``answer(_:)``.
        case answerFromWrongPort([DNSRecord])
        /// As ``answer(_:)``, but to another question.
        case answerToWrongQuestion([DNSRecord])
        /// Sends these bytes.
        case bytes([UInt8])
        /// Continues when the test fires the signal, at most ten seconds later.
        case wait(Signal)
    }

    /// The steps for a query; no steps means no answer.
    public typealias Script = @Sendable (DNSQuery) -> [Step]

    /// The port, for UDP and TCP, on 127.0.0.1.
    public let port: Int
    private let socket: Guarded<OwnedDescriptor?>
    private let isServing = Guarded(true)
    private let stream: ScriptedServer
    private let received: Guarded<[DNSQuery]>

    /// Listens, and runs `script` for every query, each on its own thread.
    ///
    /// - Throws: ``PeerError/Code/noPort``.
    public init(script: @escaping Script) throws(PeerError) {
        let (descriptor, port) = try ScriptedServer.bound(SOCK_DGRAM, .v4, nil)
        let received = Guarded<[DNSQuery]>([])
        stream = try ScriptedServer(port: port) { connection throws(PeerError) in
            while let length = try? connection.read(2) {
                let bytes = try connection.read(Int(length[0]) << 8 | Int(length[1]))
                guard let query = Self.record(bytes, .tcp, in: received) else { return }
                try Self.play(script(query), query) { bytes, _ throws(PeerError) in
                    try connection.send(UInt16(truncatingIfNeeded: bytes.count).bigEndianBytes + bytes)
                }
            }
        }
        (socket, self.port, self.received) = (Guarded(descriptor), port, received)
        Thread.detachNewThread { [socket, isServing] in
            Self.serve(socket, received, script)
            isServing.withLock { $0 = false }
        }
    }

    deinit {
        stop()
    }

    /// The queries so far, in the order of arrival.
    public var queries: [DNSQuery] { received.withLock { $0 } }

    /// Waits until `count` queries have arrived, and returns all queries so far.
    ///
    /// - Throws: ``PeerError/Code/timedOut`` after `seconds`.
    @discardableResult
    public func queries(_ count: Int, seconds: Double = Deadline.ofHangs) async throws(PeerError) -> [DNSQuery] {
        try await onNewThread { () throws(PeerError) in
            guard let queries = self.received.wait(seconds: seconds, for: { $0.count >= count ? $0 : nil }) else {
                throw PeerError(.timedOut, "\(self.queries.count) of \(count) queries arrived")
            }
            return queries
        }
    }

    /// Stops listening. Answers that wait for a signal may still be sent. Safe to call twice.
    public func stop() {
        stream.stop()
        socket.withLock { socket in
            // Wakes recvfrom; Linux does so even for an unconnected socket.
            if let socket { _ = shutdown(socket.number, Int32(SHUT_RD)) }
            socket = nil
        }
        _ = isServing.wait(seconds: 5) { $0 ? nil : true }
    }

    private static func record(
        _ bytes: [UInt8], _ transport: DNSQuery.Transport, in received: Guarded<[DNSQuery]>
    ) -> DNSQuery? {
        received.withLock { queries in
            let query = DNSQuery(bytes, transport: transport, number: queries.count)
            if let query { queries.append(query) }
            return query
        }
    }

    private static func play(
        _ steps: [Step], _ query: DNSQuery,
        send: (_ bytes: [UInt8], _ fromOtherPort: Bool) throws(PeerError) -> Void
    ) throws(PeerError) {
        for step in steps {
            switch step {
            case .answer(let records): try send(query.answer(records), false)
            case .failure(let code): try send(query.answer([], code: code), false)
            case .truncated: try send(query.answer([], isTruncated: true), false)
            case .answerWithWrongID(let records):
                var bytes = query.answer(records)
                bytes[0] ^= 0xff
                try send(bytes, false)
            case .answerFromWrongPort(let records): try send(query.answer(records), true)
            case .answerToWrongQuestion(let records):
                var bytes = query.answer(records)
                // Changes the first letter of the name, or the type if the name is the root.
                bytes[13] ^= 1
                try send(bytes, false)
            case .bytes(let bytes): try send(bytes, false)
            case .wait(let signal): try signal.block(seconds: 10)
            }
        }
    }

    private static func serve(
        _ shared: Guarded<OwnedDescriptor?>, _ received: Guarded<[DNSQuery]>, _ script: @escaping Script
    ) {
        // Retained by this function and by pending answers, so that the port becomes free when they have ended.
        guard let socket = shared.withLock({ $0 }) else { return }
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            var client = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let count = withUnsafeMutablePointer(to: &client) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(socket.number, &buffer, buffer.count, 0, $0, &size)
                }
            }
            if count < 0 && errno == EINTR { continue }
            // A query is never empty; an empty result means that the socket was shut down.
            guard count > 0 else { return }
            guard let query = record(Array(buffer[..<count]), .udp, in: received) else { continue }
            let address = client
            let addressSize = size
            Thread.detachNewThread {
                try? play(script(query), query) { bytes, fromOtherPort throws(PeerError) in
                    let other = try fromOtherPort ? ScriptedServer.bound(SOCK_DGRAM, .v4, nil).0 : socket
                    var address = address
                    _ = withUnsafePointer(to: &address) {
                        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                            sendto(other.number, bytes, bytes.count, 0, $0, addressSize)
                        }
                    }
                }
            }
        }
    }
}

/// A query that a ``ScriptedNameServer`` has received.
public struct DNSQuery: Hashable, Sendable {
    /// The transport of a query.
    public enum Transport: Hashable, Sendable {
        /// A datagram.
        case udp
        /// A TCP stream, with the length before each message.
        case tcp
    }

    /// The transport of the query.
    public var transport: Transport
    /// The number of the query; 0 for the first of its server.
    public var number: Int
    /// The queried name, without a trailing dot.
    public var name: String
    /// The queried type: 1 for A, 28 for AAAA, 33 for SRV.
    public var type: Int
    /// The whole message.
    public var bytes: [UInt8]

    /// Parses a message with one question (RFC 1035 §4.1); returns nil for other bytes.
    init?(_ bytes: [UInt8], transport: Transport, number: Int) {
        var labels: [String] = []
        var index = 12
        while index < bytes.count, bytes[index] != 0 {
            let end = index + 1 + Int(bytes[index])
            guard bytes[index] < 64, end <= bytes.count else { return nil }
            labels.append(String(decoding: bytes[index + 1..<end], as: UTF8.self))
            index = end
        }
        guard bytes.count >= 12, bytes[4] == 0, bytes[5] == 1, index + 5 <= bytes.count else { return nil }
        self.transport = transport
        self.number = number
        self.bytes = bytes
        name = labels.joined(separator: ".")
        type = Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
        questionEnd = index + 5
    }

    private let questionEnd: Int

    /// Encodes an answer with these records and this RCODE (RFC 1035 §4.1.1).
    func answer(_ records: [DNSRecord], code: Int = 0, isTruncated: Bool = false) -> [UInt8] {
        // QR, AA and TC; RD as in the query; RA.
        let flags: [UInt8] = [0x84 | (isTruncated ? 2 : 0) | bytes[2] & 1, 0x80 | UInt8(code & 15)]
        var message = bytes[..<2] + flags
        message += [0, 1] + UInt16(records.count).bigEndianBytes + [0, 0, 0, 0]
        message += bytes[12..<questionEnd]
        for record in records { message += record.wire }
        return Array(message)
    }
}
