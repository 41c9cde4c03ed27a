/// The forms of logins that servers and proxies have offered and received, so that no later login is weaker unnoticed.
///
/// The rule: a credential is not used in a form that is weaker (``AuthenticationForm/isWeaker(than:)``) than
/// - a form that the same protection space has offered, or
/// - a form in which the same login was used at the same server or proxy, in whatever realm,
///
/// unless the user has agreed to that very form for that very space, or
/// ``AuthenticationPolicy/mayWeakenLogins`` names the scheme.
///
/// ``HTTPAuthentication`` checks the rule each time that it puts a credential on a request. An object that is made for one
/// answer has a memory of its own; a client that makes several objects for one server gives them one memory:
///
/// ```swift
/// let memory = AuthenticationMemory()
/// let authentication = HTTPAuthentication(response: response, memory: memory)
/// ```
///
/// What is kept is bounded; passwords are kept until ``forget()``. All members may be used from any thread.
public final class AuthenticationMemory: Sendable {
    /// The most servers and proxies of which anything is kept, 256. Those that have only offered something are forgotten first, and
    /// of equals the one not used for longest: servers that merely ask do not displace the record of a login.
    public static let placeLimit = 256

    /// The most realms, logins and decisions of one server that are kept apart, 32 of each. Beyond that, what the realms
    /// and logins were counts for all of them, and the decisions are asked for again: a server that makes up realms makes
    /// the rule stricter, never weaker.
    public static let entryLimit = 32

    private let records = Locked(AuthenticationRecords())

    /// Makes an empty memory.
    public init() {}

    /// Forgets everything, the user's decisions included.
    public func forget() {
        records.withLock { $0 = AuthenticationRecords() }
    }

    /// See ``AuthenticationRecords/floor(in:for:sent:)``.
    func floor(
        in space: ProtectionSpace, for login: LoginIdentity?, sent: AuthenticationForm? = nil
    ) -> AuthenticationForm? {
        records.withLock { $0.floor(in: space, for: login, sent: sent) }
    }

    /// See ``AuthenticationRecords/offered(_:in:)``.
    func offered(_ form: AuthenticationForm, in space: ProtectionSpace) {
        records.withLock { $0.offered(form, in: space) }
    }

    /// See ``AuthenticationRecords/used(_:in:by:)``.
    func used(_ form: AuthenticationForm, in space: ProtectionSpace, by login: LoginIdentity?) {
        records.withLock { $0.used(form, in: space, by: login) }
    }

    /// See ``AuthenticationRecords/approved(_:in:for:)``.
    func approved(_ form: AuthenticationForm, in space: ProtectionSpace, for login: LoginIdentity) {
        records.withLock { $0.approved(form, in: space, for: login) }
    }
}

/// A user and a proof, whatever the realm: what must not be sent in a weaker form than before.
struct LoginIdentity: Hashable, Sendable {
    /// The user name, with the domain if there is one: some schemes take `DOMAIN\user` apart, others do not.
    let user: String
    let proof: Credential.Proof

    init(_ credential: Credential) {
        let domain = credential.accountDomain.flatMap { $0.isEmpty ? nil : $0 }
        user = domain.map { "\($0)\\\(credential.user)" } ?? credential.user
        proof = credential.proof
    }
}

/// The rule of ``AuthenticationMemory`` and what it remembers, as a value without I/O.
struct AuthenticationRecords {
    private struct Decision: Hashable {
        let realm: String?
        let login: LoginIdentity
    }

    private struct Place {
        /// The strongest form offered in each realm; that of nil was offered without one, and counts for all realms.
        var offered: [String?: AuthenticationForm] = [:]
        /// The strongest form in which each login was used, in any realm.
        var used: [LoginIdentity: AuthenticationForm] = [:]
        /// The form that the user agreed to, or a stronger one used since.
        var approved: [Decision: AuthenticationForm] = [:]
        /// What `offered` and `used` held before there were too many entries: counts for all realms and logins.
        var rest: AuthenticationForm?
        /// Whether a login was used or agreed to here.
        var hasLogin = false
        var lastUse = 0

        /// Whether this is forgotten before another one.
        func isLessNeeded(than other: Place) -> Bool {
            hasLogin == other.hasLogin ? lastUse < other.lastUse : !hasLogin
        }
    }

    private var places: [ProtectionSpace: Place] = [:]
    private var uses = 0

    /// The number of servers and proxies of which something is kept.
    var placeCount: Int { places.count }

    /// The form below which a login must not be used in a space; nil if any may be. Without a login, the form that the
    /// space itself has offered.
    ///
    /// - Parameter sent: The strongest form that the conversation itself has sent, which counts even if the records of the place
    ///   were forgotten meanwhile; nil for none. What the user agreed to comes first.
    func floor(
        in space: ProtectionSpace, for login: LoginIdentity?, sent: AuthenticationForm? = nil
    ) -> AuthenticationForm? {
        guard let place = places[space.with(realm: nil)] else { return sent }
        if let login, let approved = place.approved[Decision(realm: space.realm, login: login)] { return approved }
        var floor = sent?.joined(with: place.rest) ?? place.rest
        for (realm, form) in place.offered where realm == nil || space.realm == nil || realm == space.realm {
            floor = form.joined(with: floor)
        }
        if let login, let used = place.used[login] { floor = used.joined(with: floor) }
        return floor
    }

    /// The space has offered a form that this client can use.
    mutating func offered(_ form: AuthenticationForm, in space: ProtectionSpace) {
        change(space) { place in
            place.offered[space.realm] = form.joined(with: place.offered[space.realm])
        }
    }

    /// A field of this form was made; without a login by what the system knows of the user.
    mutating func used(_ form: AuthenticationForm, in space: ProtectionSpace, by login: LoginIdentity?) {
        change(space) { place in
            place.offered[space.realm] = form.joined(with: place.offered[space.realm])
            place.hasLogin = true
            guard let login else { return }
            place.used[login] = form.joined(with: place.used[login])
            let decision = Decision(realm: space.realm, login: login)
            if let approved = place.approved[decision] { place.approved[decision] = form.joined(with: approved) }
        }
    }

    /// The user has agreed to a form for a login, knowing which.
    mutating func approved(_ form: AuthenticationForm, in space: ProtectionSpace, for login: LoginIdentity) {
        change(space) { place in
            let decision = Decision(realm: space.realm, login: login)
            if place.approved[decision] == nil, place.approved.count >= AuthenticationMemory.entryLimit {
                place.approved = [:]
            }
            place.approved[decision] = form
            place.hasLogin = true
        }
    }

    private mutating func change(_ space: ProtectionSpace, _ body: (inout Place) -> Void) {
        let key = space.with(realm: nil)
        if places[key] == nil, places.count >= AuthenticationMemory.placeLimit,
            let leastNeeded = places.min(by: { $0.value.isLessNeeded(than: $1.value) })?.key
        {
            places[leastNeeded] = nil
        }
        uses += 1
        var place = places[key] ?? Place()
        place.lastUse = uses
        body(&place)
        if place.offered.count > AuthenticationMemory.entryLimit || place.used.count > AuthenticationMemory.entryLimit {
            place.rest = (Array(place.offered.values) + place.used.values).reduce(place.rest) { $1.joined(with: $0) }
            (place.offered, place.used) = ([:], [:])
        }
        places[key] = place
    }
}
