internal import Glibc
internal import HostResolver

/// The conversation with a SOCKS proxy: version 4 and 4a, or version 5 (RFC 1928) with user name and password (RFC
/// 1929).
///
/// Theory of operation. The conversation is a list of turns. Each turn sends bytes and then receives a part of known
/// length, which may require one more part. The machine never asks for more bytes than the part has, so no byte from
/// the target is ever taken. No part is longer than 262 bytes. A refusal is reported as soon as its code has arrived,
/// even if the rest of the reply is invalid.
struct SOCKSMachine: TunnelMachine {
    private enum Part {
        /// Version 4: the whole reply.
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

    /// - Throws: `EINVAL` for values that the protocol cannot carry.
    init(_ proxy: SOCKSProxy, _ target: TunnelTarget) throws(StreamError) {
        self.proxy = proxy
        self.target = target
        switch proxy.version {
        case .v4:
            if proxy.password?.isEmpty == false { throw StreamError(posix: EINVAL, .proxyPasswordUnsendable4) }
            request = try SOCKSMachine.request4(proxy, target)
            state = .sends(request, .reply4)
        case .v5:
            if proxy.user == nil, proxy.password != nil { throw StreamError(posix: EINVAL, .proxyPasswordWithoutUser) }
            try SOCKSMachine.check(proxy.user, "The user name", isOptional: false)
            try SOCKSMachine.check(proxy.password, "The password", isOptional: true)
            request = try SOCKSMachine.request5(target)
            // Without a user, only "no authentication" is offered: a proxy that requires a login refuses at once.
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
            throw StreamError(.badState, .proxyDisconnected(name, "in the middle of its reply"))
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
            case .receives(.method, _): "when it was offered the login methods"
            case .receives(.authentication, _): "when it was sent the user name and password"
            default: received.isEmpty ? "without a reply" : "in the middle of its reply"
            }
        throw StreamError(.badState, .proxyDisconnected(name, step))
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

    /// Evaluates the first bytes before the rest has arrived: a proxy that refuses may send no more than these.
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
            throw StreamError(SOCKSFailure(.method, Int(method)), .proxyUnofferedMethod(name, method))
        }
    }

    /// Sets the bound address from 4 or 16 bytes and the port.
    private mutating func setBoundAddress(_ bytes: ArraySlice<UInt8>) {
        let port = UInt16(bytes[bytes.endIndex - 2]) << 8 | UInt16(bytes[bytes.endIndex - 1])
        let octets = bytes.dropLast(2)
        let address: IPAddress =
            octets.count == 4
            ? .v4(IPv4Address(rawValue: octets.reduce(0) { $0 << 8 | UInt32($1) }))
            : .v6(IPv6Address(rawValue: octets.reduce(0) { $0 << 8 | UInt128($1) }))
        // Many proxies do not report it, and send 0.0.0.0:0.
        boundAddress = address.isAny && port == 0 ? nil : .ip(address, port: port)
    }

    private var name: String { proxy.description }

    // MARK: Requests

    /// CONNECT in version 4. A name is sent as the invalid address 0.0.0.1, with the name after the user (4a).
    private static func request4(_ proxy: SOCKSProxy, _ target: TunnelTarget) throws(StreamError) -> [UInt8] {
        let user = Array((proxy.user ?? "").utf8)
        if user.contains(0) { throw StreamError(posix: EINVAL, .proxyFieldUnsendable("The user name")) }
        if user.count > SOCKSProxy.maximumUserIDLength {
            throw StreamError(
                posix: EINVAL, .proxyFieldTooLong("The user name", user.count, SOCKSProxy.maximumUserIDLength))
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

    /// Refuses a longer name. Looking it up here instead would disclose a name that only the proxy should know, and led
    /// to a heap overflow elsewhere (CVE-2023-38545).
    private static func nameBytes(_ target: TunnelTarget) throws(StreamError) -> [UInt8] {
        let name = Array(target.host.utf8)
        guard name.count <= SOCKSProxy.maximumFieldLength else {
            throw StreamError(
                posix: EINVAL, .proxyFieldTooLong("The host name", name.count, SOCKSProxy.maximumFieldLength))
        }
        return name
    }

    private static func check(_ field: String?, _ what: String, isOptional: Bool) throws(StreamError) {
        guard let field else { return }
        let count = field.utf8.count
        if count > SOCKSProxy.maximumFieldLength {
            throw StreamError(posix: EINVAL, .proxyFieldTooLong(what, count, SOCKSProxy.maximumFieldLength))
        }
        // RFC 1929 §2 requires 1 to 255 bytes, but some proxies are configured with an empty password.
        if !isOptional, count == 0 { throw StreamError(posix: EINVAL, .proxyFieldUnsendable(what)) }
    }
}
