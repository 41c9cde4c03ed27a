import ArgumentParser
import HostResolver

extension ResolverConfiguration {
    /// The one server that an option names, instead of those of `/etc/resolv.conf`.
    ///
    /// - Throws: `ValidationError` if the text is no address.
    init(askingOnly server: String) throws {
        if let address = SocketAddress(server) {
            self.init(servers: [address])
            return
        }
        guard let address = IPAddress(server) else {
            throw ValidationError("'\(server)' is no address; write 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53.")
        }
        self.init(servers: [.ip(address, port: 53)])
    }
}
