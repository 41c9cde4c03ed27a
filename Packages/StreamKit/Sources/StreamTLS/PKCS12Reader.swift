internal import COpenSSL

/// Reads a PKCS#12 bundle (RFC 7292): its first private key, and its certificates.
///
/// A bundle says how often its keys are derived, up to 2^31 times for each of its parts, and the derivation comes before any check of the
/// password. OpenSSL's own function would therefore not return from a hostile bundle. This reader adds the iterations of each part up
/// before it derives a key, and refuses a bundle above ``KeyDerivation/maximumIterations``.
struct PKCS12Reader: ~Copyable {
    /// Why a bundle cannot be read.
    enum Fault: Error {
        case passwordWrong
        case tooMuchWork
        case unreadable
    }

    /// The greatest depth of bags in bags.
    private static let maximumDepth = 8

    /// The iterations that the rest of the bundle may take.
    private(set) var remainingIterations: Int64
    private var password: [CChar]?
    private(set) var key: PrivateKey?
    private(set) var certificates: [Certificate] = []

    /// Reads a bundle. The errors of OpenSSL remain in its queue.
    init(_ bytes: [UInt8], password: String, maximumIterations: Int64 = KeyDerivation.maximumIterations) throws(Fault) {
        remainingIterations = maximumIterations
        self.password = Array(password.utf8CString)
        defer { wipePassword() }
        let bundle = bytes.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_PKCS12(nil, &position, bytes.count)
        }
        guard let bundle else { throw .unreadable }
        defer { PKCS12_free(bundle) }
        try verify(bundle)
        guard let safes = PKCS12_unpack_authsafes(bundle) else { throw .unreadable }
        defer { netkit_sk_PKCS7_pop_free(safes) }
        for index in 0..<max(0, OPENSSL_sk_num(safes)) {
            guard let safe = OPENSSL_sk_value(safes, index) else { continue }
            try read(safe.assumingMemoryBound(to: PKCS7.self))
        }
    }

    /// Wipes the copy of the caller's text.
    private mutating func wipePassword() {
        password?.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    }

    /// The length of the password without its last zero. An empty password is also written as none.
    private var passwordLength: CInt { CInt(clamping: max(0, (password?.count ?? 1) - 1)) }

    /// Verifies the code that the password authenticates the bundle with, if it has one.
    private mutating func verify(_ bundle: OpaquePointer) throws(Fault) {
        guard PKCS12_mac_present(bundle) == 1 else {
            if passwordLength == 0 { password = nil }
            return
        }
        var algorithm: UnsafePointer<X509_ALGOR>?
        var iterations: UnsafePointer<ASN1_INTEGER>?
        PKCS12_get0_mac(nil, &algorithm, nil, &iterations, bundle)
        if let algorithm, OBJ_obj2nid(algorithm.pointee.algorithm) == NID_pbmac1 {
            // Its own number counts, and not that of the bundle (RFC 9579).
            try spend(algorithm)
        } else {
            // Without the number, it is one.
            try spend(iterations.map(KeyDerivation.number) ?? 1)
        }
        if passwordLength == 0, PKCS12_verify_mac(bundle, nil, 0) == 1 {
            password = nil
            return
        }
        ERR_clear_error()
        guard PKCS12_verify_mac(bundle, password, passwordLength) == 1 else {
            // A code that differs is no error of OpenSSL, and a kind of code that it does not know is one.
            throw ERR_peek_last_error() == 0 ? .passwordWrong : .unreadable
        }
    }

    private mutating func read(_ safe: UnsafeMutablePointer<PKCS7>) throws(Fault) {
        let bags: OpaquePointer?
        switch OBJ_obj2nid(safe.pointee.type) {
        case NID_pkcs7_data: bags = PKCS12_unpack_p7data(safe)
        case NID_pkcs7_encrypted:
            guard let algorithm = safe.pointee.d.encrypted?.pointee.enc_data?.pointee.algorithm else {
                throw .unreadable
            }
            try spend(algorithm)
            ERR_clear_error()
            bags = PKCS12_unpack_p7encdata(safe, password, passwordLength)
            if bags == nil { throw decryptionFault }
        default: return  // Parts for a recipient's key; no program makes them.
        }
        guard let bags else { throw .unreadable }
        defer { netkit_sk_PKCS12_SAFEBAG_pop_free(bags) }
        try read(bags, depth: 1)
    }

    private mutating func read(_ bags: OpaquePointer, depth: Int) throws(Fault) {
        guard depth <= Self.maximumDepth else { throw .tooMuchWork }
        for index in 0..<max(0, OPENSSL_sk_num(bags)) {
            guard let bag = OPENSSL_sk_value(bags, index).map(OpaquePointer.init) else { continue }
            switch PKCS12_SAFEBAG_get_nid(bag) {
            case NID_keyBag where key == nil:
                key = PKCS12_SAFEBAG_get0_p8inf(bag).flatMap { EVP_PKCS82PKEY($0) }.map(PrivateKey.init(owning:))
            case NID_pkcs8ShroudedKeyBag where key == nil:
                var algorithm: UnsafePointer<X509_ALGOR>?
                guard let shrouded = PKCS12_SAFEBAG_get0_pkcs8(bag) else { throw .unreadable }
                X509_SIG_get0(shrouded, &algorithm, nil)
                guard let algorithm else { throw .unreadable }
                try spend(algorithm)
                ERR_clear_error()
                guard let info = PKCS12_decrypt_skey(bag, password, passwordLength) else { throw decryptionFault }
                defer { PKCS8_PRIV_KEY_INFO_free(info) }
                key = EVP_PKCS82PKEY(info).map(PrivateKey.init(owning:))
            case NID_certBag where PKCS12_SAFEBAG_get_bag_nid(bag) == NID_x509Certificate:
                guard let certificate = PKCS12_SAFEBAG_get1_cert(bag) else { throw .unreadable }
                certificates.append(Certificate(X509Handle(owning: certificate)))
            case NID_safeContentsBag:
                guard let nested = PKCS12_SAFEBAG_get0_safes(bag) else { continue }
                try read(nested, depth: depth + 1)
            default: continue
            }
        }
    }

    /// Why the last decryption has failed. With a wrong password, the end of the text is wrong; a bundle without a code over the whole shows it
    /// only there.
    private var decryptionFault: Fault {
        let error = ERR_peek_last_error()
        let isWrongEnd =
            ERR_GET_LIB(error) == ERR_LIB_PKCS12 && ERR_GET_REASON(error) == PKCS12_R_PKCS12_CIPHERFINAL_ERROR
        return isWrongEnd ? .passwordWrong : .unreadable
    }

    // MARK: Work

    private mutating func spend(_ algorithm: UnsafePointer<X509_ALGOR>) throws(Fault) {
        guard let iterations = KeyDerivation.iterations(of: algorithm) else { throw .unreadable }
        try spend(iterations)
    }

    private mutating func spend(_ iterations: Int64) throws(Fault) {
        guard iterations <= remainingIterations else { throw .tooMuchWork }
        remainingIterations -= iterations
    }
}
