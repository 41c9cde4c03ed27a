/// What a scheme wants done next.
public enum AuthenticationStep: Sendable {
    /// Put this value into `Authorization` or `Proxy-Authorization`: the scheme's name, and what follows it.
    case send([UInt8])
    /// Send the request as it is: its connection is authenticated already.
    case nothing
    /// Run this where waiting harms nobody, then call ``AuthenticationScheme/resume(with:)``.
    case work(BlockingWork)
}
