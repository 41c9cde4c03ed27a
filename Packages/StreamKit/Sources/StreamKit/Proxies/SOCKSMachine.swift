internal import Glibc
internal import HostResolver

/// The conversation with a SOCKS proxy: version 4 and 4a, or 5 (RFC 1928) with user and password (RFC 1929).
///
/// Theory of operation. A list of turns: each sends something, then receives a part whose length is known, which may ask for
/// one more part. It never asks for a byte more than the part has, so that nothing from the target is ever taken; and no
/// part is longer than 262 bytes. A refusal is told as soon as its code has come, whatever is wrong with the rest of it.
struct SOCKSMachine: TunnelMachine {
    private enum Part {
        /// Version 4: the whole answer.
        case reply4
        /// Version and method (RFC 1928 §3).
        case method
        /// Version and status (RFC 1929 §2).
        case authentication
        /// Up to the kind of the bound address (RFC 1928 §6).
        case reply
        /// The length of the bound address, which is a name.
        case nameLength
        /// The bound address and port.
        case boundAddress(isName: Bool)
    }

    private enum State {
        case sends([UInt8], Part)
        case receives(Part, length: Int)
        case established
    }

    private let proxy: SOCKSProxy
    private let target: TunnelTarget
    private let request: [UInt8]
    private var state: State
    private var received: [UInt8] = []
    private var addressKind: UInt8 = 0
    private var boundAddress: SocketAddress?
    private(set) var refusal: TunnelRefusal?

    /// - Throws: `EINVAL` for what the protocol cannot carry.
    init(_ proxy: SOCKSProxy, _ target: TunnelTarget) throws(StreamError) {
        self.proxy = proxy
        self.target = target
        switch proxy.version {
        case .v4:
            request = try SOCKSMachine.request4(proxy, target)
            state = .sends(request, .reply4)
        case .v5:
            try SOCKSMachine.check(proxy.user, "The user", isOptional: false)
            try SOCKSMachine.check(proxy.password, "The password", isOptional: true)
            request = try SOCKSMachine.request5(target)
            // Without a user only "no authentication" is offered: a proxy that wants more says so at once.
            state = .sends(proxy.user == nil ? [5, 1, 0] : [5, 2, 0, 2], .method)
        }
    }

    mutating func next() throws(StreamError) -> TunnelAction {
        switch state {
        case .sends(let bytes, let part):
            expect(part)
            return .send(bytes)
        case .receives(_, let length):
            return .receive(upTo: length - received.count)
        case .established:
            return .established(boundAddress.map { "connected to \(target), from \($0)" } ?? "connected to \(target)")
        }
    }

    mutating func receive(_ bytes: [UInt8]) throws(StreamError) {
        guard case .receives(let part, let length) = state, received.count + bytes.count <= length else {
            throw StreamError(.badState, .proxyBrokeOff(name, "in the middle of its answer"))
        }
        received += bytes
        do throws(StreamError) {
            try checkEarly(part)
            guard received.count == length else { return }
            let whole = received
            received = []
            try finish(part, whole)
        } catch {
            refusal = error.socksFailure?.refusal
            throw error
        }
    }

    mutating func receiveEnd() throws(StreamError) {
        let step =
            switch state {
            case .receives(.method, _): "when it was told which ways to log in there are"
            case .receives(.authentication, _): "when it was told user and password"
            default: received.isEmpty ? "without an answer" : "in the middle of its answer"
            }
        throw StreamError(.badState, .proxyBrokeOff(name, step))
    }

    var properties: StreamProperties {
        var properties = StreamProperties()
        properties[.socksBoundAddress] = boundAddress
        return properties
    }

    // MARK: Receiving

    private mutating func expect(_ part: Part, length: Int? = nil) {
        let known =
            switch part {
            case .reply4: 8
            case .method, .authentication: 2
            case .reply: 4
            case .nameLength: 1
            case .boundAddress: 0
            }
        state = .receives(part, length: length ?? known)
    }

    /// What the first bytes tell, before the rest has come: a refusing proxy may send no more than these.
    private func checkEarly(_ part: Part) throws(StreamError) {
        switch part {
        case .reply4:
            try checkVersion(0)
            if received.count > 1, received[1] != 90 {
                throw StreamError(
                    SOCKSFailure(.reply4, Int(received[1])), .proxyRefused4(name, target.description, code: received[1])
                )
            }
        case .method:
            try checkVersion(5)
        case .authentication:
            try checkVersion(1)
        case .reply:
            try checkVersion(5)
            if received.count > 1, received[1] != 0 {
                throw StreamError(
                    SOCKSFailure(.reply5, Int(received[1])), .proxyRefused(name, target.description, code: received[1]))
            }
        case .nameLength, .boundAddress: break
        }
    }

    private func checkVersion(_ expected: UInt8) throws(StreamError) {
        guard let found = received.first, found != expected else { return }
        throw StreamError(SOCKSFailure(.version, Int(found)), .proxyWrongVersion(name, Int(expected), found))
    }

    private mutating func finish(_ part: Part, _ bytes: [UInt8]) throws(StreamError) {
        switch part {
        case .reply4:
            // Port, then address.
            setBoundAddress(bytes[4..<8] + bytes[2..<4])
            state = .established
        case .method:
            try choose(bytes[1])
        case .authentication:
            guard bytes[1] == 0 else {
                throw StreamError(SOCKSFailure(.authentication, Int(bytes[1])), .proxyBadCredentials(name))
            }
            state = .sends(request, .reply)
        case .reply:
            addressKind = bytes[3]
            switch addressKind {
            case 1: expect(.boundAddress(isName: false), length: 4 + 2)
            case 3: expect(.nameLength)
            case 4: expect(.boundAddress(isName: false), length: 16 + 2)
            default: throw StreamError(.badResponseAddress, .proxyBadBoundAddress(name, addressKind))
            }
        case .nameLength:
            expect(.boundAddress(isName: true), length: Int(bytes[0]) + 2)
        case .boundAddress(let isName):
            if !isName { setBoundAddress(bytes[...]) }
            state = .established
        }
    }

    private mutating func choose(_ method: UInt8) throws(StreamError) {
        switch method {
        case 0:
            state = .sends(request, .reply)
        case 2 where proxy.user != nil:
            let user = Array((proxy.user ?? "").utf8)
            let password = Array((proxy.password ?? "").utf8)
            state = .sends(
                [1, UInt8(user.count)] + user + [UInt8(password.count)] + password, .authentication)
        case 255:
            throw StreamError(.noAcceptableMethod, .proxyNoMethod(name, offersPassword: proxy.user != nil))
        default:
            throw StreamError(SOCKSFailure(.method, Int(method)), .proxyStrangeMethod(name, method))
        }
    }

    /// An address of 4 or 16 bytes, then the port.
    private mutating func setBoundAddress(_ bytes: ArraySlice<UInt8>) {
        let port = UInt16(bytes[bytes.endIndex - 2]) << 8 | UInt16(bytes[bytes.endIndex - 1])
        let octets = bytes.dropLast(2)
        let address: IPAddress =
            octets.count == 4
            ? .v4(IPv4Address(rawValue: octets.reduce(0) { $0 << 8 | UInt32($1) }))
            : .v6(IPv6Address(rawValue: octets.reduce(0) { $0 << 8 | UInt128($1) }))
        // Many proxies do not tell, and say 0.0.0.0:0.
        boundAddress = address.isAny && port == 0 ? nil : .ip(address, port: port)
    }

    private var name: String { proxy.description }

    // MARK: Requests

    /// CONNECT in version 4; with a name, the invalid address 0.0.0.1 and the name behind the user (4a).
    private static func request4(_ proxy: SOCKSProxy, _ target: TunnelTarget) throws(StreamError) -> [UInt8] {
        let user = Array((proxy.user ?? "").utf8)
        if user.contains(0) { throw StreamError(posix: EINVAL, .proxyFieldUnsendable("The user")) }
        if user.count > SOCKSProxy.longestUserID {
            throw StreamError(posix: EINVAL, .proxyFieldTooLong("The user", user.count, SOCKSProxy.longestUserID))
        }
        let port = [UInt8(target.port >> 8), UInt8(target.port & 255)]
        switch target.address {
        case .v4(let address): return [4, 1] + port + address.octets + user + [0]
        case .v6: throw StreamError(posix: EINVAL, .proxyNeedsIPv4(target.description))
        case nil: return [4, 1] + port + [0, 0, 0, 1] + user + [0] + (try nameBytes(target)) + [0]
        }
    }

    /// CONNECT in version 5 (RFC 1928 §4).
    private static func request5(_ target: TunnelTarget) throws(StreamError) -> [UInt8] {
        let port = [UInt8(target.port >> 8), UInt8(target.port & 255)]
        switch target.address {
        case .v4(let address): return [5, 1, 0, 1] + address.octets + port
        case .v6(let address): return [5, 1, 0, 4] + address.octets + port
        case nil:
            let name = try nameBytes(target)
            return [5, 1, 0, 3, UInt8(name.count)] + name + port
        }
    }

    /// A longer name is refused; looking it up here instead would tell others what only the proxy should know, and was
    /// the way into a heap overflow elsewhere (CVE-2023-38545).
    private static func nameBytes(_ target: TunnelTarget) throws(StreamError) -> [UInt8] {
        let name = Array(target.host.utf8)
        guard name.count <= SOCKSProxy.longestField else {
            throw StreamError(posix: EINVAL, .proxyFieldTooLong("The name", name.count, SOCKSProxy.longestField))
        }
        return name
    }

    private static func check(_ field: String?, _ what: String, isOptional: Bool) throws(StreamError) {
        guard let field else { return }
        let count = field.utf8.count
        if count > SOCKSProxy.longestField {
            throw StreamError(posix: EINVAL, .proxyFieldTooLong(what, count, SOCKSProxy.longestField))
        }
        // RFC 1929 §2: 1 to 255; an empty password is what some proxies are set up with.
        if !isOptional, count == 0 { throw StreamError(posix: EINVAL, .proxyFieldUnsendable(what)) }
    }
}
