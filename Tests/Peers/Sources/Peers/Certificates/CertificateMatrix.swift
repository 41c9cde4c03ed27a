/// Certificates with exactly one fault each, and some that are unusual but valid, from an authority of their own.
///
/// ```swift
/// let matrix = try CertificateMatrix.shared()
/// let server = OpenSSLServer(.statusPage, identity: matrix.identity(.weakKey))
/// // a client that trusts matrix.root must refuse it
/// ```
///
/// ``ServerCertificate`` has the common faults; these are faults that only a careful verifier detects. All certificates are for
/// `localhost` unless their name says otherwise, valid for a year, and sent with every certificate up to the root. The files
/// exist as long as the matrix object.
public final class CertificateMatrix: Sendable {
    /// One certificate of the matrix; the raw value is its file name.
    public enum Entry: String, Hashable, Sendable, CaseIterable {
        /// Issued directly by the root; valid.
        case fromRoot = "from-root"
        /// Without extended key usage, which means any purpose; valid.
        case anyPurpose = "any-purpose"
        /// For clients only.
        case clientPurpose = "client-purpose"
        /// The host name is in the subject only; there are no alternative names.
        case commonNameOnly = "common-name-only"
        /// The host name is in the subject; the alternative names are of another host.
        case commonNameBesideOthers = "common-name-beside-others"
        /// The address 127.0.0.1 is in the subject and a DNS name, but is not an IP address name.
        case addressAsName = "address-as-name"
        /// For another address, 127.0.0.2.
        case otherAddress = "other-address"
        /// For `localhost`, followed by a NUL and `.evil.test`.
        case nulInName = "nul-in-name"
        /// For `*.peers.test`.
        case wildcard
        /// For `a*.peers.test`, `*b.peers.test`, `a*b.peers.test` and `x*.peers.test`.
        case partialWildcard = "partial-wildcard"
        /// For `*`, `*.*.test` and `www.*.test`.
        case wildWildcard = "wild-wildcard"
        /// With a 1024-bit RSA key.
        case weakKey = "weak-key"
        /// Signed with SHA-1.
        case weakDigest = "weak-digest"
        /// Its issuer has a 1024-bit RSA key.
        case weakIssuer = "weak-issuer"
        /// Issued by a certificate that is not a CA certificate.
        case issuedByServer = "issued-by-server"
        /// Its issuer may not sign certificates.
        case issuerMayNotSign = "issuer-may-not-sign"
        /// Its issuer is an X.509 version 1 certificate, which cannot be marked as a CA certificate.
        case issuedByVersion1 = "issued-by-version-1"
        /// Its issuer violates the path length limit of a CA above it.
        case pathTooLong = "path-too-long"
        /// Name constraints of its issuer exclude `localhost`.
        case excludedName = "excluded-name"
        /// Name constraints of its issuer permit only `peers.test`.
        case notPermittedName = "not-permitted-name"
        /// Its issuer was valid only in 2020.
        case expiredIssuer = "expired-issuer"
        /// With an unknown critical extension.
        case unknownCritical = "unknown-critical"
        /// With an altered signature.
        case brokenSignature = "broken-signature"
    }

    /// The root to trust.
    public var root: String { scratch.file("root.pem") }

    /// A root that expired in 2021 and has issued ``ofExpiredRoot``.
    public var expiredRoot: String { scratch.file("expired-root.pem") }

    /// A valid certificate whose root, ``expiredRoot``, has expired.
    public var ofExpiredRoot: Identity { files("of-expired-root") }

    /// The files of a certificate, its issuers and its key.
    public func identity(_ entry: Entry) -> Identity { files(entry.rawValue) }

    /// The matrix of this process, created on first use in about a second.
    ///
    /// - Throws: ``PeerError/Code/notInstalled``, or ``PeerError/Code/exited`` with the output of `openssl`.
    public static func shared() throws(PeerError) -> CertificateMatrix {
        try cached.get()
    }

    private let scratch: ScratchFolder

    private init() throws(PeerError) {
        scratch = try ScratchFolder("matrix")
        try scratch.write("matrix.cnf", Self.configuration)
        _ = try Program("openssl").located()
        _ = try Command("sh", "-c", Self.script, scratch.path).check()
    }

    private func files(_ name: String) -> Identity {
        Identity(chain: scratch.file("\(name).pem"), key: scratch.file("\(name).key"))
    }

    private static let cached = Result { () throws(PeerError) in try CertificateMatrix() }

    private static let configuration = """
        [req]
        distinguished_name = name
        [name]
        [authority]
        basicConstraints = critical, CA:TRUE
        keyUsage = critical, keyCertSign, cRLSign
        subjectKeyIdentifier = hash
        authorityKeyIdentifier = keyid
        [last_authority]
        basicConstraints = critical, CA:TRUE, pathlen:0
        keyUsage = critical, keyCertSign, cRLSign
        [no_signing]
        basicConstraints = critical, CA:TRUE
        keyUsage = critical, cRLSign
        [excluding]
        basicConstraints = critical, CA:TRUE
        keyUsage = critical, keyCertSign
        nameConstraints = critical, excluded;DNS:localhost
        [permitting]
        basicConstraints = critical, CA:TRUE
        keyUsage = critical, keyCertSign
        nameConstraints = critical, permitted;DNS:peers.test
        \(servers.map { "[\($0.name)]\n\(server)\n\($0.lines)" }.joined(separator: "\n"))
        [any_purpose]
        basicConstraints = critical, CA:FALSE
        subjectAltName = DNS:localhost
        [client_purpose]
        basicConstraints = critical, CA:FALSE
        extendedKeyUsage = clientAuth
        subjectAltName = DNS:localhost
        [ca]
        default_ca = dated
        [dated]
        database = index.txt
        new_certs_dir = issued
        rand_serial = yes
        unique_subject = no
        default_md = sha256
        policy = any_name
        [any_name]
        commonName = supplied

        """

    private static let server = """
        basicConstraints = critical, CA:FALSE
        keyUsage = critical, digitalSignature
        extendedKeyUsage = serverAuth
        """

    private static let servers: [(name: String, lines: String)] = [
        ("server", "subjectAltName = DNS:localhost"),
        ("nameless", ""),
        ("elsewhere", "subjectAltName = DNS:other.example"),
        ("address_as_name", "subjectAltName = DNS:127.0.0.1"),
        ("other_address", "subjectAltName = DNS:localhost, IP:127.0.0.2"),
        // A sequence with one dNSName (tag 2) of 20 bytes: localhost, NUL, .evil.test.
        ("nul_in_name", "subjectAltName = DER:30:16:82:14:6c:6f:63:61:6c:68:6f:73:74:00:2e:65:76:69:6c:2e:74:65:73:74"),
        ("wildcard", "subjectAltName = DNS:*.peers.test"),
        (
            "partial_wildcard",
            "subjectAltName = DNS:a*.peers.test, DNS:*b.peers.test, DNS:a*b.peers.test, DNS:x*.peers.test"
        ),
        ("wild_wildcard", "subjectAltName = DNS:*, DNS:*.*.test, DNS:www.*.test"),
        ("unknown_critical", "subjectAltName = DNS:localhost\n1.2.3.4.5.6.7 = critical, DER:05:00"),
    ]

    /// `$0` is the folder.
    private static let script = """
        set -e
        cd "$0"; umask 022; mkdir issued; : > index.txt
        curve='-newkey ec -pkeyopt ec_paramgen_curve:P-256'
        short='-newkey rsa:1024'
        make() { # NAME SUBJECT SECTION ISSUER OPTION...: NAME.pem with all certificates to send, without the root
            name=$1; subject=$2; section=$3; issuer=$4; shift 4
            signed="-CA $issuer.one -CAkey $issuer.key"
            if [ "$issuer" = itself ]; then signed=; fi
            openssl req -config matrix.cnf -batch -nodes -x509 -days 365 -subj "$subject" -extensions $section \\
                -keyout $name.key -out $name.one $signed ${@:-$curve}
            cp $name.one $name.pem
            case $issuer in itself | root | expired-root) ;; *) cat $issuer.pem >> $name.pem ;; esac
        }
        dated() { # NAME ISSUER: an authority of 2020
            openssl req -config matrix.cnf -batch -nodes -new $curve -subj "/CN=$1" -keyout $1.key -out $1.csr
            openssl ca -config matrix.cnf -batch -notext -extensions authority -in $1.csr -out $1.one \\
                -startdate 20200101000000Z -enddate 20210101000000Z $2
            cp $1.one $1.pem
        }
        make root '/CN=Matrix Root' authority itself
        make issuer '/CN=Matrix Issuer' authority root
        make last '/CN=Last Issuer' last_authority root
        make below '/CN=Issuer Below The Last' authority last
        make silent '/CN=Issuer Without Signing' no_signing root
        make excluding '/CN=Excluding Issuer' excluding root
        make permitting '/CN=Permitting Issuer' permitting root
        make short '/CN=Issuer With A Short Key' authority root $short
        make other-server /CN=other server issuer
        dated expired-issuer-own '-cert root.one -keyfile root.key'
        dated expired-root '-selfsign -keyfile expired-root.key'
        openssl req -config matrix.cnf -batch -nodes -new $curve -subj '/CN=Version 1' \\
            -keyout version-1.key -out version-1.csr
        openssl x509 -req -in version-1.csr -CA root.one -CAkey root.key -set_serial 7 -days 365 -out version-1.one
        cp version-1.one version-1.pem

        make from-root /CN=localhost server root
        make any-purpose /CN=localhost any_purpose issuer
        make client-purpose /CN=localhost client_purpose issuer
        make common-name-only /CN=localhost nameless issuer
        make common-name-beside-others /CN=localhost elsewhere issuer
        make address-as-name /CN=127.0.0.1 address_as_name issuer
        make other-address /CN=localhost other_address issuer
        make nul-in-name /CN=localhost nul_in_name issuer
        make wildcard /CN=localhost wildcard issuer
        make partial-wildcard /CN=localhost partial_wildcard issuer
        make wild-wildcard /CN=localhost wild_wildcard issuer
        make weak-key /CN=localhost server issuer $short
        make weak-digest /CN=localhost server issuer $curve -sha1
        make weak-issuer /CN=localhost server short
        make issued-by-server /CN=localhost server other-server
        make issuer-may-not-sign /CN=localhost server silent
        make issued-by-version-1 /CN=localhost server version-1
        make path-too-long /CN=localhost server below
        make excluded-name /CN=localhost server excluding
        make not-permitted-name /CN=localhost server permitting
        make expired-issuer /CN=localhost server expired-issuer-own
        make of-expired-root /CN=localhost server expired-root
        make unknown-critical /CN=localhost unknown_critical issuer
        make broken-signature /CN=localhost server issuer
        # The signature is at the end of the encoding; flips one bit of its last byte.
        openssl x509 -in broken-signature.one -outform DER -out broken.der
        size=$(stat -c %s broken.der)
        last=$(tail -c 1 broken.der | od -An -tu1 | tr -d ' ')
        { head -c $((size - 1)) broken.der; printf "\\\\$(printf %03o $((last ^ 1)))"; } > changed.der
        { openssl x509 -inform DER -in changed.der; cat issuer.pem; } > broken-signature.pem
        chmod 644 *.key
        """
}
