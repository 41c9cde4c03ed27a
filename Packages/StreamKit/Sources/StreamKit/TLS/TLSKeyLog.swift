/// Where the secrets of connections are written, so that Wireshark and the like can decrypt a capture of them.
///
/// ```swift
/// configuration.keyLog = TLSKeyLog { line in try? file.write(line + "\n") }
/// ```
///
/// Whoever has these lines can read the traffic; no environment variable turns this on. Two key logs are equal if one is a
/// copy of the other: make one and keep it.
public struct TLSKeyLog: Sendable, Hashable {
    private let identity: Identity<@Sendable (String) -> Void>

    /// Makes a log; `write` gets each line, without its end, in the format of `SSLKEYLOGFILE`. It must not use the stream.
    public init(_ write: @escaping @Sendable (_ line: String) -> Void) {
        identity = Identity(write)
    }

    func write(_ line: String) {
        identity.value(line)
    }
}
