internal import COpenSSL
internal import HostResolver

/// The peer of a connection: the subject of its certificate, the name for SNI, and the key of its sessions.
package struct TLSPeer: Sendable, Hashable {
    /// The name or address that the certificate must contain.
    enum Subject: Sendable, Hashable {
        case host(String)
        case address(String)

        package var text: String {
            switch self {
            case .host(let name), .address(let name): name
            }
        }
    }

    /// Nil on a server, and on a client without a name.
    let subject: Subject?
    /// Nil if no name is sent.
    let indicatedName: String?
    /// Nil if no session can be resumed: without a name, the peer of a session is unknown.
    let sessionKey: TLSSessionTable<TLSSession>.Key?
    private let port: UInt16?

    /// - Parameter route: the proxies of the connection. Connections over another route do not share its sessions.
    package init(
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
        // Connections of a group share sessions over every route, and also where TLS does not know the route below it.
        let portScope = port.map { TLSSessionTable<TLSSession>.Scope.port($0, through: route) }
        let scope = configuration.sessionGroup.map { .group($0) } ?? portScope
        if configuration.resumesSessions, let subject, let scope {
            sessionKey = .init(peerName: subject.text, indicatedName: indicatedName, scope: scope)
        } else {
            sessionKey = nil
        }
    }

    /// Requires the name in the certificate that OpenSSL verifies with these parameters. Returns false if OpenSSL fails.
    func require(in parameters: OpaquePointer) -> Bool {
        X509_VERIFY_PARAM_set_hostflags(
            parameters, CUnsignedInt(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        return switch subject {
        case .host(let name): X509_VERIFY_PARAM_set1_host(parameters, name, 0) == 1
        case .address(let text): X509_VERIFY_PARAM_set1_ip_asc(parameters, text) == 1
        case nil: true
        }
    }

    /// The name for messages about certificates.
    package var name: String { subject?.text ?? "the peer" }

    /// The peer for messages about a connection, as the first word of a sentence.
    package var hostAndPort: String {
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
        // A zone is valid only on this machine, and no certificate contains one.
        case .v6(let address): return .address(IPv6Address(rawValue: address.rawValue).description)
        }
    }
}
