internal import COpenSSL

/// The initialization of OpenSSL in this process.
enum OpenSSLSetup {
    private static let isDone = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

    /// Initializes OpenSSL without a handler for the end of the process.
    ///
    /// OpenSSL's own handler frees its state in `exit`, while other threads go on: a program that ended while a thread
    /// read the trusted certificates, or served a connection, could crash. The kernel frees the memory anyway.
    ///
    /// Every call that can be the first one into OpenSSL follows this one. It has no effect in a program that has
    /// initialized OpenSSL itself.
    static func perform() {
        _ = isDone
    }
}
