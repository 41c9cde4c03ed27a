internal import CProxyScript
internal import EventLoops
internal import Glibc
internal import HostResolver

/// One run of a script, in a process of its own that ends with this object.
///
/// Theory of operation. A script comes from the network, may loop for ever, and is run by a C engine that cannot be
/// stopped. It therefore gets a process with limits of its own, which contains nothing of this one and can open nothing
/// (`start.c` and `helper.c` explain how), and which is killed at the deadline in any case. The two converse over a
/// socket, which is read and written like any stream, so that only a blocking caller blocks.
final class ProxyScriptProcess: Sendable {
    let process: Int32
    private let pair: StreamPair
    private let deadline: ContinuousClock.Instant
    private let limit: Duration

    /// Starts the process, without sending it anything yet.
    ///
    /// - Parameter deadline: when to kill the process, if the time limit began earlier; if nil, the limit begins now.
    init(limit: Duration, until deadline: ContinuousClock.Instant? = nil) throws(StreamError) {
        self.limit = limit
        self.deadline = deadline ?? .now + limit
        let seconds = UInt32(clamping: max(1, limit.components.seconds + (limit.components.attoseconds > 0 ? 1 : 0)))
        var process: Int32 = 0
        let descriptor = netkit_pac_start(min(seconds, 86_400), UInt(ProxyScript.memoryLimit), &process)
        guard descriptor >= 0 else {
            if let reason = netkit_pac_missing() { throw .scriptsUnavailable(String(cString: reason)) }
            throw StreamError(posix: -descriptor)
        }
        self.process = process
        pair = StreamPair(descriptor: descriptor, ownership: .owned)
    }

    deinit {
        pair.close()
        _ = netkit_pac_end(process)
    }

    /// Runs the script. May be called only once.
    nonisolated(nonsending) func choices(
        _ conversation: consuming ProxyScriptConversation, resolver: any Resolver
    ) async throws(StreamError) -> [ProxyChoice] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        do throws(StreamError) {
            try pair.open()
            while true {
                switch try conversation.next() {
                case .receive:
                    try pair.input.set(.readLimit, to: try remainingTime())
                    let count = try await pair.input.read(into: &buffer)
                    conversation.receive(buffer[..<count])
                case .send(let bytes):
                    try pair.output.set(.writeLimit, to: try remainingTime())
                    try await pair.output.writeAll(bytes)
                case .lookUp(let name):
                    let reply = conversation.found(await addresses(of: name, resolver))
                    try pair.output.set(.writeLimit, to: try remainingTime())
                    try await pair.output.writeAll(reply)
                case .finish(let choices): return choices
                }
            }
        } catch {
            throw mapped(error)
        }
    }

    /// Runs the script, blocking the thread. May be called only once.
    @available(*, noasync)
    func blockingChoices(
        _ conversation: consuming ProxyScriptConversation, resolver: any Resolver
    ) throws(StreamError) -> [ProxyChoice] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        do throws(StreamError) {
            try pair.open()
            while true {
                switch try conversation.next() {
                case .receive:
                    try pair.input.set(.readLimit, to: try remainingTime())
                    let count = try pair.input.read(into: &buffer)
                    conversation.receive(buffer[..<count])
                case .send(let bytes):
                    try pair.output.set(.writeLimit, to: try remainingTime())
                    try pair.output.writeAll(bytes)
                case .lookUp(let name):
                    let reply = conversation.found(blockingAddresses(of: name, resolver))
                    try pair.output.set(.writeLimit, to: try remainingTime())
                    try pair.output.writeAll(reply)
                case .finish(let choices): return choices
                }
            }
        } catch {
            throw mapped(error)
        }
    }

    // MARK: Names

    private nonisolated(nonsending) func addresses(of name: String?, _ resolver: any Resolver) async -> [IPAddress] {
        guard let request = request(name) else { return [] }
        return (try? await resolver.addresses(request)) ?? []
    }

    @available(*, noasync)
    private func blockingAddresses(of name: String?, _ resolver: any Resolver) -> [IPAddress] {
        guard let request = request(name) else { return [] }
        return (try? resolver.blockingAddresses(request)) ?? []
    }

    /// Nil if the text is not a host name.
    private func request(_ name: String?) -> AddressRequest? {
        (try? HostName(name ?? ProxyScriptProcess.ownName)).map { AddressRequest($0, until: deadline) }
    }

    private static var ownName: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "localhost" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: Time

    private func remainingTime() throws(StreamError) -> Duration {
        let remaining = ContinuousClock.now.duration(to: deadline)
        guard remaining > .zero else { throw .timedOut }
        return remaining
    }

    private func mapped(_ error: StreamError) -> StreamError {
        if error == .timedOut { return .script(.scriptTooSlow(limit), underlying: error) }
        // The process ended during a write to it.
        if error.isPOSIX(EPIPE) || error.isPOSIX(ECONNRESET) { return .script(.scriptEndedEarly, underlying: error) }
        return error
    }
}

/// Limits the number of scripts that run at once. Others wait for their turn, in order.
final class ProxyScriptTurns: Sendable {
    static let shared = ProxyScriptTurns(limit: ProxyScript.mostProcesses)

    private let queue: Locked<TurnQueue<WaitPoint>>

    init(limit: Int) {
        queue = Locked(TurnQueue(limit: limit))
    }

    /// Waits for a turn. The caller returns it with ``leave()``.
    ///
    /// - Throws: ``StreamError/timedOut`` at the deadline, or ``StreamError/cancelled``. The caller then holds no turn.
    nonisolated(nonsending) func enter(until deadline: Moment?) async throws(StreamError) {
        let point = WaitPoint()
        let ticket = queue.withLock { $0.enter(point) }
        guard let ticket else { return }
        guard point.enter(.reader) == .entered else { preconditionFailure("a new point is neither busy nor closed") }
        defer { point.leave(.reader) }
        while true {
            let wake = await point.readerWait(for: .readable, until: deadline)
            switch wake {
            case .ready:
                if queue.withLock({ $0.hasTurn(ticket) }) { return }
            case .cancelled, .timedOut, .closed, .busy, .failed:
                let next = queue.withLock { $0.withdraw(ticket) }
                next?.signal(.readable)
                throw wake == .timedOut ? .timedOut : .cancelled
            }
        }
    }

    func leave() {
        let next = queue.withLock { $0.leave() }
        next?.signal(.readable)
    }
}

/// The free turns, and the waiters for one.
///
/// Invariant: the free turns and the held turns always add up to the limit, and a turn is free only if there are no
/// waiters. Each method decides and changes the state in one step, so that a turn never belongs to a waiter that has
/// gone.
struct TurnQueue<Waiter> {
    /// A position in the queue.
    struct Ticket: Hashable {
        fileprivate let number: UInt64
    }

    private(set) var free: Int
    private var waiting: [(ticket: Ticket, waiter: Waiter)] = []
    private var last: UInt64 = 0

    init(limit: Int) {
        free = limit
    }

    /// Takes a free turn and returns nil; without a free turn, queues the waiter.
    mutating func enter(_ waiter: Waiter) -> Ticket? {
        if free > 0 {
            free -= 1
            return nil
        }
        last += 1
        waiting.append((Ticket(number: last), waiter))
        return waiting.last?.ticket
    }

    /// Whether the turn has come. Turns are given to the waiters in order, so this is the case once the ticket no
    /// longer waits.
    func hasTurn(_ ticket: Ticket) -> Bool { !waiting.contains { $0.ticket == ticket } }

    /// Returns a turn. Gives it to the first waiter, which is returned to be woken, if there is one.
    mutating func leave() -> Waiter? {
        if waiting.isEmpty {
            free += 1
            return nil
        }
        return waiting.removeFirst().waiter
    }

    /// Stops waiting. A turn that had already come goes to the next waiter, which is returned to be woken.
    mutating func withdraw(_ ticket: Ticket) -> Waiter? {
        guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return leave() }
        waiting.remove(at: index)
        return nil
    }
}
