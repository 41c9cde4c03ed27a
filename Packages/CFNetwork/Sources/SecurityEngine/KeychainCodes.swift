/// The codes of protocols and authentication types, each with the name under which programs of the desktop save it.
///
/// The values of the constants kSecAttrProtocol… and kSecAttrAuthenticationType… are the codes as texts.
struct KeychainCodes: Sendable {
    private let names: [String: String]
    private let codes: [String: String]

    private init(_ rows: [(code: String, name: String)]) {
        names = Dictionary(uniqueKeysWithValues: rows.map { ($0.code, $0.name) })
        codes = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0.code) })
    }

    /// The name of a code; nil if the code is 0, which means any.
    ///
    /// - Throws: `parameter` for an unknown code.
    func name(of code: UInt32) throws(Status) -> String? {
        if code == 0 { return nil }
        return try name(
            of: String(decoding: (0..<4).map { UInt8(truncatingIfNeeded: code >> (24 - 8 * $0)) }, as: UTF8.self))
    }

    /// The name of a code as text.
    ///
    /// - Throws: `parameter` for an unknown code.
    func name(of code: String) throws(Status) -> String {
        guard let name = names[code] else { throw .parameter }
        return name
    }

    /// The code of a name as text; nil for a name of another program.
    func text(of name: String) -> String? { codes[name] }

    /// The code of a name; 0 for a name of another program.
    func code(of name: String?) -> UInt32 {
        name.flatMap { codes[$0] }.map { $0.utf8.reduce(0) { $0 << 8 | UInt32($1) } } ?? 0
    }

    static let protocols = KeychainCodes([
        ("ftp ", "ftp"),
        ("ftpa", "ftp-account"),
        ("http", "http"),
        ("irc ", "irc"),
        ("nntp", "nntp"),
        ("pop3", "pop3"),
        ("smtp", "smtp"),
        ("sox ", "socks"),
        ("imap", "imap"),
        ("ldap", "ldap"),
        ("afp ", "afp"),
        ("teln", "telnet"),
        ("ssh ", "ssh"),
        ("ftps", "ftps"),
        ("htps", "https"),
        ("htpx", "http-proxy"),
        ("htsx", "https-proxy"),
        ("ftpx", "ftp-proxy"),
        ("smb ", "smb"),
        ("rtsp", "rtsp"),
        ("rtsx", "rtsp-proxy"),
        ("daap", "daap"),
        ("ipp ", "ipp"),
        ("ntps", "nntps"),
        ("ldps", "ldaps"),
        ("tels", "telnets"),
        ("imps", "imaps"),
        ("ircs", "ircs"),
        ("pops", "pop3s"),
    ])

    static let authenticationTypes = KeychainCodes([
        ("ntlm", "ntlm"),
        ("http", "basic"),
        ("httd", "digest"),
        ("form", "form"),
        ("dflt", "default"),
        ("msna", "msn"),
        ("dpaa", "dpa"),
        ("rpaa", "rpa"),
    ])
}
