internal import BenchmarkRows
internal import StreamKit

/// The web server on this machine and the data that its connections share, created before the measured region, as in C.
struct TLSWebServer {
    /// The certificate is for localhost; connecting to the address leaves name lookups to group 7.
    var configuration = TLSConfiguration()
    /// The GET to send.
    let request: [UInt8]
    private let port: UInt16

    init(_ arguments: Arguments) {
        guard let port = UInt16(exactly: arguments.number("port")) else { stop("port= is not a port") }
        self.port = port
        configuration.trust = .only(file: arguments.text("ca"))
        configuration.peerName = "localhost"
        let path = arguments.text("path")
        request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    }

    /// Starts a connection.
    func open() throws -> StreamPair {
        let pair = StreamPair(host: "127.0.0.1", port: port)
        try pair.set(.tls, to: configuration)
        try pair.open()
        return pair
    }
}
