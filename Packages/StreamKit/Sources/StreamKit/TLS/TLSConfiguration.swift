/// Everything a TLS connection is made with: who one is, whom one trusts, what one offers.
///
/// ```swift
/// var configuration = TLSConfiguration()                       // a client that verifies: nothing more is needed
/// configuration.applicationProtocols = ["http/1.1"]
/// try stream.set(.tls, to: configuration)
///
/// let server = TLSConfiguration(server: try TLSIdentity(file: "server.pem"))
/// ```
///
/// A value: equal configurations share one trust store and the sessions to resume, different ones share neither. Replaces the
/// dictionary of `kCFStreamPropertySSLSettings`, and `kCFStreamPropertySSLContext`.
public struct TLSConfiguration: Sendable, Hashable {
    /// Which side of the handshake one takes.
    public enum Role: Sendable, Hashable {
        /// Begins the handshake.
        case client
        /// Answers it; needs an ``TLSConfiguration/identity``.
        case server
    }

    /// Whether a server wants to see the client's certificate.
    public enum ClientAuthentication: Sendable, Hashable {
        /// It does not ask.
        case off
        /// It asks, and verifies what it gets; a client may have none.
        case requested
        /// It asks, and a client without one is refused.
        case required
    }

    /// The name a client tells the server before any certificate is shown (RFC 6066 §3). An IP address is never sent.
    public enum ServerNameIndication: Sendable, Hashable {
        /// The name that the certificate is checked for.
        case peerName
        /// Another one.
        case name(String)
        /// None.
        case off
    }

    /// Which side one takes. Replaces `kCFStreamSSLIsServer`.
    public var role: Role

    /// The oldest version to accept. Default 1.2. Replaces `kCFStreamSSLLevel`.
    public var minimumVersion = TLSVersion.tls12

    /// The newest version to offer. Default 1.3.
    public var maximumVersion = TLSVersion.tls13

    // MARK: Trust

    /// The roots that count. Default: those of the system.
    public var trust = TLSTrust.system

    /// How much is checked. Default: everything.
    public var verification = TLSVerification.full

    /// The moment at which certificates must be valid, in seconds since 1970-01-01 00:00 UTC. Nil (default): now.
    ///
    /// For who knows the time better than this machine's clock does, as a device that has none, and for tests.
    public var verificationTime: Int64?

    /// Accept a certificate whose dates are over, except a root's. Replaces `kCFStreamSSLAllowsExpiredCertificates`.
    public var insecureAllowsExpiredCertificates = false

    /// Accept a root whose dates are over. Replaces `kCFStreamSSLAllowsExpiredRoots`.
    public var insecureAllowsExpiredRoots = false

    /// Accept a chain that ends at a root nobody knows, or nowhere. Replaces `kCFStreamSSLAllowsAnyRoot`.
    public var insecureAllowsAnyRoot = false

    /// Public keys one of which must be in the verified chain; with ``TLSVerification/insecureNone``, must be the peer's own.
    /// Empty (default) for any.
    public var pins: Set<TLSPin> = []

    /// Whether a client asks for the server's proof that its certificate was not revoked. Default: it does not.
    ///
    /// See also ``TLSTrust/revocationLists``.
    public var ocspStapling = OCSPStapling.off

    /// A rule of your own, asked last.
    public var verifier: TLSVerifier?

    // MARK: Names

    /// The name or address that the certificate must be for. Nil (default): what the stream was made with.
    ///
    /// Names are compared as RFC 9525 says: with the certificate's DNS names, `*` only as the whole first label, never with
    /// its subject; an address only with its IP addresses. A client that knows no name refuses to open, unless
    /// ``verification`` says that no name is checked. Replaces `kCFStreamSSLPeerName`.
    public var peerName: String?

    /// The name told to the server. Default: the one that is checked.
    public var serverNameIndication = ServerNameIndication.peerName

    // MARK: Own side

    /// One's own certificates and private key. Replaces `kCFStreamSSLCertificates`.
    public var identity: TLSIdentity?

    /// What a server sends to a client that asks whether its certificate was revoked: its authority's OCSP answer in DER, as
    /// `openssl ocsp -respout` writes it. Nil (default): nothing. It is for the server to get a new one in time.
    public var ocspResponse: [UInt8]?

    /// Whether a server asks clients for a certificate; they are verified by ``trust``, without a name. Default off.
    public var clientAuthentication = ClientAuthentication.off

    /// Protocols for ALPN (RFC 7301), best first: `h2`, `http/1.1`. Empty (default): none is negotiated.
    public var applicationProtocols: [String] = []

    /// Cipher suites of TLS 1.2, as `openssl ciphers` takes them. Nil (default): those of the system's policy.
    public var cipherList: String?

    /// Cipher suites of TLS 1.3, separated by colons. Nil (default): those of the system's policy.
    public var cipherSuites: String?

    // MARK: Sessions and ends

    /// Resume earlier sessions with the same peer: a handshake for less than half the price. Default true.
    public var resumesSessions = true

    /// Streams with the same group share sessions whatever their ports are, as FTP's data connections must with their
    /// control connection. Nil (default): sessions belong to a name and a port.
    ///
    /// A ticket of TLS 1.3 is otherwise used once, lest connections be linked (RFC 8446 §C.4); those of a group are linked
    /// anyway, and their last ticket serves until a newer one comes.
    public var sessionGroup: String?

    /// Take the end of the connection for the end of the data, though the peer did not say so (RFC 8446 §6.1).
    ///
    /// Then whoever is on the way can cut the data short unnoticed: only for protocols that tell the length themselves.
    /// Default false: such an end is an error, ``TLSFailure/closedWithoutNotify``.
    public var allowsTruncation = false

    /// Take no byte from the connection that is not TLS's own, so that it can go on in plain when TLS has ended: see
    /// ``StreamPair/init(afterTLSOf:)``.
    ///
    /// Costs a second system call for each record. Default false: what follows a record is read together with it.
    public var returnsToPlain = false

    /// Where secrets are written for debugging. Default nil: nowhere.
    public var keyLog: TLSKeyLog?

    /// A client that verifies the server against the system's roots.
    public init() {
        role = .client
    }

    /// A server that shows this identity.
    public init(server identity: TLSIdentity) {
        role = .server
        self.identity = identity
    }
}
