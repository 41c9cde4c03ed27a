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
