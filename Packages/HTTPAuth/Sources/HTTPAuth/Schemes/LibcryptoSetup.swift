internal import CLibcrypto

/// The initialization of libcrypto in this process.
package enum LibcryptoSetup {
    private static let isDone = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

    /// Initializes libcrypto without a handler for the end of the process.
    ///
    /// Its own handler frees its state in `exit`, while other threads go on: a program that ended while a thread derived
    /// a key or answered a challenge could crash. The kernel frees the memory anyway.
    ///
    /// Every call that can be the first one into libcrypto follows this one. It has no effect in a program that has
    /// initialized libcrypto itself.
    package static func perform() {
        _ = isDone
    }
}
