/// One row of the attack lab: an attack by a hostile peer, the kind of victim, and the allowed end of the victim's operation.
public struct Attack: Sendable {
    /// The attacked component.
    enum Victim: Sendable {
        /// A client, whose operation is repeated.
        case client(Operation)
        /// A server in the measured process; the peer connects to it.
        case server(isSecure: Bool)
        /// A multicast DNS browser on a separate host, linked with the peer.
        case browser
    }

    /// One operation of a client. It ends by itself, or at ``AttackScene/limit``.
    typealias Operation = @Sendable (AttackScene) async throws -> Void

    /// The attacking program.
    enum Program: Sendable {
        /// `hostile/hostile.py`.
        case script
        /// `hostile-tls`.
        case tls
        /// No program: the attack is in a file.
        case none
    }

    /// The required end of each of the client's operations.
    enum Ending: Sendable {
        /// Success, in spite of the attack.
        case success
        /// An error: the peer does not send a valid response.
        case failure
        /// Either of them.
        case either
    }

    /// The name of the row, also for the command line.
    public let name: String
    /// The behaviour of the peer.
    public let summary: String
    /// The origin of the attack: an advisory, or the first program in which it was found.
    public let origin: String
    let program: Program
    /// The name of the attack in the hostile program.
    let mode: String
    let victim: Victim
    let ending: Ending
    /// The memory for the result of the operation, in bytes: the default limit of the array that the victim requests.
    let result: Int
    /// The number of descriptors that the victim's process may have; nil for that of this process.
    let descriptors: Int?
    /// Whether each access of the victim to a file's contents takes 100 ms (`hostile/slow_disk.c`).
    let hasSlowDisk: Bool

    init(
        _ name: String, _ summary: String, origin: String = "", by program: Program = .script, mode: String? = nil,
        ending: Ending = .either, result: Int = 0, descriptors: Int? = nil, hasSlowDisk: Bool = false,
        on victim: Victim
    ) {
        self.name = name
        self.summary = summary
        self.origin = origin
        self.program = program
        self.mode = mode ?? name
        self.ending = ending
        self.result = result
        self.descriptors = descriptors
        self.hasSlowDisk = hasSlowDisk
        self.victim = victim
    }

    /// All rows.
    public static let all = tls + http + http2 + logins + proxies + servers + ftp + names + discovery

    /// Whether the victim needs a separate host, which only root can make.
    public var needsWire: Bool {
        if case .browser = victim { true } else { false }
    }

    /// Whether the peer or the server speaks TLS.
    var isSecure: Bool {
        if case .server(let isSecure) = victim { return isSecure }
        return program == .tls
    }

    /// The rows for a word of the command line: one row by its name, or a family by the prefix of its names.
    public static func named(_ word: String) -> [Attack] {
        let exact = all.filter { $0.name == word }
        return exact.isEmpty ? all.filter { $0.name.hasPrefix(word + "-") } : exact
    }
}

extension Attack: CustomStringConvertible {
    /// The name of the row, in test output.
    public var description: String { name }
}
