/// A receiver of the secrets of connections, with which Wireshark and similar programs can decrypt captured traffic.
///
/// ```swift
/// configuration.keyLog = TLSKeyLog { line in try? file.write(line + "\n") }
/// ```
///
/// Anyone with these lines can read the traffic, so no environment variable turns this on. Two key logs are equal if
/// one is a copy of the other: make one and keep it.
public struct TLSKeyLog: Sendable, Hashable {
    private let identity: IdentityBox<@Sendable (String) -> Void>

    /// Makes a log. `write` receives each line in the format of `SSLKEYLOGFILE`, without a line break. It must not use
    /// the stream.
    public init(_ write: @escaping @Sendable (_ line: String) -> Void) {
        identity = IdentityBox(write)
    }

    func write(_ line: String) {
        identity.value(line)
    }
}
