internal import EventLoops
internal import Glibc

/// The driver of a ``DNSQueryMachine``, with sockets, the clock and the system's random numbers.
enum DNSQueryDriver {
    /// Queries the servers until one answers or all have failed. If the task is cancelled, the result is `cancelled`.
    static nonisolated(nonsending) func ask(
        _ question: DNSQuestion, configuration: ResolverConfiguration, firstServer: Int
    ) async -> (result: Result<DNSMessage, ResolverError>, servers: [ServerOutcome]) {
        var machine = DNSQueryMachine(question, configuration: configuration, firstServer: firstServer)
        var random = SystemRandomNumberGenerator()
        let mailbox = DNSMailbox()
        return await withTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            while !Task.isCancelled {
                for event in mailbox.take() {
                    switch event {
                    case .received(let bytes, let number):
                        // The sockets are connected, so the kernel passes on datagrams from the queried server only.
                        machine.received(bytes, for: number, from: nil, now: .now)
                    case .failed(let result, let number):
                        machine.failed(number, result, now: .now)
                    }
                }
                switch machine.next(now: .now, using: &random) {
                case .send(let transmission):
                    let exchange = DNSExchange(transmission: transmission, mailbox: mailbox)
                    group.addTask { await exchange.run() }
                case .wait(let time):
                    await mailbox.wait(until: time)
                case .finish(let result):
                    return (result, machine.outcomes)
                }
            }
            let error = ResolverError(.cancelled, name: question.name.description, servers: machine.outcomes)
            return (.failure(error), machine.outcomes)
        }
    }
}

/// One transmission to a server and its answers. Each uses a new socket, so that the kernel chooses a new random port
/// (RFC 5452 §9.2).
struct DNSExchange {
    /// The largest datagram that is received, in bytes. Queries allow servers ``DNSQueryMachine/payloadSize`` at most.
    private static let largestDatagram = 4096

    let transmission: DNSQueryMachine.Transmission
    let mailbox: DNSMailbox

    /// Sends the query, and posts its answers or its failure to the mailbox, until the task is cancelled or the
    /// exchange ends.
    nonisolated(nonsending) func run() async {
        let isTCP = transmission.transport == .tcp
        let type = CInt((isTCP ? SOCK_STREAM : SOCK_DGRAM).rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(transmission.server.family, type, 0)
        guard descriptor >= 0 else { return fail(.unreachable) }
        let point = WaitPoint(descriptor: descriptor, ownership: .owned)
        defer { point.close() }
        guard point.enter(.reader) == .entered else { return }
        defer { point.leave(.reader) }
        guard transmission.server.withSockAddr({ connect(descriptor, $0, $1) }) == 0 || errno == EINPROGRESS else {
            return fail(.unreachable)
        }
        if isTCP {
            await exchangeStream(point)
        } else {
            await exchangeDatagrams(point)
        }
    }

    private nonisolated(nonsending) func exchangeDatagrams(_ point: WaitPoint) async {
        guard Self.send(transmission.bytes[...], on: point.descriptor) == transmission.bytes.count else {
            return fail(.unreachable)
        }
        var buffer = [UInt8](repeating: 0, count: Self.largestDatagram)
        while !Task.isCancelled {
            let count = recv(point.descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
            if count >= 0 {
                deliver(Array(buffer[..<count]))
                // Yield, so that a flood of datagrams does not starve the event loop's other work.
                await Task.yield()
            } else if errno == EAGAIN {
                guard hasWoken(await point.readerWait(for: .readable, until: nil)) else { return }
            } else if errno != EINTR {
                // Such as ECONNREFUSED, after an ICMP message that the port is closed.
                return fail(.unreachable)
            }
        }
    }

    /// Sends and receives over TCP: each message follows two bytes with its length (RFC 1035 §4.2.2).
    private nonisolated(nonsending) func exchangeStream(_ point: WaitPoint) async {
        let length = transmission.bytes.count
        var rest = ([UInt8(length >> 8), UInt8(length & 255)] + transmission.bytes)[...]
        guard point.enter(.writer) == .entered else { return }
        defer { point.leave(.writer) }
        while !rest.isEmpty {
            let count = Self.send(rest, on: point.descriptor)
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                guard hasWoken(await point.writerWait(for: .writable, until: nil)) else { return }
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

    /// Posts received bytes if they are an answer to the transmission; drops them otherwise. Returns whether it posted
    /// them.
    @discardableResult
    func deliver(_ bytes: [UInt8]) -> Bool {
        guard transmission.answer(in: bytes) != nil else { return false }
        mailbox.post(.received(bytes, number: transmission.number))
        return true
    }

    /// Whether the exchange continues after a wait. If the kernel cannot watch the socket, posts a failure.
    private func hasWoken(_ wake: Wake) -> Bool {
        switch wake {
        case .ready, .timedOut: return true
        case .cancelled, .closed: return false
        case .busy, .failed:
            fail(.unreachable)
            return false
        }
    }

    /// Receives exactly `count` bytes; nil after a cancellation, or after a failure, which it posts.
    private nonisolated(nonsending) func receive(_ count: Int, _ point: WaitPoint) async -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let received = bytes.withUnsafeMutableBytes {
                recv(point.descriptor, $0.baseAddress! + filled, count - filled, CInt(MSG_DONTWAIT))
            }
            if received > 0 {
                filled += received
            } else if received < 0, errno == EINTR {
                continue
            } else if received < 0, errno == EAGAIN {
                guard hasWoken(await point.readerWait(for: .readable, until: nil)) else { return nil }
            } else {
                fail(.connectionFailed)
                return nil
            }
        }
        return bytes
    }

    private func fail(_ result: ServerOutcome.Result) {
        mailbox.post(.failed(result, number: transmission.number))
    }

    private static func send(_ bytes: ArraySlice<UInt8>, on descriptor: CInt) -> Int {
        bytes.withUnsafeBytes { buffer in
            var count: Int
            repeat {
                count = Glibc.send(
                    descriptor, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
            } while count < 0 && errno == EINTR
            return count
        }
    }
}

/// The results of one question's transmissions, buffered until the question's task reads them.
final class DNSMailbox: Sendable {
    /// A result of a transmission.
    enum Event: Sendable {
        case received([UInt8], number: Int)
        case failed(ServerOutcome.Result, number: Int)
    }

    /// The maximum number of buffered answers. More are dropped, as the kernel drops datagrams. Unrelated datagrams are
    /// dropped before, so forged ones cannot displace an answer.
    static let limit = 64

    private let events = Locked<[Event]>([])
    private let point = WaitPoint()

    func post(_ event: Event) {
        events.withLock { events in
            if case .received = event, events.count >= Self.limit { return }
            events.append(event)  // failures need no limit: there is one per transmission
        }
        point.signal(.readable)
    }

    /// Returns the events since the last call.
    func take() -> [Event] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    /// Suspends until there is an event, or until the given instant.
    nonisolated(nonsending) func wait(until time: ContinuousClock.Instant) async {
        guard point.enter(.reader) == .entered else { return }
        defer { point.leave(.reader) }
        // The wait cannot fail, because there is no descriptor.
        _ = await point.readerWait(for: .readable, until: Moment(time))
    }
}
