/// A key of ``StreamError/details``: facts about an error beyond its domain and code.
///
/// The raw values are CFNetwork's keys in the `userInfo` of a `CFError`.
public struct StreamErrorDetail: RawRepresentable, Hashable, Sendable {
    /// The name of the key.
    public let rawValue: String

    /// Makes a key with any name, including one of your own.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A number or a text, whichever CFNetwork uses for the key.
    public enum Value: Hashable, Sendable {
        /// A number.
        case number(Int)
        /// A text.
        case text(String)
    }

    /// A number: the `EAI_…` value of a failed lookup, as Darwin numbers it. Replaces `kCFGetAddrInfoFailureKey`.
    public static let addressInfoFailure = Self(rawValue: "kCFGetAddrInfoFailureKey")
    /// A text: the status in a SOCKS proxy's reply to the request or to the login. Replaces `kCFSOCKSStatusCodeKey`.
    public static let socksStatus = Self(rawValue: "kCFSOCKSStatusCodeKey")
    /// A text: the protocol version in a SOCKS proxy's reply. Replaces `kCFSOCKSVersionKey`.
    public static let socksVersion = Self(rawValue: "kCFSOCKSVersionKey")
    /// A text: the authentication method that a SOCKS proxy selected. Replaces `kCFSOCKSNegotiationMethodKey`.
    public static let socksMethod = Self(rawValue: "kCFSOCKSNegotiationMethodKey")
    /// A number: an error code of `dns_sd.h`. Replaces `kCFDNSServiceFailureKey`.
    public static let discoveryFailure = Self(rawValue: "kCFDNSServiceFailureKey")
    /// A text: the code of an FTP server's last reply. Replaces `kCFFTPStatusCodeKey`.
    public static let ftpStatus = Self(rawValue: "kCFFTPStatusCodeKey")
}

extension StreamError {
    /// Facts about the error beyond domain and code.
    ///
    /// ```swift
    /// error.details[.socksStatus]     // .text("91"): a SOCKS 4 proxy refused
    /// ```
    ///
    /// Replaces the keys of `CFNetworkErrors.h` in the `userInfo` of a `CFError`.
    public var details: [StreamErrorDetail: StreamErrorDetail.Value] {
        switch domain {
        case .netDB: [.addressInfoFailure: .number(code)]
        case .ftp: [.ftpStatus: .text(String(code))]
        case .socks:
            switch socksFailure?.subdomain {
            case .version: [.socksVersion: .text(String(code & 0xFFFF))]
            case .method: [.socksMethod: .text(String(code & 0xFFFF))]
            case .reply4, .reply5, .authentication: [.socksStatus: .text(String(code & 0xFFFF))]
            case .none?, nil: [:]
            }
        default: ownDetails
        }
    }
}
