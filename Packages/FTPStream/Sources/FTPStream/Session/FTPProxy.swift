/// A proxy that speaks FTP: one logs in there as `user@host`.
///
/// The data connections go to the proxy, too. SOCKS and CONNECT proxies are StreamKit's, and set with its properties.
public struct FTPProxy: Sendable, Hashable {
    /// Its name or address.
    public var host: String
    /// Its port.
    public var port: UInt16
    /// Who logs in at the proxy itself; nil if it asks nobody.
    public var userName: String?
    /// The password for the proxy itself; without a user name, opening fails.
    public var password: String?

    /// Makes a description of a proxy.
    public init(host: String, port: UInt16 = 21, userName: String? = nil, password: String? = nil) {
        self.host = host
        self.port = port
        self.userName = userName
        self.password = password
    }
}

extension FTPProxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Host and port.
    public var description: String { host.contains(":") ? "ftp [\(host)]:\(port)" : "ftp \(host):\(port)" }

    /// Host and port.
    public var debugDescription: String { description }

    /// The properties without the password.
    public var customMirror: Mirror {
        Mirror(self, children: ["host": host, "port": port, "userName": userName ?? "none"])
    }
}
