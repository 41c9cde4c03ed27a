@_spi(Packages) internal import StreamKit

/// A proxy that speaks FTP, at which the client logs in as `user@host`.
///
/// Data connections go to the proxy, too. SOCKS and HTTP (CONNECT) proxies are set with the properties of StreamKit.
public struct FTPProxy: Sendable, Hashable {
    /// The host name or address of the proxy.
    public var host: String
    /// The port of the proxy.
    public var port: UInt16
    /// The user name for the proxy; nil if the proxy requires no login.
    public var userName: String?
    /// The password for the proxy. With a password and no user name, opening fails.
    public var password: String?

    /// Creates a description of a proxy.
    public init(host: String, port: UInt16 = 21, userName: String? = nil, password: String? = nil) {
        self.host = host
        self.port = port
        self.userName = userName
        self.password = password
    }
}

extension FTPProxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Host and port.
    public var description: String { "ftp \(URLAuthority.bracketed(host)):\(port)" }

    /// Host and port.
    public var debugDescription: String { description }

    /// A mirror of the properties without the password.
    public var customMirror: Mirror {
        Mirror(self, children: ["host": host, "port": port, "userName": userName ?? "none"])
    }
}
