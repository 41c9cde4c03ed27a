internal import HostResolver

/// Whom a connection is with: what the certificate is checked for, what SNI says, under what sessions are kept.
struct TLSPeer: Sendable, Hashable {
    /// What a certificate must name.
    enum Subject: Sendable, Hashable {
        case host(String)
        case address(String)

        var text: String {
            switch self {
            case .host(let name), .address(let name): name
            }
        }
    }

    /// Nil for a server, and for a client that was told no name.
    let subject: Subject?
    /// Nil if none is to be sent.
    let indicatedName: String?
    /// Nil if nothing can be resumed: without a name nobody knows whom a session is with.
    let sessionKey: TLSSessionTable<TLSSession>.Key?
    private let port: UInt16?

    /// - Parameter route: the proxies on the way; sessions are not shared with other ways.
    init(
        _ configuration: borrowing TLSConfiguration, streamName: String?, port: UInt16?, through route: String? = nil
    ) throws(StreamError) {
        self.port = port
        guard configuration.role == .client else {
            subject = nil
            indicatedName = nil
            sessionKey = nil
            return
        }
        let subject = try (configuration.peerName ?? streamName).map(TLSPeer.subject)
        if subject == nil, configuration.verification == .full { throw StreamError(.badConfiguration, .noPeerName()) }
        self.subject = subject
        let indicated: Subject? =
            switch configuration.serverNameIndication {
            case .peerName: subject
            case .name(let name): try TLSPeer.subject(name)
            case .off: nil
            }
        // An address is never sent (RFC 6066 §3).
        let indicatedName: String? = if case .host(let name) = indicated { name } else { nil }
        self.indicatedName = indicatedName
        // A group is one whatever way its connections take, and whether or not TLS knows the way that lies below it.
        let place = port.map { TLSSessionTable<TLSSession>.Scope.port($0, through: route) }
        let scope = configuration.sessionGroup.map { .group($0) } ?? place
        if configuration.resumesSessions, let subject, let scope {
            sessionKey = .init(peerName: subject.text, indicatedName: indicatedName, scope: scope)
        } else {
            sessionKey = nil
        }
    }

    /// For sentences about certificates.
    var name: String { subject?.text ?? "the peer" }

    /// For sentences about a connection, at their beginning.
    var place: String {
        guard let subject else { return "The peer" }
        return port.map { "\(subject.text) port \($0)" } ?? subject.text
    }

    private static func subject(_ text: String) throws(StreamError) -> Subject {
        let host: HostName
        do {
            host = try HostName(text)
        } catch {
            throw StreamError(.badConfiguration, .badPeerName(text, reason: "\(error)"), underlying: error)
        }
        switch host.address {
        case nil: return .host(host.ascii)
        case .v4(let address): return .address(address.description)
        // A zone means something on this machine only, and is in no certificate.
        case .v6(let address): return .address(IPv6Address(rawValue: address.rawValue).description)
        }
    }
}
