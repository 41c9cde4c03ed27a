/// The domain that defines the codes of a ``StreamError``. The numbers are CFNetwork's. Replaces `CFStreamErrorDomain`.
public struct StreamErrorDomain: RawRepresentable, Sendable, Hashable {
    /// CFNetwork's number for the domain.
    public let rawValue: Int

    /// Makes a domain with any number, including one that has no name here.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Numbers that an application defines.
    public static let custom = StreamErrorDomain(rawValue: -1)
    /// `errno` values.
    public static let posix = StreamErrorDomain(rawValue: 1)
    /// `OSStatus` values; StreamKit produces none.
    public static let macOSStatus = StreamErrorDomain(rawValue: 2)
    /// SecureTransport's numbers, -9800 and below; see ``TLSFailure``.
    public static let ssl = StreamErrorDomain(rawValue: 3)
    /// `kCFStreamErrorHTTP…` values. An HTTP status code is never a stream error.
    public static let http = StreamErrorDomain(rawValue: 4)
    /// SOCKS errors: a subdomain times 65536 plus a value.
    public static let socks = StreamErrorDomain(rawValue: 5)
    /// Reply codes of an FTP server.
    public static let ftp = StreamErrorDomain(rawValue: 6)
    /// `kCFNetServicesError…` values.
    public static let netServices = StreamErrorDomain(rawValue: 10)
    /// Mach errors; StreamKit produces none.
    public static let mach = StreamErrorDomain(rawValue: 11)
    /// `EAI_…` values of name lookups.
    public static let netDB = StreamErrorDomain(rawValue: 12)
    /// Errors of SystemConfiguration; StreamKit produces none.
    public static let systemConfiguration = StreamErrorDomain(rawValue: 13)
}

extension StreamErrorDomain: CustomStringConvertible {
    /// The name of the constant, such as `posix`; otherwise the number.
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
