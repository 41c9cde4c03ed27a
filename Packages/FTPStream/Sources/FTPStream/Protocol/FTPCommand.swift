/// A command on the control connection: one line. No argument can turn it into two commands.
///
/// ```swift
/// let reply = try await client.command(FTPCommand("SITE", argument: "CHMOD 640 notes.txt"))
/// ```
public struct FTPCommand: Sendable, Hashable, CustomStringConvertible {
    /// The longest command, in bytes without the line end. Servers truncate or refuse longer ones.
    package static let maximumLength = 4096

    /// The verb in upper case.
    public let verb: String

    /// The bytes to send, with CR LF.
    let bytes: [UInt8]

    /// Creates a command.
    ///
    /// - Parameters:
    ///   - verb: letters only.
    ///   - argument: the argument as bytes, usually a path.
    /// - Throws: ``FTPError/Code/badArgument`` if the verb is invalid, or the argument contains CR, LF or NUL, or is too long.
    ///   Nothing is repaired.
    public init(_ verb: String, bytes argument: [UInt8]) throws(FTPError) {
        guard (1...16).contains(verb.utf8.count),
            verb.utf8.allSatisfy({ (0x41...0x5A).contains($0 & 0xDF) && $0 < 0x80 })
        else { throw .badArgument("\"\(verb.prefix(32))\" is not a command.") }
        self.verb = verb.uppercased()
        guard !argument.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else {
            throw .badArgument("the argument of \(self.verb) contains a line end or NUL.")
        }
        var bytes = Array(self.verb.utf8)
        if !argument.isEmpty {
            bytes.append(0x20)
            // 0xFF is the Telnet escape on a control connection (RFC 959 §4.1.3, RFC 854) and must be doubled.
            for byte in argument { bytes.append(contentsOf: repeatElement(byte, count: byte == 0xFF ? 2 : 1)) }
        }
        guard bytes.count <= Self.maximumLength else {
            throw .badArgument("\(self.verb) with its argument has more than \(Self.maximumLength) bytes.")
        }
        self.bytes = bytes + [0x0D, 0x0A]
    }

    /// Creates a command with text, which is sent as UTF-8.
    ///
    /// - Throws: As ``init(_:bytes:)``.
    public init(_ verb: String, argument: String = "") throws(FTPError) {
        try self.init(verb, bytes: Array(argument.utf8))
    }

    /// Whether this command leaves the session unchanged: the user, directory, type, protection and offset, and the dialogue in
    /// step.
    ///
    /// False for unknown commands.
    var keepsSession: Bool {
        guard verb == "SITE" else { return Self.harmless.contains(verb) }
        let words = bytes.split(whereSeparator: { $0 == 0x20 || $0 == 0x0D })
        return words.count > 1 && ["CHMOD", "HELP"].contains(String(decoding: words[1], as: UTF8.self).uppercased())
    }

    /// Queries, and changes of files that do not affect the session. RNFR is not one of them: RNTO must follow it.
    private static let harmless: Set<String> = [
        "NOOP", "HELP", "STAT", "SYST", "FEAT", "PWD", "XPWD", "SIZE", "MDTM", "MLST", "MKD", "XMKD", "RMD", "XRMD",
        "DELE",
        "MFMT",
    ]

    /// The line, without a password or account.
    public var description: String {
        let isSecret = verb == "PASS" || verb == "ACCT"
        return isSecret ? "\(verb) …" : ListingEntry(nameBytes: Array(bytes.dropLast(2))).name
    }
}
