internal import EventLoops

/// Remembers the forms of logins that servers and proxies offered and received, so that no later login is weaker
/// unnoticed.
///
/// A credential is not used in a form that is weaker (``AuthenticationForm/isWeaker(than:)``) than
/// - a form that the same protection space has offered, or
/// - a form in which the same login was used at the same server or proxy, in any realm,
///
/// unless the user agreed to this form for this protection space, or ``AuthenticationPolicy/mayWeakenLogins`` contains
/// the scheme.
///
/// ``HTTPAuthentication`` enforces this rule whenever it puts a credential on a request. By default each object has its
/// own memory. A client that creates several objects for one server gives them the same memory:
///
/// ```swift
/// let memory = AuthenticationMemory()
/// let authentication = HTTPAuthentication(response: response, memory: memory)
/// ```
///
/// The memory is bounded. It holds passwords until ``forget()`` is called. It is safe to use from any thread.
public final class AuthenticationMemory: Sendable {
    /// The maximum number of servers and proxies in the memory: 256.
    ///
    /// Beyond it, servers that have only made offers are dropped first, the least recently used one first. Servers that
    /// only send challenges can therefore not displace the record of a login.
    static let maximumPeers = 256

    /// The maximum number of realms, logins and approvals that are kept apart for one server: 32 of each.
    ///
    /// Beyond it, the strongest recorded form counts for all realms and logins, and the user is asked again for
    /// approvals. A server that invents realms makes the rule stricter, never weaker.
    static let maximumEntries = 32

    private let records = Locked(AuthenticationRecords())

    /// Creates an empty memory.
    public init() {}

    /// Removes everything, including the user's approvals.
    public func forget() {
        records.withLock { $0 = AuthenticationRecords() }
    }

    /// See ``AuthenticationRecords/floor(in:for:sent:)``.
    func floor(
        in space: ProtectionSpace, for login: LoginIdentity?, sent: AuthenticationForm? = nil
    ) -> AuthenticationForm? {
        records.withLock { $0.floor(in: space, for: login, sent: sent) }
    }

    /// See ``AuthenticationRecords/recordOffer(_:in:)``.
    func recordOffer(_ form: AuthenticationForm, in space: ProtectionSpace) {
        records.withLock { $0.recordOffer(form, in: space) }
    }

    /// See ``AuthenticationRecords/recordUse(_:in:by:)``.
    func recordUse(_ form: AuthenticationForm, in space: ProtectionSpace, by login: LoginIdentity?) {
        records.withLock { $0.recordUse(form, in: space, by: login) }
    }

    /// See ``AuthenticationRecords/recordApproval(_:in:for:)``.
    func recordApproval(_ form: AuthenticationForm, in space: ProtectionSpace, for login: LoginIdentity) {
        records.withLock { $0.recordApproval(form, in: space, for: login) }
    }
}

/// A user and a proof of identity, independent of the realm: the login that must not be sent in a weaker form than
/// before.
struct LoginIdentity: Hashable, Sendable {
    /// The user name, with the domain if there is one. Some schemes split `DOMAIN\user`, others do not.
    let user: String
    let proof: Credential.Proof

    init(_ credential: Credential) {
        let domain = credential.accountDomain.flatMap { $0.isEmpty ? nil : $0 }
        user = domain.map { "\($0)\\\(credential.user)" } ?? credential.user
        proof = credential.proof
    }
}

/// The rule of ``AuthenticationMemory`` and its records, as a value without I/O.
struct AuthenticationRecords {
    private struct Decision: Hashable {
        let realm: String?
        let login: LoginIdentity
    }

    private struct PeerRecord {
        /// The strongest form offered in each realm. An offer without a realm (nil) counts for all realms.
        var offered: [String?: AuthenticationForm] = [:]
        /// The strongest form in which each login was used, in any realm.
        var used: [LoginIdentity: AuthenticationForm] = [:]
        /// The form that the user approved, or a stronger one used since.
        var approved: [Decision: AuthenticationForm] = [:]
        /// The strongest form dropped from `offered` and `used` when they became too large; it counts for all realms
        /// and logins.
        var rest: AuthenticationForm?
        /// Whether a login was used or approved here.
        var hasLogin = false
        var lastUse = 0

        /// Returns whether this record is dropped before another one.
        func isLessNeeded(than other: PeerRecord) -> Bool {
            hasLogin == other.hasLogin ? lastUse < other.lastUse : !hasLogin
        }
    }

    private var peers: [ProtectionSpace: PeerRecord] = [:]
    private var uses = 0

    /// The number of servers and proxies in the records.
    var peerCount: Int { peers.count }

    /// Returns the form below which a login must not be used in a space; nil if every form is allowed. Without a login,
    /// the form that the space itself has offered. A form that the user approved takes precedence.
    ///
    /// - Parameter sent: The strongest form that the conversation has sent, or nil. It counts even if the server's
    ///   record was dropped in the meantime.
    func floor(
        in space: ProtectionSpace, for login: LoginIdentity?, sent: AuthenticationForm? = nil
    ) -> AuthenticationForm? {
        guard let record = peers[space.with(realm: nil)] else { return sent }
        if let login, let approved = record.approved[Decision(realm: space.realm, login: login)] { return approved }
        var floor = sent?.joined(with: record.rest) ?? record.rest
        for (realm, form) in record.offered where realm == nil || space.realm == nil || realm == space.realm {
            floor = form.joined(with: floor)
        }
        if let login, let used = record.used[login] { floor = used.joined(with: floor) }
        return floor
    }

    /// Records that the space offered a form that this client supports.
    mutating func recordOffer(_ form: AuthenticationForm, in space: ProtectionSpace) {
        change(space) { record in
            record.offered[space.realm] = form.joined(with: record.offered[space.realm])
        }
    }

    /// Records that credentials of this form were created; `login` is nil for credentials from the system, such as a
    /// ticket.
    mutating func recordUse(_ form: AuthenticationForm, in space: ProtectionSpace, by login: LoginIdentity?) {
        change(space) { record in
            record.offered[space.realm] = form.joined(with: record.offered[space.realm])
            record.hasLogin = true
            guard let login else { return }
            record.used[login] = form.joined(with: record.used[login])
            let decision = Decision(realm: space.realm, login: login)
            if let approved = record.approved[decision] { record.approved[decision] = form.joined(with: approved) }
        }
    }

    /// Records that the user agreed to this form for a login.
    mutating func recordApproval(_ form: AuthenticationForm, in space: ProtectionSpace, for login: LoginIdentity) {
        change(space) { record in
            let decision = Decision(realm: space.realm, login: login)
            if record.approved[decision] == nil, record.approved.count >= AuthenticationMemory.maximumEntries {
                record.approved = [:]
            }
            record.approved[decision] = form
            record.hasLogin = true
        }
    }

    private mutating func change(_ space: ProtectionSpace, _ body: (inout PeerRecord) -> Void) {
        let key = space.with(realm: nil)
        if peers[key] == nil, peers.count >= AuthenticationMemory.maximumPeers,
            let leastNeeded = peers.min(by: { $0.value.isLessNeeded(than: $1.value) })?.key
        {
            peers[leastNeeded] = nil
        }
        uses += 1
        var record = peers[key] ?? PeerRecord()
        record.lastUse = uses
        body(&record)
        if record.offered.count > AuthenticationMemory.maximumEntries
            || record.used.count > AuthenticationMemory.maximumEntries
        {
            record.rest = (Array(record.offered.values) + record.used.values).reduce(record.rest) {
                $1.joined(with: $0)
            }
            (record.offered, record.used) = ([:], [:])
        }
        peers[key] = record
    }
}

/// The strength of a login: how well it protects the password and the message.
///
/// A server chooses which schemes it offers, and so does an attacker in its place. A credential that was sent in one
/// form must therefore not be sent in a weaker form only because the offer changed. ``AuthenticationMemory`` compares
/// the forms.
/// ```swift
/// AuthenticationForm(.basic).isWeaker(than: AuthenticationForm(.digestMD5, coverage: .request))    // true
/// ```
public struct AuthenticationForm: Hashable, Sendable {
    /// The protection of the password, from the weakest to the strongest.
    public enum Strength: Int, Hashable, Sendable, Comparable, CaseIterable {
        /// Basic without TLS: anyone on the network path can read the password.
        case basic
        /// Basic over TLS: only the server receives the password.
        case encryptedBasic
        /// Digest with MD5.
        case digestMD5
        /// NTLM without TLS: the login is not bound to the connection.
        case ntlm
        /// Digest with SHA-256 or SHA-512/256.
        case digestSHA
        /// Negotiate, or NTLM bound to a TLS connection.
        case negotiate

        /// Returns whether `a` is weaker than `b`.
        public static func < (a: Strength, b: Strength) -> Bool { a.rawValue < b.rawValue }
    }

    /// The part of a message that a Digest login protects: its `qop` (RFC 7616 §3.3).
    public enum Coverage: Int, Hashable, Sendable, Comparable, CaseIterable {
        /// No `qop`, as in RFC 2069.
        case nothing
        /// `auth`: the request's method and target.
        case request
        /// `auth-int`: the method, the target and the body.
        case body

        /// Returns whether `a` covers less than `b`.
        public static func < (a: Coverage, b: Coverage) -> Bool { a.rawValue < b.rawValue }
    }

    /// The protection of the password.
    public var strength: Strength

    /// The protected part of the message; nil for schemes other than Digest.
    public var coverage: Coverage?

    /// Creates a form.
    public init(_ strength: Strength, coverage: Coverage? = nil) {
        self.strength = strength
        self.coverage = coverage
    }

    /// Returns whether this form protects less than another: the password or, if both are Digest, the message.
    public func isWeaker(than other: AuthenticationForm) -> Bool {
        if strength < other.strength { return true }
        guard let coverage, let otherCoverage = other.coverage else { return false }
        return coverage < otherCoverage
    }

    /// Returns the weakest form that is not weaker than either of the two.
    func joined(with other: AuthenticationForm?) -> AuthenticationForm {
        guard let other else { return self }
        let coverage = [coverage, other.coverage].compactMap { $0 }.max()
        return AuthenticationForm(max(strength, other.strength), coverage: coverage)
    }
}

extension AuthenticationForm: CustomStringConvertible {
    /// A short phrase, such as `Digest with SHA-2, qop=auth-int`.
    public var description: String {
        let name =
            switch strength {
            case .basic: "Basic without encryption"
            case .encryptedBasic: "Basic over TLS"
            case .digestMD5: "Digest with MD5"
            case .ntlm: "NTLM without TLS"
            case .digestSHA: "Digest with SHA-2"
            case .negotiate: "Negotiate, or NTLM over TLS"
            }
        return switch coverage {
        case nil: name
        case .nothing?: "\(name), without qop"
        case .request?: "\(name), qop=auth"
        case .body?: "\(name), qop=auth-int"
        }
    }
}
