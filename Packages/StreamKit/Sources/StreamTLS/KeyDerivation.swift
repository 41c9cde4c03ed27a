internal import COpenSSL

/// The work of deriving a key from a password, as an encrypted key or bundle asks for it.
enum KeyDerivation {
    /// The greatest number of iterations that are made for one file: a few seconds. Programs write 2,048 to 1,000,000.
    static let maximumIterations: Int64 = 10_000_000

    /// The number of iterations that an algorithm asks for: of PBKDF2 (RFC 8018), of PKCS#12 (RFC 7292, appendix B), or as much work of scrypt
    /// (RFC 7914). Nil if it does not say, and for key functions within each other.
    static func iterations(of algorithm: UnsafePointer<X509_ALGOR>) -> Int64? {
        guard let parameter = algorithm.pointee.parameter, parameter.pointee.type == V_ASN1_SEQUENCE,
            let sequence = parameter.pointee.value.sequence
        else { return nil }
        var bytes = UnsafePointer(sequence.pointee.data)
        let count = Int(sequence.pointee.length)
        switch OBJ_obj2nid(algorithm.pointee.algorithm) {
        case NID_pbes2, NID_pbmac1:
            // Both consist of the function that derives the key, and of what the key is for.
            guard let parameters = d2i_PBE2PARAM(nil, &bytes, count) else { return nil }
            defer { PBE2PARAM_free(parameters) }
            // Another function would nest, as deep as the bytes allow.
            guard let function = parameters.pointee.keyfunc,
                [NID_id_pbkdf2, NID_id_scrypt].contains(OBJ_obj2nid(function.pointee.algorithm))
            else { return nil }
            return iterations(of: function)
        case NID_id_pbkdf2:
            guard let parameters = d2i_PBKDF2PARAM(nil, &bytes, count) else { return nil }
            defer { PBKDF2PARAM_free(parameters) }
            return number(parameters.pointee.iter)
        case NID_id_scrypt:
            guard let parameters = d2i_SCRYPT_PARAMS(nil, &bytes, count) else { return nil }
            defer { SCRYPT_PARAMS_free(parameters) }
            let factors = [
                parameters.pointee.costParameter, parameters.pointee.blockSize,
                parameters.pointee.parallelizationParameter,
            ]
            return factors.reduce(1) { product, factor in
                let (value, overflows) = product.multipliedReportingOverflow(by: number(factor))
                return overflows ? .max : value
            }
        default:
            guard let parameters = d2i_PBEPARAM(nil, &bytes, count) else { return nil }
            defer { PBEPARAM_free(parameters) }
            return number(parameters.pointee.iter)
        }
    }

    /// The value of a number; the greatest one if it is negative or has more than 63 bits.
    static func number(_ number: UnsafePointer<ASN1_INTEGER>?) -> Int64 {
        var value: Int64 = 0
        return ASN1_INTEGER_get_int64(&value, number) == 1 && value >= 0 ? value : .max
    }
}
