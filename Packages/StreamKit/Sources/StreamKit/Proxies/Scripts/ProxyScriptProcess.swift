internal import CProxyScript
internal import EventLoops
internal import Glibc
@_spi(Packages) internal import HostResolver

/// One run of a script, in a process of its own that ends with this object.
///
/// Theory of operation. A script comes from the network, may loop for ever, and is run by an engine that cannot be
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
    /// - Parameter engines: those that may run the script, the preferred one first.
    /// - Parameter deadline: when to kill the process, if the time limit began earlier; if nil, the limit begins now.
    init(
        _ engines: [ProxyScriptEngine] = ProxyScriptEngine.allCases, limit: Duration,
        until deadline: ContinuousClock.Instant? = nil
    ) throws(StreamError) {
        self.limit = limit
        self.deadline = deadline ?? .now + limit
        let seconds = UInt32(clamping: max(1, limit.components.seconds + (limit.components.attoseconds > 0 ? 1 : 0)))
        var process: Int32 = 0
        let descriptor = netkit_pac_start(
            min(seconds, 86_400), UInt(ProxyScript.maximumMemory), engines.letters, &process)
        guard descriptor >= 0 else {
            if let reason = netkit_pac_missing() {
                throw .script(.scriptsRefused(String(cString: reason)), reason: .scriptNotRunnable)
            }
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
                    try pair.input.set(.readTimeout, to: try remainingTime())
                    let count = try await pair.input.read(into: &buffer)
                    conversation.receive(buffer[..<count])
                case .send(let bytes):
                    try pair.output.set(.writeTimeout, to: try remainingTime())
                    try await pair.output.writeAll(bytes)
                case .lookUp(let name):
                    let reply = conversation.found(try await addresses(of: name, resolver))
                    try pair.output.set(.writeTimeout, to: try remainingTime())
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
                    try pair.input.set(.readTimeout, to: try remainingTime())
                    let count = try pair.input.read(into: &buffer)
                    conversation.receive(buffer[..<count])
                case .send(let bytes):
                    try pair.output.set(.writeTimeout, to: try remainingTime())
                    try pair.output.writeAll(bytes)
                case .lookUp(let name):
                    let reply = conversation.found(blockingAddresses(of: name, resolver))
                    try pair.output.set(.writeTimeout, to: try remainingTime())
                    try pair.output.writeAll(reply)
                case .finish(let choices): return choices
                }
            }
        } catch {
            throw mapped(error)
        }
    }

    // MARK: Names

    /// A name that is not found has no addresses. A cancelled lookup says nothing about its name, so that the script gets no answer.
    private nonisolated(nonsending) func addresses(
        of name: String?, _ resolver: any Resolver
    ) async throws(StreamError) -> [IPAddress] {
        guard let request = request(name) else { return [] }
        do throws(ResolverError) {
            return try await resolver.addresses(request)
        } catch {
            if error.code == .cancelled { throw .cancelled }
            return []
        }
    }

    @available(*, noasync)
    private func blockingAddresses(of name: String?, _ resolver: any Resolver) -> [IPAddress] {
        guard let request = request(name) else { return [] }
        return (try? resolver.blockingAddresses(request)) ?? []
    }

    /// Nil if the text is not a host name.
    private func request(_ name: String?) -> AddressRequest? {
        (try? HostName(name ?? HostName.ofThisMachine ?? "localhost")).map { AddressRequest($0, until: deadline) }
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

/// An engine that runs scripts. The cases are in the order of preference.
enum ProxyScriptEngine: CaseIterable {
    /// WebKit's engine, which is maintained.
    case javaScriptCore
    /// libpacparser, with JavaScript of 2007.
    case pacparser

    var letter: UInt8 {
        switch self {
        case .javaScriptCore: UInt8(NETKIT_PAC_JAVASCRIPTCORE)
        case .pacparser: UInt8(NETKIT_PAC_PACPARSER)
        }
    }

    /// The name by which a helper introduces it.
    var name: String {
        switch self {
        case .javaScriptCore: "JavaScriptCore"
        case .pacparser: "libpacparser"
        }
    }
}

extension [ProxyScriptEngine] {
    /// The engines as a helper is told them.
    var letters: String { String(decoding: map(\.letter), as: UTF8.self) }
}
