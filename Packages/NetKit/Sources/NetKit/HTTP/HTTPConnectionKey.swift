internal import EventLoops
internal import HostResolver
internal import StreamKit

/// Everything that must be equal for two requests to share a connection.
///
/// Not only whom it leads to, but how it was made: any difference in TLS (trust, names, identity), in the own address, in
/// the resolver or in the loop is a different connection.
///
/// A class because it is kept in several places, and a TLS configuration is large.
final class HTTPConnectionKey: Hashable, Sendable {
    let origin: HTTPOrigin
    let tls: TLSConfiguration?
    private let localAddress: SocketAddress?
    private let serviceType: ServiceType?
    private let keepsAlive: Bool
    private let sendsAtOnce: Bool
    private let resolver: Identity?
    private let loop: ObjectIdentifier

    /// The object that looked the name up: another one may have found another host.
    struct Identity: Equatable, @unchecked Sendable {
        // A Resolver is Sendable; as AnyObject loses that.
        private let object: AnyObject

        init(_ resolver: any Resolver) {
            object = resolver as AnyObject
        }

        static func == (left: Identity, right: Identity) -> Bool { left.object === right.object }
    }

    init(_ origin: HTTPOrigin, _ properties: StreamProperties, loop: EventLoop) {
        self.origin = origin
        tls = origin.isSecure ? properties[.tls] : nil
        localAddress = properties[.localAddress]
        serviceType = properties[.serviceType]
        keepsAlive = properties[.keepsAlive] ?? false
        sendsAtOnce = properties[.sendsAtOnce] ?? true
        resolver = properties[.resolver].map(Identity.init)
        self.loop = ObjectIdentifier(loop)
    }

    static func == (left: HTTPConnectionKey, right: HTTPConnectionKey) -> Bool {
        left === right
            || (left.origin == right.origin && left.loop == right.loop && left.tls == right.tls
                && left.localAddress == right.localAddress && left.serviceType == right.serviceType
                && left.keepsAlive == right.keepsAlive && left.sendsAtOnce == right.sendsAtOnce
                && left.resolver == right.resolver)
    }

    /// Of the origin only: hashing a TLS configuration with its certificates would cost more than the few keys that
    /// differ in nothing else.
    func hash(into hasher: inout Hasher) {
        origin.hash(into: &hasher)
    }
}
