internal import COpenSSL

/// The configuration of a TLS connection: identity, trust, names, versions and ciphers.
///
/// ```swift
/// var configuration = TLSConfiguration()                       // a client that verifies; nothing more is needed
/// configuration.applicationProtocols = ["http/1.1"]
/// try stream.set(.tls, to: configuration)
///
/// let server = TLSConfiguration(server: try TLSIdentity(file: "server.pem"))
/// ```
///
/// Equal configurations share one trust store and the sessions to resume; different ones share neither. Replaces the
/// dictionary of `kCFStreamPropertySSLSettings`, and `kCFStreamPropertySSLContext`.
public struct TLSConfiguration: Sendable, Hashable {
    /// The side of the handshake.
    public enum Role: Sendable, Hashable {
        /// Begins the handshake.
        case client
        /// Answers it; needs an ``TLSConfiguration/identity``.
        case server
    }

    /// Whether a server asks for the client's certificate.
    public enum ClientAuthentication: Sendable, Hashable {
        /// Does not ask.
        case off
        /// Asks, and verifies the certificate if the client has one.
        case requested
        /// Asks, and refuses a client without a certificate.
        case required
    }

    /// The name that a client sends to the server before any certificate is shown (RFC 6066 §3). An IP address is never
    /// sent.
    public enum ServerNameIndication: Sendable, Hashable {
        /// The name that the certificate is verified for.
        case peerName
        /// Another name.
        case name(String)
        /// No name.
        case off
    }

    /// The side of the handshake. Replaces `kCFStreamSSLIsServer`.
    public var role: Role

    /// The oldest version to accept. Default 1.2. Replaces `kCFStreamSSLLevel`.
    public var minimumVersion = TLSVersion.tls12

    /// The newest version to offer. Default 1.3.
    public var maximumVersion = TLSVersion.tls13

    // MARK: Trust

    /// The trusted roots. Default: those of the system.
    public var trust = TLSTrust.system

    /// How much of the peer's certificate is verified. Default: everything.
    public var verification = TLSVerification.full

    /// The time at which certificates must be valid, in seconds since 1970-01-01 00:00 UTC. Nil (default): now.
    ///
    /// For programs that know the time better than this machine's clock, such as on a device without one, and for
    /// tests.
    public var verificationTime: Int64?

    /// Whether to accept an expired certificate that is not a root. Default false. Replaces
    /// `kCFStreamSSLAllowsExpiredCertificates`.
    public var insecureAllowsExpiredCertificates = false

    /// Whether to accept an expired root. Default false. Replaces `kCFStreamSSLAllowsExpiredRoots`.
    public var insecureAllowsExpiredRoots = false

    /// Whether to accept a chain that ends at an unknown root, or at none. Default false. Replaces
    /// `kCFStreamSSLAllowsAnyRoot`.
    public var insecureAllowsAnyRoot = false

    /// Public keys of which the verified chain must contain one. With ``TLSVerification/insecureNone``, it must be the
    /// peer's own key. If empty (default), any key is accepted.
    public var pins: Set<TLSPin> = []

    /// Whether a client asks the server for proof that its certificate was not revoked. Default: it does not.
    ///
    /// See also ``TLSTrust/revocationLists``.
    public var ocspStapling = OCSPStapling.off

    /// A verification rule of your own, called last.
    public var verifier: TLSVerifier?

    // MARK: Names

    /// The name or address that the certificate must be for. Nil (default): the one that the stream was made with.
    ///
    /// Names are compared as in RFC 9525: with the certificate's DNS names, where `*` may only be the whole first
    /// label, and never with its subject. An address is compared only with its IP addresses. A client without a name
    /// refuses to open, unless ``verification`` turns the name check off. Replaces `kCFStreamSSLPeerName`.
    public var peerName: String?

    /// The name sent to the server. Default: the one that is verified.
    public var serverNameIndication = ServerNameIndication.peerName

    // MARK: Identity

    /// This side's certificates and private key. Replaces `kCFStreamSSLCertificates`.
    public var identity: TLSIdentity?

    /// The OCSP response that a server staples when a client asks whether its certificate was revoked: in DER, as
    /// `openssl ocsp -respout` writes it. Nil (default): none. The program has to renew it in time.
    public var ocspResponse: [UInt8]?

    /// Whether a server asks clients for a certificate. It is verified by ``trust``, without a name. Default off.
    public var clientAuthentication = ClientAuthentication.off

    /// Protocols for ALPN (RFC 7301) in order of preference: `h2`, `http/1.1`. If empty (default), none is negotiated.
    public var applicationProtocols: [String] = []

    /// Cipher suites for TLS 1.2 in the syntax of `openssl ciphers`. Nil (default): those of the system's policy.
    public var cipherList: String?

    /// Cipher suites for TLS 1.3, separated by colons. Nil (default): those of the system's policy.
    public var cipherSuites: String?

    // MARK: Sessions and closing

    /// Whether to resume earlier sessions with the same peer, which takes less than half of the time of a handshake.
    /// Default true.
    public var resumesSessions = true

    /// The group of streams to share sessions with, whatever their ports are: FTP's data connections must share those
    /// of their control connection. Nil (default): sessions belong to a name and a port.
    ///
    /// Outside of a group, a TLS 1.3 ticket is used once, so that connections cannot be linked (RFC 8446 §C.4). Those
    /// of a group are linked anyway, and use their last ticket until a newer one arrives.
    @_spi(Packages) public var sessionGroup: String?

    /// Whether to accept the end of the connection as the end of the data, even without close_notify (RFC 8446 §6.1).
    ///
    /// An attacker on the network can then truncate the data unnoticed. Use it only for protocols that transmit the
    /// length themselves. Default false: such an end is the error ``TLSFailure/closedWithoutNotify``.
    public var allowsTruncation = false

    /// Whether to read no bytes beyond TLS's own from the connection, so that it can continue without TLS afterwards:
    /// see ``StreamPair/init(afterTLSOf:)``.
    ///
    /// This costs a second system call for each record. Default false: the bytes after a record are read together with
    /// it.
    public var returnsToPlain = false

    /// Where to write secrets for debugging. Default nil: nowhere.
    public var keyLog: TLSKeyLog?

    /// Makes a client that verifies the server against the system's roots.
    public init() {
        role = .client
    }

    /// Makes a server with this identity.
    public init(server identity: TLSIdentity) {
        role = .server
        self.identity = identity
    }
}

/// How much of a peer's certificate is verified. Every value but ``full`` is insecure, and its name says so.
///
/// Replaces `kCFStreamSSLValidatesCertificateChain`.
public enum TLSVerification: Sendable, Hashable {
    /// The chain up to a trusted root, the dates, the purpose, and the name (RFC 9525). The default.
    case full

    /// Everything except the name: the owner of any certificate by a trusted root can impersonate the peer.
    case insecureNoNameCheck

    /// Nothing, except for the pins and the verifier, if any: an attacker on the network can read and change
    /// everything.
    case insecureNone
}

/// Whether a client asks for OCSP stapling: a response of the Online Certificate Status Protocol that the server sends
/// along, as proof that its certificate was not revoked (RFC 6066 §8, RFC 6960).
public enum OCSPStapling: Sendable, Hashable {
    /// Does not ask.
    case off
    /// Asks, and refuses a certificate that the response calls revoked, and a response that proves nothing. A server
    /// without a response is accepted, so an attacker with a stolen certificate simply sends none.
    case checked
    /// Asks, and refuses a server that sends no response.
    case required
}

/// A public key that a peer's chain must contain: the SHA-256 of its SubjectPublicKeyInfo (RFC 7469 §2.4).
///
/// ```swift
/// configuration.pins = [try TLSPin("sha256//YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg=")]
/// ```
///
/// The key stays the same when its certificate is renewed. Pin two keys, and keep one of them offline: if the only
/// pinned key is lost, no client can connect to the server any more.
public struct TLSPin: Sendable, Hashable, CustomStringConvertible {
    /// The 32 bytes of the hash.
    public let sha256: [UInt8]

    /// Pins the public key of a certificate.
    public init(_ certificate: Certificate) {
        sha256 = certificate.publicKeySHA256
    }

    /// Reads `sha256/` or, as in curl, `sha256//`, and then the hash in base64.
    ///
    /// - Throws: an error of domain ``StreamErrorDomain/ssl``, code ``TLSFailure/badConfiguration``.
    public init(_ text: String) throws(StreamError) {
        guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")), text[..<slash] == "sha256",
            let hash = TLSPin.bytes(base64: text[text.utf8.index(after: slash)...], double: text.hasPrefix("sha256//"))
        else { throw StreamError(.badConfiguration, .pinUnreadable(text)) }
        sha256 = hash
    }

    /// `sha256//` and the hash in base64.
    public var description: String {
        var text = [UInt8](repeating: 0, count: 45)
        EVP_EncodeBlock(&text, sha256, CInt(sha256.count))
        return "sha256//" + String(decoding: text.dropLast(), as: UTF8.self)
    }

    /// Decodes 44 letters, of which the last is `=`, to 32 bytes. The hash itself may begin with a slash, so the length
    /// decides.
    private static func bytes(base64 text: Substring, double: Bool) -> [UInt8]? {
        let letters = Array((double && text.utf8.count == 45 ? text.dropFirst() : text).utf8)
        guard letters.count == 44, letters.last == UInt8(ascii: "="), letters[42] != UInt8(ascii: "=") else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: 33)
        guard EVP_DecodeBlock(&bytes, letters, CInt(letters.count)) == 33 else { return nil }
        return Array(bytes.prefix(32))
    }
}

/// A rule of your own about a peer's certificates, in addition to all others.
///
/// ```swift
/// configuration.verifier = TLSVerifier { chain, name in
///     chain.first?.issuer.contains("O=Example") == true
/// }
/// ```
///
/// The rule is called in each full handshake, after the chain, the name and the pins have passed; with
/// ``TLSVerification/insecureNone``, after the pins. A resumed session is not checked again. The rule decides at once:
/// it runs within the handshake, which holds the stream's lock and perhaps a turn of the event loop, so it must neither
/// wait nor use the stream, not even to close it. Two verifiers are equal if one is a copy of the other. Make one and
/// keep it: connections with different verifiers share neither trust stores nor sessions.
public struct TLSVerifier: Sendable, Hashable {
    /// Receives the chain, the peer's own certificate first, and the requested name. Returns whether to accept the
    /// peer.
    public typealias Rule = @Sendable (_ chain: [Certificate], _ name: String?) -> Bool

    private let identity: IdentityBox<Rule>

    /// Makes a verifier from a rule.
    public init(_ rule: @escaping Rule) {
        identity = IdentityBox(rule)
    }

    package func accepts(_ chain: [Certificate], name: String?) -> Bool {
        identity.value(chain, name)
    }
}

/// A receiver of the secrets of connections, with which Wireshark and similar programs can decrypt captured traffic.
///
/// ```swift
/// configuration.keyLog = TLSKeyLog { line in lines.withLock { $0.append(line) } }
/// ```
///
/// Anyone with these lines can read the traffic, so no environment variable turns this on. Two key logs are equal if
/// one is a copy of the other: make one and keep it.
public struct TLSKeyLog: Sendable, Hashable {
    private let identity: IdentityBox<@Sendable (String) -> Void>

    /// Makes a log. `write` receives each line in the format of `SSLKEYLOGFILE`, without a line break. It runs within
    /// the handshake, which holds the stream's lock and perhaps a turn of the event loop: it must neither wait long nor
    /// use the stream.
    public init(_ write: @escaping @Sendable (_ line: String) -> Void) {
        identity = IdentityBox(write)
    }

    package func write(_ line: String) {
        identity.value(line)
    }
}

/// Makes a value that cannot be compared comparable by the identity of this object.
private final class IdentityBox<Value: Sendable>: Sendable, Hashable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }

    static func == (left: IdentityBox, right: IdentityBox) -> Bool { left === right }

    func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
