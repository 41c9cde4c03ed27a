/// Whose numbers a ``StreamError/code`` is one of. Replaces `CFStreamErrorDomain`; the numbers are the same.
public struct StreamErrorDomain: RawRepresentable, Sendable, Hashable {
    /// CFNetwork's number for the domain.
    public let rawValue: Int

    /// Any domain, also one that has no name here.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Numbers of your own.
    public static let custom = StreamErrorDomain(rawValue: -1)
    /// `errno` values.
    public static let posix = StreamErrorDomain(rawValue: 1)
    /// `OSStatus` values; never produced here.
    public static let macOSStatus = StreamErrorDomain(rawValue: 2)
    /// SecureTransport's numbers, -9800 and below; see ``TLSFailure``.
    public static let ssl = StreamErrorDomain(rawValue: 3)
    /// `kCFStreamErrorHTTP…` values. An HTTP status is never a stream error.
    public static let http = StreamErrorDomain(rawValue: 4)
    /// SOCKS: a sub-domain times 65536 plus a value.
    public static let socks = StreamErrorDomain(rawValue: 5)
    /// An FTP server's reply code.
    public static let ftp = StreamErrorDomain(rawValue: 6)
    /// `kCFNetServicesError…` values.
    public static let netServices = StreamErrorDomain(rawValue: 10)
    /// Mach errors; never produced here.
    public static let mach = StreamErrorDomain(rawValue: 11)
    /// `EAI_…` values of name lookups.
    public static let netDB = StreamErrorDomain(rawValue: 12)
    /// SystemConfiguration's errors; never produced here.
    public static let systemConfiguration = StreamErrorDomain(rawValue: 13)
}

extension StreamErrorDomain: CustomStringConvertible {
    /// The name that the domain has here, such as `posix`; else its number.
    public var description: String {
        switch self {
        case .custom: "custom"
        case .posix: "posix"
        case .macOSStatus: "macOSStatus"
        case .ssl: "ssl"
        case .http: "http"
        case .socks: "socks"
        case .ftp: "ftp"
        case .netServices: "netServices"
        case .mach: "mach"
        case .netDB: "netDB"
        case .systemConfiguration: "systemConfiguration"
        default: "\(rawValue)"
        }
    }
}
