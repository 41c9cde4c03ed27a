/// The next action that a scheme requests.
public enum AuthenticationStep: Sendable {
    /// Set `Authorization` or `Proxy-Authorization` to this value, which starts with the scheme's name.
    case send([UInt8])
    /// Send the request without the field: its connection is already authenticated.
    case nothing
    /// Run this work where it may block, then call ``AuthenticationScheme/resume(with:)``.
    case work(BlockingWork)
}
