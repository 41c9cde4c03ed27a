internal import CGSSAPI

/// A mechanism of one SPNEGO negotiation: Kerberos through GSSAPI, this package's NTLM, or a script in tests.
///
/// The first step of Kerberos waits for the network, so all steps run on a thread that may block.
protocol SecurityMechanism: AnyObject {
    var identifier: MechanismIdentifier { get }

    /// Whether this side needs no further token.
    var isComplete: Bool { get }

    /// Whether the server has proven to this side that it knows its secret.
    var isServerProven: Bool { get }

    /// Whether the mechanism list is signed even if SPNEGO does not require it. NTLM's integrity code does.
    var alwaysSigns: Bool { get }

    /// Processes the server's token (nil for the first step) and returns the next one; nil if there is none.
    func step(_ token: [UInt8]?) throws(HTTPAuthError) -> [UInt8]?

    /// Signs the mechanism list.
    func signature(of list: [UInt8]) throws(HTTPAuthError) -> [UInt8]

    /// Throws if `signature` is not the server's signature of the list.
    func check(_ signature: [UInt8], of list: [UInt8]) throws(HTTPAuthError)
}

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

/// The realm that `krb5.conf` assigns to a host.
private enum KerberosRealm {
    /// Returns the realm of `host` in `domain_realm`. The result is empty if there is none; the user's realm then
    /// refers to the right one (RFC 6806). DNS is queried only if `krb5.conf` sets `dns_lookup_realm`.
    static func of(host: String) throws(HTTPAuthError) -> String {
        guard let realm = GSSLibrary.use({ find(host, $0) }) ?? nil else {
            throw .negotiate(.unavailable, "krb5.conf cannot be read")
        }
        return realm
    }

    private static func find(_ host: String, _ library: GSSLibrary) -> String? {
        var context: netkit_krb5_context?
        guard library.createKerberos(&context) == 0, let context else { return nil }
        defer { library.freeKerberos(context) }
        var realms: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        guard library.getHostRealm(context, host, &realms) == 0, let realms else { return "" }
        defer { _ = library.freeHostRealm(context, realms) }
        return realms[0].map { String(cString: $0) } ?? ""
    }
}

/// NTLM as a SPNEGO mechanism: the three messages, and signatures of the mechanism list.
final class NTLMMechanism: SecurityMechanism {
    let identifier = MechanismIdentifier.ntlm
    private(set) var isComplete = false
    private(set) var isServerProven = false
    private var machine: NTLMMachine
    private let time: UInt64
    private var random: [UInt8]

    init(_ machine: NTLMMachine, time: UInt64, random: [UInt8]) {
        self.machine = machine
        self.time = time
        self.random = random
    }

    deinit {
        random.wipe()
    }

    var alwaysSigns: Bool { machine.session != nil }

    func step(_ token: [UInt8]?) throws(HTTPAuthError) -> [UInt8]? {
        guard let token else { return machine.start() }
        let answer = try machine.answer(token, time: time, random: random)
        isComplete = true
        return answer
    }

    func signature(of list: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        guard let session = machine.session else { throw .ntlmUnsupported("the server does not support signing") }
        return try session.signature(of: list, by: .client)
    }

    func check(_ signature: [UInt8], of list: [UInt8]) throws(HTTPAuthError) {
        guard let session = machine.session, try session.signature(of: list, by: .server) == signature else {
            throw .negotiate(.serverNotAuthentic, "wrong signature of the mechanism list")
        }
        isServerProven = true
    }
}
