/// A private certificate authority with valid and faulty certificates, created with the `openssl` command.
///
/// ```swift
/// let authority = try CertificateAuthority.shared()
/// authority.root                       // the root certificate to trust
/// authority.server(.expired).chain     // the certificate of a server that clients must reject
/// authority.client.key                 // the private key of a client certificate
/// ```
///
/// Paths are absolute. The files exist as long as the authority object.
public final class CertificateAuthority: Sendable {
    /// The root certificate, which clients should trust.
    public var root: String { scratch.file("root.pem") }

    /// The intermediate certificate that has issued the other certificates.
    public var intermediate: String { scratch.file("intermediate.pem") }

    /// The root that has issued only ``ServerCertificate/unknownRoot``.
    public var unknownRoot: String { scratch.file("other-root.pem") }

    /// A client certificate, `CN=Test Client`.
    public var client: Identity { Identity(chain: scratch.file("client.pem"), key: scratch.file("client.key")) }

    /// The client's key, encrypted with ``passphrase``.
    public var encryptedClientKey: String { scratch.file("client.encrypted.key") }

    /// The client's certificate, the intermediate and the key as PKCS #12, encrypted with ``passphrase``.
    public var clientPKCS12: String { scratch.file("client.p12") }

    /// The passphrase of the client's encrypted key and PKCS #12 file.
    public var passphrase: String { "correct horse" }

    /// A server's certificate and key.
    public func server(_ certificate: ServerCertificate) -> Identity {
        let key: ServerCertificate = certificate == .missingIntermediate ? .good : certificate
        return Identity(chain: scratch.file("\(certificate.rawValue).pem"), key: scratch.file("\(key.rawValue).key"))
    }

    /// The authority of this process, created on first use.
    ///
    /// - Throws: ``PeerError/Code/notInstalled``, or ``PeerError/Code/exited`` with the output of `openssl`.
    public static func shared() throws(PeerError) -> CertificateAuthority {
        try cached.get()
    }

    /// Creates a new authority, which takes about a quarter of a second.
    ///
    /// - Throws: As ``shared()``.
    public init() throws(PeerError) {
        scratch = try ScratchFolder("certificates")
        try scratch.write("authority.cnf", Self.configuration)
        _ = try Program("openssl").located()
        _ = try Command("sh", "-c", Self.script, scratch.path, passphrase).check()
    }

    private let scratch: ScratchFolder

    private static let cached = Result { () throws(PeerError) in try CertificateAuthority() }

    private static let configuration = """
        [req]
        distinguished_name = name
        [name]
        [root]
        basicConstraints = critical, CA:TRUE
        keyUsage = critical, keyCertSign, cRLSign
        subjectKeyIdentifier = hash
        [intermediate]
        basicConstraints = critical, CA:TRUE, pathlen:0
        keyUsage = critical, keyCertSign, cRLSign
        subjectKeyIdentifier = hash
        authorityKeyIdentifier = keyid
        [server]
        basicConstraints = critical, CA:FALSE
        keyUsage = critical, digitalSignature
        extendedKeyUsage = serverAuth
        subjectKeyIdentifier = hash
        authorityKeyIdentifier = keyid
        subjectAltName = DNS:localhost, IP:127.0.0.1, IP:::1, DNS:peers.test, DNS:*.peers.test
        [other_host]
        basicConstraints = critical, CA:FALSE
        keyUsage = critical, digitalSignature
        extendedKeyUsage = serverAuth
        subjectAltName = DNS:other.example
        [client]
        basicConstraints = critical, CA:FALSE
        keyUsage = critical, digitalSignature
        extendedKeyUsage = clientAuth
        subjectAltName = email:client@peers.test
        [ca]
        default_ca = authority
        [authority]
        database = index.txt
        new_certs_dir = issued
        certificate = intermediate.pem
        private_key = intermediate.key
        rand_serial = yes
        unique_subject = no
        default_md = sha256
        policy = any_name
        [any_name]
        commonName = supplied

        """

    /// `$0` is the folder, `$1` the passphrase. Validity in the past or future requires `openssl ca`; all else is one call.
    private static let script = """
        set -e
        cd "$0"; umask 022; mkdir issued; : > index.txt
        make() { # NAME SUBJECT SECTION OPTION...
            name=$1; subject=$2; section=$3; shift 3
            openssl req -config authority.cnf -batch -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 \\
                -keyout $name.key -subj "$subject" ${section:+-x509 -days 365 -extensions $section} "$@"
        }
        signed='-CA intermediate.pem -CAkey intermediate.key'
        make root '/CN=Peers Root' root -out root.pem
        make other-root '/CN=Unknown Root' root -out other-root.pem
        make intermediate '/CN=Peers Intermediate' intermediate -CA root.pem -CAkey root.key -out intermediate.pem
        make good /CN=localhost server $signed -out missing-intermediate.pem
        make wrong-host /CN=other.example other_host $signed -out wrong-host.pem
        make self-signed /CN=localhost server -out self-signed.pem
        make unknown-root /CN=localhost server -CA other-root.pem -CAkey other-root.key -out unknown-root.pem
        make interceptor '/CN=mitmproxy/O=mitmproxy' root -out interceptor.pem
        make intercepted /CN=localhost server -CA interceptor.pem -CAkey interceptor.key -out intercepted.pem
        make client '/CN=Test Client' client $signed -out client.pem
        dated() { # NAME START END
            make $1 /CN=localhost '' -new -out $1.csr
            openssl ca -config authority.cnf -batch -notext -extensions server -startdate $2 -enddate $3 \\
                -in $1.csr -out $1.pem
        }
        dated expired 20200101000000Z 20210101000000Z
        dated not-yet-valid 21000101000000Z 21010101000000Z
        cat missing-intermediate.pem intermediate.pem > good.pem
        cat other-root.pem >> unknown-root.pem
        for name in expired not-yet-valid wrong-host client; do cat intermediate.pem >> $name.pem; done
        openssl pkcs8 -topk8 -in client.key -out client.encrypted.key -v2 aes-256-cbc -passout "pass:$1"
        openssl pkcs12 -export -in client.pem -inkey client.key -out client.p12 -name client -passout "pass:$1"
        chmod 644 *.key *.p12
        """
}

extension CertificateAuthority {
    /// Creates the authority's OCSP response about the certificate ``ServerCertificate/good``: a DER file, valid for a day.
    ///
    /// - Throws: As ``init()``.
    public func status(isRevoked: Bool) throws(PeerError) -> String {
        let name = isRevoked ? "revoked" : "valid"
        _ = try Command("sh", "-c", Self.statusScript, scratch.path, name, isRevoked ? "R" : "V").check()
        return scratch.file("\(name).ocsp.der")
    }

    /// `$0` is the folder, `$1` the base name of the response, `$2` the letter of the status in the authority's index.
    private static let statusScript = """
        set -e
        cd "$0"
        serial=$(openssl x509 -in missing-intermediate.pem -noout -serial | cut -d= -f2)
        revoked=; if [ "$2" = R ]; then revoked=200101000000Z; fi
        printf '%s\\t%s\\t%s\\t%s\\tunknown\\t/CN=localhost\\n' "$2" 491231235959Z "$revoked" "$serial" > "$1.$$.index"
        openssl ocsp -index "$1.$$.index" -CA intermediate.pem -rsigner intermediate.pem -rkey intermediate.key \\
            -issuer intermediate.pem -cert missing-intermediate.pem -respout "$1.$$.der" -ndays 1 -noverify >&2
        mv "$1.$$.der" "$1.ocsp.der"  # atomic, because other tests may be reading the file
        """
}

/// A server certificate: a valid one, or one with exactly one fault.
///
/// All other properties are the same: EC P-256, issued by the intermediate, for `localhost`, `127.0.0.1`, `::1`, `peers.test` and
/// `*.peers.test`, valid for a year, sent with the intermediate.
public enum ServerCertificate: String, Hashable, Sendable, CaseIterable {
    /// A valid certificate.
    case good
    /// Valid only in the year 2020.
    case expired
    /// Valid only in the year 2100.
    case notYetValid = "not-yet-valid"
    /// For `other.example` only.
    case wrongHost = "wrong-host"
    /// Self-signed.
    case selfSigned = "self-signed"
    /// Issued by an untrusted root, which is sent with it.
    case unknownRoot = "unknown-root"
    /// Issued by the untrusted authority of an intercepting program, under the name of mitmproxy.
    case intercepted
    /// Valid, but sent without the intermediate.
    case missingIntermediate = "missing-intermediate"
}

/// The paths of a certificate and its private key, in PEM unless stated otherwise.
public struct Identity: Hashable, Sendable {
    /// The certificate, followed by its intermediate certificates.
    public var chain: String
    /// The private key (PKCS #8, not encrypted).
    public var key: String
}
