import DNSServiceC
import EventLoops
import Glibc
import Testing

import struct DNSServiceEngine.ServiceEnvironment

@testable import ServiceDiscovery

/// The replies that a program's callbacks have received, as lines of text, and the references of a test.
final class FunctionReplies: Sendable {
    private struct State {
        var lines: [String] = []
        var threads: Set<UInt> = []
        /// Called once, inside the next callback.
        var inside: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// The lines since the last call.
    func take() -> [String] {
        state.withLock { state in
            defer { state.lines = [] }
            return state.lines
        }
    }

    /// The threads that have called back.
    var threads: Set<UInt> { state.withLock { $0.threads } }

    func inNextReply(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.inside = body } }

    private func add(_ line: String) {
        let inside = state.withLock { state in
            state.lines.append(line)
            state.threads.insert(pthread_self())
            return state.inside.take()
        }
        inside?()
    }

    private static func add(_ context: UnsafeMutableRawPointer?, _ parts: [Any?]) {
        guard let context else { return }
        let line = parts.map { $0.map { "\($0)" } ?? "-" }.joined(separator: " ")
        Unmanaged<FunctionReplies>.fromOpaque(context).takeUnretainedValue().add(line)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }

    private static func bytes(_ pointer: UnsafeRawPointer?, _ count: UInt16) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: pointer, count: Int(count)))
    }

    // The callbacks of each function.

    static let browse: DNSServiceBrowseReply = { _, flags, interface, error, name, type, domain, context in
        add(context, [flags, interface, error, text(name), text(type), text(domain)])
    }
    static let domains: DNSServiceDomainEnumReply = { _, flags, interface, error, domain, context in
        add(context, [flags, interface, error, text(domain)])
    }
    static let register: DNSServiceRegisterReply = { _, flags, error, name, type, domain, context in
        add(context, [flags, error, text(name), text(type), text(domain)])
    }
    static let resolve: DNSServiceResolveReply = { _, flags, interface, error, name, host, port, count, text, context in
        add(
            context,
            [
                flags, interface, error, FunctionReplies.text(name), FunctionReplies.text(host),
                UInt16(bigEndian: port), bytes(text, count),
            ])
    }
    static let query: DNSServiceQueryRecordReply = {
        _, flags, interface, error, name, type, recordClass, count, data, timeToLive, context in
        add(
            context,
            [flags, interface, error, text(name), type, recordClass, bytes(data, count), timeToLive])
    }
    static let address: DNSServiceGetAddrInfoReply = {
        _, flags, interface, error, name, address, timeToLive, context in
        var shown = "-"
        if let address {
            let isV4 = CInt(address.pointee.sa_family) == AF_INET
            let size = isV4 ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
            var buffer = [CChar](repeating: 0, count: 64)
            getnameinfo(address, socklen_t(size), &buffer, 64, nil, 0, NI_NUMERICHOST)
            shown = buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        }
        add(context, [flags, interface, error, text(name), shown, timeToLive])
    }
    static let record: DNSServiceRegisterRecordReply = { _, _, flags, error, context in
        add(context, [flags, error])
    }
}

/// A reference of a test, which is released at its end.
final class FunctionReference: Sendable {
    // A number in the form of a pointer.
    private let value: UInt

    /// The reference that `begin` creates; nil if it fails.
    init?(_ begin: (UnsafeMutablePointer<DNSServiceRef?>) -> DNSServiceErrorType) {
        var reference: DNSServiceRef?
        guard begin(&reference) == 0 else { return nil }
        value = UInt(bitPattern: reference)
    }

    deinit { DNSServiceRefDeallocate(pointer) }

    var pointer: DNSServiceRef? { DNSServiceRef(bitPattern: value) }

    /// Whether the descriptor is readable now.
    var isReadable: Bool {
        var entry = pollfd(fd: DNSServiceRefSockFD(pointer), events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1
    }

    /// Processes the replies that wait.
    @discardableResult
    func process() -> Int { Int(DNSServiceProcessResult(pointer)) }
}

extension ServiceEnvironment {
    /// Calls functions with a scripted engine.
    static func with(
        _ engine: ScriptedEngine, timeout: Duration = .seconds(3_600), _ body: () throws -> Void
    ) rethrows {
        let environment = ServiceEnvironment(
            engine: DiscoveryEngine(engine), ofThisMachine: DiscoveryEngine(engine), timeout: timeout)
        try $current.withValue(environment, operation: body)
    }
}
