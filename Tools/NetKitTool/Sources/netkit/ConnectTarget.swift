import ArgumentParser
import Glibc
import NetKit

/// The TARGET of `netkit connect`: where a connection leads, or where to listen for one.
enum ConnectTarget: Sendable, Equatable {
    case host(String, port: UInt16)
    case unixSocket(String)

    /// Reads `HOST:PORT`, or the path of a Unix socket, which contains a slash.
    ///
    /// To listen, `PORT` alone means all addresses of this machine, and `localhost` its loopback addresses.
    init(_ text: String, toListen: Bool) throws {
        if text.contains("/") {
            if text.contains("://") {
                throw ValidationError("'\(Terminal.shownURL(text))' is a URL; use HOST:PORT, or netkit get for URLs.")
            }
            guard (try? UnixSocketAddress(path: text)) != nil else {
                throw ValidationError("'\(text)' is not the path of a Unix socket: at most 107 bytes.")
            }
            self = .unixSocket(text)
            return
        }
        let colon = text.lastIndex(of: ":")
        let digits = colon.map { text[text.index(after: $0)...] } ?? Substring(toListen ? text : "")
        guard let port = UInt16(digits), port > 0 || toListen else {
            let form = toListen ? "PORT, ADDRESS:PORT or the path of a socket" : "HOST:PORT or the path of a socket"
            throw ValidationError("'\(text)' is not \(form); a port is 1 to 65535.")
        }
        var host = text[..<(colon ?? text.startIndex)]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw ValidationError("'\(text)': put an IPv6 address in brackets, as in [::1]:22.")
        }
        if host.isEmpty, !toListen { throw ValidationError("'\(text)' has no host.") }
        if toListen, !host.isEmpty, host != "localhost", IPAddress(String(host)) == nil {
            throw ValidationError("'\(host)' is not an address of this machine: use a numeric address or localhost.")
        }
        self = .host(String(host), port: port)
    }

    var isUnixSocket: Bool {
        if case .unixSocket = self { return true }
        return false
    }

    /// The listener of a target. Its Unix socket must be removed by the caller.
    func listener(_ configuration: StreamListener.Configuration) throws(StreamError) -> StreamListener {
        switch self {
        case .unixSocket(let path):
            guard let address = try? UnixSocketAddress(path: path) else { throw StreamError(posix: EINVAL) }
            return try StreamListener(address: .unix(address), configuration: configuration)
        case .host(let host, let port):
            guard let address = IPAddress(host) else {
                return try StreamListener(port: port, isLocal: !host.isEmpty, configuration: configuration)
            }
            return try StreamListener(address: .ip(address, port: port), configuration: configuration)
        }
    }
}
