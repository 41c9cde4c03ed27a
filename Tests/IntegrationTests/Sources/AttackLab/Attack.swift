/// One row of the attack lab: what a hostile peer does, to which kind of victim, and how the victim's operation may end.
public struct Attack: Sendable {
    /// What is attacked.
    enum Victim: Sendable {
        /// A client, whose operation runs again and again.
        case client(Operation)
        /// A server in the process that is measured; the peer connects to it.
        case server(isSecure: Bool)
        /// A browser of multicast DNS on a host of its own, one wire away from the peer.
        case browser
    }

    /// What a client does once: it ends by itself, or at ``AttackScene/limit``.
    typealias Operation = @Sendable (AttackScene) async throws -> Void

    /// Which program attacks.
    enum Program: Sendable {
        /// `hostile/hostile.py`.
        case script
        /// `hostile-tls`.
        case tls
        /// None: the attack lies in a file.
        case none
    }

    /// How each of the client's operations must end.
    enum Ending: Sendable {
        /// It must succeed in spite of the attack.
        case success
        /// It must throw: what the peer sends is no valid answer.
        case failure
        /// It may do either.
        case either
    }

    /// The name of the row, which the command line takes.
    public let name: String
    /// What the peer does.
    public let summary: String
    /// Where the attack is known from: an advisory, or the first program in which it was found.
    public let origin: String
    let program: Program
    /// What the hostile program calls the attack.
    let mode: String
    let victim: Victim
    let ending: Ending
    /// How much memory the operation fills with its result, in bytes: the default limit of the array that the victim asks for.
    let result: Int

    init(
        _ name: String, _ summary: String, origin: String = "", by program: Program = .script, mode: String? = nil,
        ending: Ending = .either, result: Int = 0, on victim: Victim
    ) {
        self.name = name
        self.summary = summary
        self.origin = origin
        self.program = program
        self.mode = mode ?? name
        self.ending = ending
        self.result = result
        self.victim = victim
    }

    /// All rows.
    public static let all = tls + http + logins + proxies + servers + ftp + names + discovery

    /// Whether the victim needs a host of its own, which only root can make.
    public var needsWire: Bool {
        if case .browser = victim { true } else { false }
    }

    /// Whether the peer or the server speaks TLS.
    var isSecure: Bool {
        if case .server(let isSecure) = victim { return isSecure }
        return program == .tls
    }

    /// The rows that a word of the command line names: one by its name, or a family by how its names begin.
    public static func named(_ word: String) -> [Attack] {
        let exact = all.filter { $0.name == word }
        return exact.isEmpty ? all.filter { $0.name.hasPrefix(word + "-") } : exact
    }
}

extension Attack: CustomStringConvertible {
    /// The name of the row: what tests call it.
    public var description: String { name }
}
