/// Kerberos as a SPNEGO mechanism, through GSSAPI. It does not access the system before the first step.
final class KerberosMechanism: SecurityMechanism {
    /// The parameters of a login.
    struct Parameters: Sendable {
        var host: String
        var options: NegotiateOptions
        var channelBinding: [UInt8]?
        /// The user name and password, for an identity that needs them.
        var credential: Credential?
    }

    let identifier = MechanismIdentifier.kerberos
    private let parameters: Parameters
    private var context: GSSContext?

    init(_ parameters: Parameters) {
        self.parameters = parameters
    }

    var isComplete: Bool { context?.isEstablished ?? false }

    var isServerProven: Bool { isComplete && context?.granted.contains(.mutual) == true }

    var alwaysSigns: Bool { false }

    func step(_ token: [UInt8]?) throws(HTTPAuthError) -> [UInt8]? {
        guard let token else {
            let context = GSSContext(
                target: try target(), credential: try credential(), request: request,
                channelBinding: parameters.channelBinding)
            self.context = context
            return try context.step(nil)
        }
        guard let context else { throw .negotiate(.outOfOrder) }
        let answer = try context.step(token)
        return answer.isEmpty ? nil : answer
    }

    func signature(of list: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        guard let context else { throw .negotiate(.outOfOrder) }
        return try context.signature(of: list)
    }

    func check(_ signature: [UInt8], of list: [UInt8]) throws(HTTPAuthError) {
        guard let context else { throw .negotiate(.outOfOrder) }
        try context.check(signature, of: list)
    }

    /// The context properties to request.
    var request: GSSContext.Request {
        var request: GSSContext.Request = [.integrity]
        if parameters.options.mutualAuthentication != .off { request.insert(.mutual) }
        switch parameters.options.delegation {
        case .never: break
        case .ifTrusted: request.insert(.delegationIfTrusted)
        case .toHosts(let hosts):
            let host = ProtectionSpace.normalized(host: parameters.host)
            if hosts.contains(where: { ProtectionSpace.normalized(host: $0) == host }) { request.insert(.delegation) }
        }
        return request
    }

    private func target() throws(HTTPAuthError) -> GSSName {
        if let service = parameters.options.serviceName { return try GSSName(principal: service) }
        // A host name contains no separator of principal components, but the host of a URL can contain anything.
        guard parameters.host.utf8.allSatisfy({ AuthGrammar.isAlphanumeric($0) || "-._:".utf8.contains($0) }) else {
            throw .negotiate(.serviceUnknown, "invalid host name \(parameters.host)")
        }
        if parameters.options.canonicalizesHostName { return try GSSName(hostBased: "HTTP@\(parameters.host)") }
        return try GSSName(principal: "HTTP/\(parameters.host)@\(try KerberosRealm.of(host: parameters.host))")
    }

    private func credential() throws(HTTPAuthError) -> GSSCredential {
        let principal = parameters.options.identity.principal
        switch parameters.options.identity.source {
        case .system:
            return try GSSCredential(principal: principal, store: [])
        case .cache(let name):
            return try GSSCredential(principal: principal, store: [("ccache", name)])
        case .keytab(let path):
            // The tickets need a cache. Its name is reused, so there is at most one cache for each identity.
            let cache = "MEMORY:netkit \(path) \(principal ?? "")"
            return try GSSCredential(principal: principal, store: [("client_keytab", path), ("ccache", cache)])
        case .password:
            guard let credential = parameters.credential else { throw .negotiate(.missingUserName) }
            guard let password = credential.password else { throw .negotiate(.missingPassword) }
            let domain = credential.accountDomain.map { $0.isEmpty ? "" : "@\($0)" } ?? ""
            return try GSSCredential(principal: principal ?? credential.user + domain, password: password)
        }
    }
}
