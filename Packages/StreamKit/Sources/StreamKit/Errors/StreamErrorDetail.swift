/// What a ``StreamError`` tells beyond its domain and code: the keys of ``StreamError/details``.
///
/// The raw values are those of CFNetwork's keys in a `CFError`'s `userInfo`.
public struct StreamErrorDetail: RawRepresentable, Hashable, Sendable {
    /// The key's name.
    public let rawValue: String

    /// Any key, also one of your own.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A number or a text, as CFNetwork has it for the key.
    public enum Value: Hashable, Sendable {
        /// A number.
        case number(Int)
        /// A text.
        case text(String)
    }

    /// A number: the `EAI_…` value of a lookup, Darwin's. Replaces `kCFGetAddrInfoFailureKey`.
    public static let addressInfoFailure = Self(rawValue: "kCFGetAddrInfoFailureKey")
    /// A text: what a SOCKS proxy answered to the request, or to user and password. Replaces `kCFSOCKSStatusCodeKey`.
    public static let socksStatus = Self(rawValue: "kCFSOCKSStatusCodeKey")
    /// A text: the version that a SOCKS proxy spoke. Replaces `kCFSOCKSVersionKey`.
    public static let socksVersion = Self(rawValue: "kCFSOCKSVersionKey")
    /// A text: the method that a SOCKS proxy chose. Replaces `kCFSOCKSNegotiationMethodKey`.
    public static let socksMethod = Self(rawValue: "kCFSOCKSNegotiationMethodKey")
    /// A number: an error of `dns_sd.h`. Replaces `kCFDNSServiceFailureKey`.
    public static let discoveryFailure = Self(rawValue: "kCFDNSServiceFailureKey")
    /// A text: the code of an FTP server's last reply. Replaces `kCFFTPStatusCodeKey`.
    public static let ftpStatus = Self(rawValue: "kCFFTPStatusCodeKey")
}

extension StreamError {
    /// What there is to tell beyond domain and code. Replaces the keys of `CFNetworkErrors.h` in a `CFError`'s `userInfo`.
    ///
    /// ```swift
    /// error.details[.socksStatus]     // .text("91"): a SOCKS 4 proxy refused
    /// ```
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
