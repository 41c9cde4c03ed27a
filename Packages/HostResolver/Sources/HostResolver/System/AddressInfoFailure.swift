internal import Glibc

extension ResolverError {
    /// Creates an error from the result of `getaddrinfo`, which must not be 0.
    ///
    /// glibc's numbers are literals here, because Swift's Glibc module omits the GNU extensions. `EAI_SYSTEM` (-11)
    /// becomes `errno`.
    init(addressInfoFailure failure: CInt, errno: CInt, name: String) {
        if failure == -11 {
            self.init(errno: errno, name: name)
            return
        }
        let (code, number): (Code, Int) =
            switch failure {
            case -1: (.system, DarwinAddressInfoError.badFlags)
            case -2: (.hostNotFound, DarwinAddressInfoError.noName)
            case -3: (.temporaryFailure, DarwinAddressInfoError.again)
            case -4: (.serverFailed, DarwinAddressInfoError.fail)
            case -5: (.noData, DarwinAddressInfoError.noData)
            case -6: (.system, DarwinAddressInfoError.family)
            case -7: (.system, DarwinAddressInfoError.socketType)
            case -8: (.system, DarwinAddressInfoError.service)
            case -9: (.noData, DarwinAddressInfoError.addressFamily)
            case -10: (.system, DarwinAddressInfoError.memory)
            case -12: (.system, DarwinAddressInfoError.overflow)
            case -105: (.invalidName, DarwinAddressInfoError.noName)
            default: (.system, DarwinAddressInfoError.fail)
            }
        let words = String(cString: gai_strerror(failure))
        self.init(code, name: name, detail: words, domain: .netDB, number: number)
    }

    /// Creates an error for a system call that failed with `errno`.
    init(errno: CInt, name: String? = nil) {
        let words = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            strerror_r(errno, buffer.baseAddress!, buffer.count) == 0 ? String(cString: buffer.baseAddress!) : ""
        }
        self.init(.system, name: name, detail: words, domain: .posix, number: Int(errno))
    }
}
