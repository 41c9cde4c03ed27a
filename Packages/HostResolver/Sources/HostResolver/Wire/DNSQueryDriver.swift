internal import DNSWire
internal import EventLoops
internal import Glibc

/// The driver of a ``DNSQueryMachine``, with sockets, the clock and the system's random numbers.
enum DNSQueryDriver {
    /// The result of a query.
    struct Outcome: Sendable {
        let result: Result<DNSMessage, ResolverError>
        let servers: [ServerOutcome]
        /// What the answer shows about its server and EDNS; nil if nothing.
        var ednsSign: EDNSSign?
        /// The server of the answer, if it changes the case of questions and has no TCP.
        var foldingServer: SocketAddress?
    }

    /// Queries the servers until one answers or all have failed. If the task is cancelled, the result is `cancelled`.
    ///
    /// - Parameters:
    ///   - known: the servers that are known to break EDNS.
    ///   - folding: the servers that are known to change the case of questions, and to have no TCP.
    static nonisolated(nonsending) func ask(
        _ question: DNSQuestion, configuration: ResolverConfiguration, firstServer: Int,
        withoutEDNS known: Set<SocketAddress>, folding: Set<SocketAddress>
    ) async -> Outcome {
        var machine = DNSQueryMachine(
            question, configuration: configuration, firstServer: firstServer, withoutEDNS: known,
            folding: folding)
        var random = SystemRandomNumberGenerator()
        let mailbox = TransmissionDriver.makeMailbox()
        return await withTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            while !Task.isCancelled {
                for event in mailbox.takeAll() { machine.accept(event) }
                switch machine.next(now: .now, using: &random) {
                case .send(let transmission):
                    let driver = TransmissionDriver(transmission: transmission, mailbox: mailbox)
                    group.addTask { await driver.run() }
                case .wait(let time):
                    // Ends with an event, at that time, or with a cancellation.
                    if let event = try? await mailbox.next(until: Moment(time)) { machine.accept(event) }
                case .finish(let result):
                    return Outcome(
                        result: result, servers: machine.outcomes, ednsSign: machine.ednsSign,
                        foldingServer: machine.foldingServer)
                }
            }
            let error = ResolverError(.cancelled, name: question.name.description, servers: machine.outcomes)
            return Outcome(result: .failure(error), servers: machine.outcomes)
        }
    }
}

extension DNSQueryMachine {
    fileprivate mutating func accept(_ event: TransmissionDriver.Event) {
        switch event {
        case .received(let bytes, let number):
            // The sockets are connected, so the kernel passes on datagrams from the queried server only.
            received(bytes, for: number, from: nil, now: .now)
        case .failed(let result, let number):
            failed(number, result, now: .now)
        case .localFailure(let number):
            failed(ResolverError(errno: number))
        }
    }
}

/// One transmission to a server and its answers. Each uses a new socket, so that the kernel chooses a new random port
/// (RFC 5452 §9.2).
struct TransmissionDriver {
    /// A result of a transmission.
    enum Event: Sendable {
        case received([UInt8], number: Int)
        case failed(ServerOutcome.Result, number: Int)
        /// This machine is the cause, so other servers do not help: no descriptors are left (EMFILE, ENFILE), or the kernel watches no
        /// more of them (such as ENOSPC).
        case localFailure(CInt)
    }

    /// The number of events in the mailbox from which on answers are dropped, as the kernel drops datagrams. Unrelated
    /// datagrams are dropped before, so forged ones cannot displace an answer.
    static let maximumWaitingEvents = 64

    /// The largest datagram that is received, in bytes. Queries allow servers ``DNSQueryMachine/payloadSize`` at most.
    private static let maximumDatagramSize = 4096

    let transmission: DNSQueryMachine.Transmission
    let mailbox: Mailbox<Event>

    /// Creates the mailbox for the events of one question's transmissions. It has no limit of its own, because each
    /// failure must arrive; there is at most one per transmission.
    static func makeMailbox() -> Mailbox<Event> { Mailbox(limit: .max) }

    /// Sends the query, and posts its answers or its failure to the mailbox, until the task is cancelled or the
    /// transmission ends.
    nonisolated(nonsending) func run() async {
        let isTCP = transmission.transport == .tcp
        let type = CInt((isTCP ? SOCK_STREAM : SOCK_DGRAM).rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(transmission.server.family, type, 0)
        guard descriptor >= 0 else {
            let number = errno
            guard number == EMFILE || number == ENFILE else { return fail(.unreachable) }
            mailbox.put(.localFailure(number))
            return
        }
        let point = WaitPoint(descriptor: descriptor, ownership: .owned)
        defer { point.close() }
        guard point.enter(.reader) == .entered else { return }
        defer { point.leave(.reader) }
        guard transmission.server.withSockAddr({ connect(descriptor, $0, $1) }) == 0 || errno == EINPROGRESS else {
            return fail(.unreachable)
        }
        if isTCP {
            await driveStream(point)
        } else {
            await driveDatagrams(point)
        }
    }

    private nonisolated(nonsending) func driveDatagrams(_ point: WaitPoint) async {
        guard Self.send(transmission.bytes[...], on: point.descriptor) == transmission.bytes.count else {
            return fail(.unreachable)
        }
        var buffer = [UInt8](repeating: 0, count: Self.maximumDatagramSize)
        while !Task.isCancelled {
            let count = SystemCall.retrying {
                recv(point.descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
            }
            if count >= 0 {
                deliver(Array(buffer[..<count]))
                // Yield, so that a flood of datagrams does not starve the event loop's other work.
                await Task.yield()
            } else if errno == EAGAIN {
                guard heed(await point.readerWait(for: .readable, until: nil)) else { return }
            } else {
                // Such as ECONNREFUSED, after an ICMP message that the port is closed.
                return fail(.unreachable)
            }
        }
    }

    /// Sends and receives over TCP: each message follows two bytes with its length (RFC 1035 §4.2.2).
    private nonisolated(nonsending) func driveStream(_ point: WaitPoint) async {
        let length = transmission.bytes.count
        var rest = ([UInt8(length >> 8), UInt8(length & 255)] + transmission.bytes)[...]
        guard point.enter(.writer) == .entered else { return }
        defer { point.leave(.writer) }
        while !rest.isEmpty {
            let count = Self.send(rest, on: point.descriptor)
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                guard heed(await point.writerWait(for: .writable, until: nil)) else { return }
            } else {
                return fail(.connectionFailed)
            }
        }
        while !Task.isCancelled {
            guard let head = await receive(2, point),
                let bytes = await receive(Int(head[0]) << 8 | Int(head[1]), point)
            else { return }
            if deliver(bytes) { return }
            // Yield, so that a stream of unrelated messages does not starve the event loop's other work.
            await Task.yield()
        }
    }

    /// Posts received bytes if they are an answer to the transmission; drops them otherwise. Returns whether they are.
    @discardableResult
    func deliver(_ bytes: [UInt8]) -> Bool {
        guard transmission.answer(in: bytes) != nil else { return false }
        if mailbox.count < Self.maximumWaitingEvents { mailbox.put(.received(bytes, number: transmission.number)) }
        return true
    }

    /// Acts on the end of a wait: if the kernel cannot watch the socket, posts a failure. Returns whether the transmission continues.
    func heed(_ wake: Wake) -> Bool {
        switch wake {
        case .ready, .timedOut: return true
        case .cancelled, .closed: return false
        case .busy:
            fail(.unreachable)
            return false
        case .failed(let number):
            mailbox.put(.localFailure(number))
            return false
        }
    }

    /// Receives exactly `count` bytes; nil after a cancellation, or after a failure, which it posts.
    private nonisolated(nonsending) func receive(_ count: Int, _ point: WaitPoint) async -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let received = bytes.withUnsafeMutableBytes { bytes in
                SystemCall.retrying {
                    recv(point.descriptor, bytes.baseAddress! + filled, count - filled, CInt(MSG_DONTWAIT))
                }
            }
            if received > 0 {
                filled += received
            } else if received < 0, errno == EAGAIN {
                guard heed(await point.readerWait(for: .readable, until: nil)) else { return nil }
            } else {
                fail(.connectionFailed)
                return nil
            }
        }
        return bytes
    }

    /// Posts a failure of the transmission.
    func fail(_ result: ServerOutcome.Result) {
        mailbox.put(.failed(result, number: transmission.number))
    }

    private static func send(_ bytes: ArraySlice<UInt8>, on descriptor: CInt) -> Int {
        bytes.withUnsafeBytes { buffer in
            SystemCall.retrying {
                Glibc.send(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
            }
        }
    }
}
